import argparse
import csv
import json
from datetime import date


class Account:
    def __init__(self):
        self.balance = 0.0
        self.lowest = 0.0

    def apply(self, kind, amount):
        if kind == "credit":
            self.balance += amount
        elif kind == "debit":
            self.balance -= amount
        else:
            raise ValueError(f"unknown kind {kind!r}")
        self.balance = round(self.balance, 2)
        if self.balance < self.lowest:
            self.lowest = self.balance
        return self.balance


def run(path, limit):
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    rows.sort(key=lambda r: date.fromisoformat(r["booked"]))
    accounts, days, lines = {}, {}, ["id,account,booked,balance"]
    for r in rows:
        amount = float(r["amount"])
        balance = accounts.setdefault(r["account"], Account()).apply(r["kind"], amount)
        days[r["booked"]] = round(days.get(r["booked"], 0) + amount, 2)
        lines.append(f"{r['id']},{r['account']},{r['booked']},{balance:.2f}")
    best = sorted(days.items(), key=lambda d: (-d[1], d[0]))
    return {
        "statement": "\n".join(lines) + "\n",
        "final": json.dumps({name: a.balance for name, a in accounts.items()}, indent=2),
        "overdrawn": str(len([a for a in accounts.values() if a.lowest < -limit])),
        "busiest_day": best[0][0] if best else "",
    }


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--transactions", required=True)
    parser.add_argument("--limit", type=float, required=True)
    args = parser.parse_args(argv)
    for name, text in run(args.transactions, args.limit).items():
        with open(f"/var/outputs/{name}", "w") as f:
            f.write(text)


if __name__ == "__main__":
    main()
