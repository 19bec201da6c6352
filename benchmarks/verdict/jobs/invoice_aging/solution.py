import argparse
import csv
import json
from collections import defaultdict
from datetime import date
from pathlib import Path

OUTPUTS = Path("/var/outputs")
BUCKETS = ["current", "1-30", "31-60", "61-90", "90+"]


def read_payments(path, as_of):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [(row["invoice_id"], int(row["amount_cents"])) for row in rows if date.fromisoformat(row["paid_on"]) <= as_of]


def open_invoices(invoices, payments, as_of):
    """(customer, due, cents owed) of each invoice that counts and is not paid."""
    paid = defaultdict(int)
    for invoice_id, cents in payments:
        paid[invoice_id] += cents
    result = []
    for invoice in invoices:
        if invoice["status"] == "void" or date.fromisoformat(invoice["issued"]) > as_of:
            continue
        owed = max(0, invoice["amount_cents"] - paid[invoice["id"]])
        if owed:
            result.append((invoice["customer"], date.fromisoformat(invoice["due"]), owed))
    return result


def bucket(days):
    if days <= 0:
        return "current"
    if days <= 30:
        return "1-30"
    if days <= 60:
        return "31-60"
    if days <= 90:
        return "61-90"
    return "90+"


def sum_buckets(unpaid, as_of):
    sums = dict.fromkeys(BUCKETS, 0)
    for _, due, owed in unpaid:
        sums[bucket((as_of - due).days)] += owed
    return {name: cents / 100 for name, cents in sums.items()}


def debtors(unpaid, as_of):
    by_customer = defaultdict(list)
    for customer, due, owed in unpaid:
        if due < as_of:
            by_customer[customer].append((due, owed))
    rows = [
        (customer, len(own), sum(owed for _, owed in own), min(due for due, _ in own))
        for customer, own in by_customer.items()
    ]
    return sorted(rows, key=lambda row: (-row[2], row[0]))


def unmatched(invoices, payments):
    known = {invoice["id"] for invoice in invoices}
    return sum(cents for invoice_id, cents in payments if invoice_id not in known) / 100


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--invoices", required=True)
    parser.add_argument("--payments", required=True)
    parser.add_argument("--as_of", type=date.fromisoformat, required=True)
    args = parser.parse_args(argv)
    invoices = json.loads(Path(args.invoices).read_text(encoding="utf-8"))
    payments = read_payments(args.payments, args.as_of)
    unpaid = open_invoices(invoices, payments, args.as_of)
    (OUTPUTS / "buckets").write_text(json.dumps(sum_buckets(unpaid, args.as_of)))
    with open(OUTPUTS / "debtors", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["customer", "invoices", "owed", "oldest_due"])
        for customer, count, cents, oldest in debtors(unpaid, args.as_of):
            writer.writerow([customer, count, f"{cents / 100:.2f}", oldest.isoformat()])
    (OUTPUTS / "unmatched").write_text(str(unmatched(invoices, payments)))


if __name__ == "__main__":
    main()
