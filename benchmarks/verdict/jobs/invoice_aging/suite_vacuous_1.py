import csv
import json
from pathlib import Path

from solution import main

INVOICE = {
    "id": "R1",
    "customer": "Aker",
    "issued": "2024-05-01",
    "due": "2024-06-15",
    "amount_cents": 10000,
    "status": "open",
}


def close(tmp_path):
    (tmp_path / "invoices").write_text(json.dumps([INVOICE, {**INVOICE, "id": "R2", "customer": "Cato"}]))
    (tmp_path / "payments").write_text("invoice_id,paid_on,amount_cents\nR1,2024-06-01,4000\n")
    main(
        ["--invoices", str(tmp_path / "invoices"), "--payments", str(tmp_path / "payments"), "--as_of", "2024-06-30"]
    )


def test_buckets_has_all_keys(tmp_path):
    close(tmp_path)
    buckets = json.loads(Path("/var/outputs/buckets").read_text())
    assert set(buckets) == {"current", "1-30", "31-60", "61-90", "90+"}
    assert all(isinstance(value, (int, float)) for value in buckets.values())


def test_debtors_is_a_table(tmp_path):
    close(tmp_path)
    with open("/var/outputs/debtors", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        assert float(row["owed"]) >= 0
        assert int(row["invoices"]) >= 1


def test_unmatched_is_not_negative(tmp_path):
    close(tmp_path)
    assert float(Path("/var/outputs/unmatched").read_text()) >= 0
