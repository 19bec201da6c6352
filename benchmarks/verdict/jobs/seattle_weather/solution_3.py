import argparse
import csv
import datetime
import os


def write(name, value):
    with open(os.path.join("/var/outputs", name), "w") as f:
        f.write(str(value))


def main(argv=None):
    p = argparse.ArgumentParser()
    p.add_argument("--weather")
    p.add_argument("--year", type=int)
    a = p.parse_args(argv)
    table = {}
    for row in csv.DictReader(open(a.weather, newline="")):
        if row["date"].startswith(f"{a.year}/"):
            table[datetime.datetime.strptime(row["date"], "%Y/%m/%d").date()] = row

    write("rain_inches", round(sum(float(r["precipitation"]) for r in table.values()) / 25.4, 2))

    best = current = 0
    day = datetime.date(a.year, 1, 1)
    while day.year == a.year:
        row = table.get(day)
        current = current + 1 if row is not None and float(row["precipitation"]) == 0 else 0
        best = max(best, current)
        day += datetime.timedelta(days=1)
    write("longest_dry", best)

    warm = []
    out = "month,days,max_wind_kmh,rainy_share\n"
    for m in range(1, 13):
        rows = [table[d] for d in table if d.month == m]
        if not rows:
            continue
        n = len(rows)
        warm.append((-sum(float(r["temp_max"]) for r in rows) / n, m))
        wind = max(float(r["wind"]) for r in rows) * 3.6
        share = sum(1 for r in rows if r["weather"] == "rain" or r["weather"] == "drizzle") / n
        out += "%d,%d,%.1f,%.3f\n" % (m, n, wind, share)
    write("warmest_month", min(warm)[1] if warm else 0)
    write("months", out)


if __name__ == "__main__":
    main()
