import csv
import json
import sys
from fractions import Fraction

args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
rows = list(csv.DictReader(open(args["--transactions"])))
limit = Fraction(args["--limit"])

ordered = []
for day in sorted({row["booked"] for row in rows}):
    for row in rows:
        if row["booked"] == day:
            ordered.append(row)

balance = {}
below = []
with open("/var/outputs/statement", "w") as out:
    print("id,account,booked,balance", file=out)
    for row in ordered:
        account = row["account"]
        sign = 1 if row["kind"] == "credit" else -1
        balance[account] = balance.get(account, 0) + sign * Fraction(row["amount"])
        if balance[account] < -limit and account not in below:
            below.append(account)
        print(row["id"], account, row["booked"], f"{float(balance[account]):.2f}", sep=",", file=out)

open("/var/outputs/final", "w").write(json.dumps({account: float(value) for account, value in balance.items()}))
open("/var/outputs/overdrawn", "w").write(str(len(below)))

busiest, most = "", 0
for day in sorted({row["booked"] for row in rows}):
    total = sum(Fraction(row["amount"]) for row in rows if row["booked"] == day)
    if total > most:
        busiest, most = day, total
open("/var/outputs/busiest_day", "w").write(busiest)
