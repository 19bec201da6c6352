import argparse
import json
from pathlib import Path

import pandas as pd

OUTPUTS = Path("/var/outputs")
COLUMNS = ["id", "customer", "issued", "due", "amount_cents", "status"]
LABELS = ["current", "1-30", "31-60", "61-90", "90+"]


def load_unpaid(invoices, payments, as_of):
    paid = payments.groupby("invoice_id", as_index=False)["amount_cents"].sum()
    paid = paid.rename(columns={"invoice_id": "id", "amount_cents": "paid_cents"})
    counted = invoices[(invoices["status"] != "void") & (invoices["issued"] <= as_of)]
    merged = counted.merge(paid, on="id", how="left")
    merged["owed"] = (merged["amount_cents"] - merged["paid_cents"].fillna(0)).clip(lower=0).astype("int64")
    merged["days"] = (as_of - merged["due"]).dt.days
    return merged[merged["owed"] > 0]


def buckets(unpaid):
    edges = [-float("inf"), 0, 30, 60, 90, float("inf")]
    label = pd.cut(unpaid["days"], edges, labels=LABELS)
    sums = unpaid.groupby(label, observed=False)["owed"].sum()
    return {name: float(sums.get(name, 0)) / 100 for name in LABELS}


def debtors(unpaid):
    overdue = unpaid[unpaid["days"] > 0]
    table = overdue.groupby("customer", as_index=False).agg(
        invoices=("id", "size"), owed=("owed", "sum"), oldest_due=("due", "min")
    )
    table = table.sort_values(["owed", "customer"], ascending=[False, True])
    table["owed"] = (table["owed"] / 100).map("{:.2f}".format)
    table["oldest_due"] = pd.to_datetime(table["oldest_due"]).dt.strftime("%Y-%m-%d")
    return table


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--invoices", required=True)
    parser.add_argument("--payments", required=True)
    parser.add_argument("--as_of", required=True)
    args = parser.parse_args(argv)
    as_of = pd.Timestamp(args.as_of)
    invoices = pd.DataFrame(json.loads(Path(args.invoices).read_text(encoding="utf-8")), columns=COLUMNS)
    invoices = invoices.astype({"amount_cents": "int64"})
    for column in ("issued", "due"):
        invoices[column] = pd.to_datetime(invoices[column])
    payments = pd.read_csv(args.payments, dtype={"invoice_id": str, "amount_cents": "int64"})
    payments = payments[pd.to_datetime(payments["paid_on"]) <= as_of]
    invoices["id"] = invoices["id"].astype(payments["invoice_id"].dtype)
    unpaid = load_unpaid(invoices, payments, as_of)
    (OUTPUTS / "buckets").write_text(json.dumps(buckets(unpaid)))
    debtors(unpaid).to_csv(OUTPUTS / "debtors", index=False)
    is_unmatched = ~payments["invoice_id"].isin(invoices["id"])
    (OUTPUTS / "unmatched").write_text(str(float(payments.loc[is_unmatched, "amount_cents"].sum()) / 100))


if __name__ == "__main__":
    main()
