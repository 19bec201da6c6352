import csv
import json
from pathlib import Path

import pytest

from solution import main


def invoice(number, customer, due):
    return {"id": number, "customer": customer, "issued": "2024-01-01", "due": due, "amount_cents": 5000, "status": "open"}


@pytest.fixture(autouse=True)
def closed(tmp_path):
    invoices = [invoice("R1", "Aker", "2024-02-10"), invoice("R2", "Cato", "2024-02-20"), invoice("R3", "Aker", "2024-05-01")]
    (tmp_path / "invoices").write_text(json.dumps(invoices))
    (tmp_path / "payments").write_text("invoice_id,paid_on,amount_cents\nR2,2024-02-02,5000\nZ1,2024-02-02,100\n")
    main(
        ["--invoices", str(tmp_path / "invoices"), "--payments", str(tmp_path / "payments"), "--as_of", "2024-03-01"]
    )


def test_totals():
    buckets = json.loads(Path("/var/outputs/buckets").read_text())
    assert sum(buckets.values()) == 100
    assert buckets["current"] == 50


def test_paid_customers_are_no_debtors():
    with open("/var/outputs/debtors", newline="") as file:
        assert [row["customer"] for row in csv.DictReader(file)] == ["Aker"]


def test_unmatched_payment_is_seen():
    assert float(Path("/var/outputs/unmatched").read_text()) > 0
