import argparse
import csv
import json
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

OUTPUTS = Path("/var/outputs")


def read_transactions(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return sorted(rows, key=lambda row: row["booked"])


def book(rows):
    balances = defaultdict(Decimal)
    lowest = {}
    statement = []
    for row in rows:
        account = row["account"]
        amount = Decimal(row["amount"])
        balances[account] += amount if row["kind"] == "credit" else -amount
        lowest[account] = min(lowest.get(account, Decimal(0)), balances[account])
        statement.append([row["id"], account, row["booked"], f"{balances[account]:.2f}"])
    return statement, balances, lowest


def busiest_day(rows):
    sums = defaultdict(Decimal)
    for row in rows:
        sums[row["booked"]] += Decimal(row["amount"])
    return min(sums, key=lambda day: (-sums[day], day)) if sums else ""


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--transactions", required=True)
    parser.add_argument("--limit", type=Decimal, required=True)
    args = parser.parse_args(argv)
    rows = read_transactions(args.transactions)
    statement, balances, lowest = book(rows)
    OUTPUTS.mkdir(parents=True, exist_ok=True)
    with open(OUTPUTS / "statement", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "account", "booked", "balance"])
        writer.writerows(statement)
    final = {account: float(balance) for account, balance in sorted(balances.items())}
    (OUTPUTS / "final").write_text(json.dumps(final))
    (OUTPUTS / "overdrawn").write_text(str(sum(balance < -args.limit for balance in lowest.values())))
    (OUTPUTS / "busiest_day").write_text(busiest_day(rows))


if __name__ == "__main__":
    main()
