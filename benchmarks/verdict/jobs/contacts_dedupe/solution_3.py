import argparse
import csv
import json
from itertools import groupby


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--contacts", required=True)
    args = parser.parse_args(argv)

    table = []
    with open(args.contacts, newline="", encoding="utf-8") as handle:
        for position, row in enumerate(csv.DictReader(handle)):
            email = row["email"].strip().casefold()
            if not email:
                continue
            digits = "".join(filter(str.isdigit, row["phone"]))
            digits = digits.removeprefix("00")
            updated = tuple(int(part) for part in row["updated"].split("-"))
            table.append((email, [-part for part in updated], position, " ".join(row["name"].split()), digits, row["updated"]))

    table.sort(key=lambda item: item[:3])
    clean, removed, domains = [], 0, {}
    for email, group in groupby(table, key=lambda item: item[0]):
        (_, _, _, name, phone, updated), *others = group
        clean.append([email, name, phone, updated])
        removed += len(others)
        domain = email[email.index("@") + 1 :]
        domains[domain] = domains.get(domain, 0) + 1

    with open("/var/outputs/clean", "w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["email", "name", "phone", "updated"])
        writer.writerows(clean)
    with open("/var/outputs/duplicates", "w") as handle:
        handle.write(f"{removed}")
    with open("/var/outputs/domains", "w") as handle:
        json.dump(domains, handle)


if __name__ == "__main__":
    main()
