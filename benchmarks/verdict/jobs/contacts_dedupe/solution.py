import argparse
import csv
import json
import re
from collections import Counter
from pathlib import Path

OUTPUTS = Path("/var/outputs")
FIELDS = ["email", "name", "phone", "updated"]


def clean_phone(text):
    digits = re.sub(r"\D", "", text)
    return digits[2:] if digits.startswith("00") else digits


def clean_row(row):
    return {
        "email": row["email"].strip().lower(),
        "name": " ".join(row["name"].split()),
        "phone": clean_phone(row["phone"]),
        "updated": row["updated"].strip(),
    }


def deduplicate(rows):
    kept = {}
    for row in rows:
        other = kept.get(row["email"])
        if other is None or row["updated"] > other["updated"]:
            kept[row["email"]] = row
    return [kept[email] for email in sorted(kept)]


def count_domains(rows):
    return Counter(row["email"].partition("@")[2] for row in rows)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--contacts", required=True)
    args = parser.parse_args(argv)
    with open(args.contacts, newline="", encoding="utf-8") as file:
        rows = [clean_row(row) for row in csv.DictReader(file)]
    rows = [row for row in rows if row["email"]]
    kept = deduplicate(rows)
    OUTPUTS.mkdir(parents=True, exist_ok=True)
    with open(OUTPUTS / "clean", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=FIELDS)
        writer.writeheader()
        writer.writerows(kept)
    (OUTPUTS / "duplicates").write_text(str(len(rows) - len(kept)))
    (OUTPUTS / "domains").write_text(json.dumps(count_domains(kept)))


if __name__ == "__main__":
    main()
