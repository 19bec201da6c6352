import argparse
import csv
from collections import defaultdict
from pathlib import Path

OUTPUTS = Path("/var/outputs")


def number(text):
    return None if text.strip() in ("", "NA") else float(text)


def rank_cities(rows):
    cities = defaultdict(lambda: {"volume": 0.0, "quarters": [0, 0, 0, 0]})
    for row in rows:
        sales, volume = number(row["sales"]), number(row["volume"])
        if sales is None or volume is None:
            continue
        city = cities[row["city"]]
        city["volume"] += volume
        city["quarters"][(int(row["month"]) - 1) // 3] += int(sales)
    averages = []
    for name, city in cities.items():
        sales = sum(city["quarters"])
        if sales:
            best = city["quarters"].index(max(city["quarters"]))
            averages.append((name, sales, city["volume"] / sales, f"Q{best + 1}"))
    averages.sort(key=lambda entry: (-entry[2], entry[0]))
    ranked = []
    for position, entry in enumerate(averages, start=1):
        is_tied = ranked and ranked[-1][3] == entry[2]
        ranked.append((ranked[-1][0] if is_tied else position, *entry))
    return ranked


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--housing", required=True)
    parser.add_argument("--year", type=int, required=True)
    parser.add_argument("--n", type=int, required=True)
    args = parser.parse_args(argv)
    with open(args.housing, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if int(row["year"]) == args.year]
    with open(OUTPUTS / "prices", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["rank", "city", "sales", "average_price", "best_quarter"])
        writer.writerows(rank_cities(rows)[: args.n])
    listed = sum(number(row["listings"]) is not None for row in rows)
    (OUTPUTS / "coverage").write_text(str(listed / len(rows) if rows else 0.0))


if __name__ == "__main__":
    main()
