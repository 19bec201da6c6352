import argparse
import csv


def number(text):
    return float(text) if text not in ("NA", "") else None


def std(values):
    m = sum(values) / len(values)
    return (sum((v - m) ** 2 for v in values) / (len(values) - 1)) ** 0.5


def table(rows):
    yield "month,days,measured,mean_ozone,sd_ozone"
    for month in sorted({int(r["Month"]) for r in rows}):
        values = [number(r["Ozone"]) for r in rows if int(r["Month"]) == month]
        known = [v for v in values if v is not None]
        m = "%.3f" % (sum(known) / len(known)) if known else ""
        s = "%.3f" % std(known) if len(known) > 1 else ""
        yield f"{month},{len(values)},{len(known)},{m},{s}"


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--air")
    args = parser.parse_args(argv)
    with open(args.air, newline="") as f:
        rows = list(csv.DictReader(f))
    with open("/var/outputs/monthly", "w") as f:
        f.write("\n".join(table(rows)) + "\n")

    known = [(number(r["Ozone"]), float(r["Temp"])) for r in rows if number(r["Ozone"]) is not None]
    ozone, temp = [k[0] for k in known], [k[1] for k in known]
    mo, mt = sum(ozone) / len(known), sum(temp) / len(known)
    r = sum((o - mo) * (t - mt) for o, t in known) / (len(known) - 1) / std(ozone) / std(temp)
    with open("/var/outputs/correlation", "w") as f:
        f.write(str(round(r, 4)))

    ozone.sort()
    whole, tenths = divmod(9 * (len(ozone) - 1), 10)
    limit = ozone[whole]
    if tenths:
        limit += (ozone[whole + 1] - limit) * tenths / 10
    with open("/var/outputs/high_days", "w") as f:
        f.write(str(sum(o > limit for o in ozone)))


if __name__ == "__main__":
    main()
