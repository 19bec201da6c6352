from __future__ import annotations

import argparse
import csv
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Contact:
    email: str
    name: str
    phone: str
    updated: str

    @property
    def domain(self) -> str:
        return self.email.split("@", 1)[-1]


def parse(row: dict[str, str]) -> Contact:
    phone = "".join(c for c in row["phone"] if c.isdigit())
    if phone[:2] == "00":
        phone = phone[2:]
    name = re.sub(r" +", " ", row["name"].strip())
    return Contact(row["email"].strip().lower(), name, phone, row["updated"])


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--contacts", type=Path, required=True)
    path = parser.parse_args(argv).contacts
    with path.open(newline="", encoding="utf-8") as f:
        contacts = [parse(row) for row in csv.DictReader(f)]

    # Stable: among equal dates the first row of the file stays in front.
    newest_first = sorted((c for c in contacts if c.email != ""), key=lambda c: c.updated, reverse=True)
    best: dict[str, Contact] = {}
    for contact in newest_first:
        best.setdefault(contact.email, contact)

    domains: dict[str, int] = {}
    for contact in best.values():
        domains[contact.domain] = domains.get(contact.domain, 0) + 1

    out = Path("/var/outputs")
    with (out / "clean").open("w", newline="", encoding="utf-8") as f:
        writer = csv.DictWriter(f, ["email", "name", "phone", "updated"], lineterminator="\n")
        writer.writeheader()
        for email in sorted(best):
            writer.writerow(asdict(best[email]))
    (out / "duplicates").write_text(str(len(newest_first) - len(best)))
    (out / "domains").write_text(json.dumps(domains, sort_keys=True, indent=1))


if __name__ == "__main__":
    main()
