import argparse
import csv
from datetime import date
from pathlib import Path

OUTPUTS = Path("/var/outputs")


def day(text):
    return date.fromisoformat(text[:10])


def read_terms(path):
    terms = []
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["reason"] == "Appointment declined":
                continue
            terms.append(
                {
                    "name": row["Name"],
                    "province": row["Province / Territory"].removesuffix(" (Division)"),
                    "start": day(row["start_date"]),
                    "end": day(row["end_date"]) if row["reason"] else None,
                }
            )
    return terms


def length(term):
    return (term["end"] - term["start"]).days


def serving(terms, on):
    return sum(1 for term in terms if term["start"] <= on and (term["end"] is None or on < term["end"]))


def by_province(terms):
    rows = []
    for province in {term["province"] for term in terms}:
        own = [term for term in terms if term["province"] == province]
        lengths = [length(term) for term in own if term["end"]]
        mean = sum(lengths) / len(lengths) if lengths else ""
        rows.append((province, len(own), len(lengths), mean))
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def first_last(name):
    last, comma, first = name.rpartition(",")
    return f"{first.strip()} {last.strip()}" if comma else name


def longest(terms):
    ended = [term for term in terms if term["end"]]
    if not ended:
        return ""
    return first_last(max(ended, key=lambda term: (length(term), -term["start"].toordinal()))["name"])


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--senators", required=True)
    parser.add_argument("--on", type=date.fromisoformat, required=True)
    args = parser.parse_args(argv)
    terms = read_terms(args.senators)
    with open(OUTPUTS / "by_province", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["province", "terms", "ended", "mean_days"])
        writer.writerows(by_province(terms))
    (OUTPUTS / "serving").write_text(str(serving(terms, args.on)))
    (OUTPUTS / "longest").write_text(longest(terms), encoding="utf-8")


if __name__ == "__main__":
    main()
