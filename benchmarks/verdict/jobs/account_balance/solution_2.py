from __future__ import annotations

import argparse
import csv
import json
from itertools import accumulate
from pathlib import Path


def cents(row: dict[str, str]) -> int:
    value = round(float(row["amount"]) * 100)
    return value if row["kind"] == "credit" else -value


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--transactions", type=Path, required=True)
    parser.add_argument("--limit", type=float, required=True)
    args = parser.parse_args(argv)
    with args.transactions.open(newline="", encoding="utf-8") as file:
        rows = [row for _, row in sorted(enumerate(csv.DictReader(file)), key=lambda pair: (pair[1]["booked"], pair[0]))]

    running: dict[str, list[int]] = {}
    for account in {row["account"] for row in rows}:
        running[account] = list(accumulate(cents(row) for row in rows if row["account"] == account))

    out = Path("/var/outputs")
    position = dict.fromkeys(running, 0)
    with (out / "statement").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "account", "booked", "balance"])
        for row in rows:
            account = row["account"]
            balance = running[account][position[account]]
            position[account] += 1
            writer.writerow([row["id"], account, row["booked"], f"{balance / 100:.2f}"])

    (out / "final").write_text(json.dumps({account: balances[-1] / 100 for account, balances in running.items()}))
    over = [account for account, balances in running.items() if min(balances) < round(-100 * args.limit)]
    (out / "overdrawn").write_text(str(len(over)))
    days: dict[str, int] = {}
    for row in rows:
        days[row["booked"]] = days.get(row["booked"], 0) + abs(cents(row))
    # max() keeps the first of equal ones, and the days are in order.
    (out / "busiest_day").write_text(max(days, key=days.__getitem__) if days else "")


if __name__ == "__main__":
    main()
