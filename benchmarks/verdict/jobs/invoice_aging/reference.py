import csv
import json
import sys
from datetime import date

args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
as_of = args["--as_of"]
today = date.fromisoformat(as_of)
invoices = json.load(open(args["--invoices"]))
payments = [row for row in csv.DictReader(open(args["--payments"])) if row["paid_on"] <= as_of]

buckets = {"current": 0, "1-30": 0, "31-60": 0, "61-90": 0, "90+": 0}
count, owed_by, oldest = {}, {}, {}
for invoice in invoices:
    if invoice["status"] == "void" or invoice["issued"] > as_of:
        continue
    owed = invoice["amount_cents"]
    for payment in payments:
        if payment["invoice_id"] == invoice["id"]:
            owed -= int(payment["amount_cents"])
    if owed <= 0:
        continue
    days = (today - date.fromisoformat(invoice["due"])).days
    if days > 90:
        buckets["90+"] += owed
    elif days > 60:
        buckets["61-90"] += owed
    elif days > 30:
        buckets["31-60"] += owed
    elif days > 0:
        buckets["1-30"] += owed
    else:
        buckets["current"] += owed
    if days > 0:
        customer = invoice["customer"]
        count[customer] = count.get(customer, 0) + 1
        owed_by[customer] = owed_by.get(customer, 0) + owed
        if customer not in oldest or invoice["due"] < oldest[customer]:
            oldest[customer] = invoice["due"]

for key in buckets:
    buckets[key] = buckets[key] / 100
json.dump(buckets, open("/var/outputs/buckets", "w"))

with open("/var/outputs/debtors", "w") as out:
    out.write("customer,invoices,owed,oldest_due\n")
    for owed, customer in sorted((-owed_by[customer], customer) for customer in owed_by):
        out.write("%s,%d,%.2f,%s\n" % (customer, count[customer], -owed / 100, oldest[customer]))

total = 0
for payment in payments:
    if payment["invoice_id"] not in [invoice["id"] for invoice in invoices]:
        total += int(payment["amount_cents"])
open("/var/outputs/unmatched", "w").write(str(total / 100))
