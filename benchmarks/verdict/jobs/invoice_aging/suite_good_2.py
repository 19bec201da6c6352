import json
from pathlib import Path

from solution import main

OUTPUTS = Path("/var/outputs")
INVOICES = [
    {"id": "A1", "customer": "Eng", "issued": "2024-01-02", "due": "2024-02-01", "amount_cents": 20000, "status": "open"},
    {"id": "A2", "customer": "Eng", "issued": "2024-03-01", "due": "2024-03-31", "amount_cents": 1005, "status": "open"},
    {"id": "A3", "customer": "Foss", "issued": "2024-02-01", "due": "2024-03-01", "amount_cents": 19999, "status": "open"},
    {"id": "A4", "customer": "Foss", "issued": "2024-02-01", "due": "2024-04-01", "amount_cents": 700, "status": "open"},
    {"id": "A5", "customer": "Holm", "issued": "2024-02-01", "due": "2024-03-01", "amount_cents": 800, "status": "void"},
    {"id": "A6", "customer": "Holm", "issued": "2024-04-02", "due": "2024-04-12", "amount_cents": 900, "status": "open"},
]
PAYMENTS = """invoice_id,paid_on,amount_cents
A1,2024-02-10,5000
A1,2024-03-10,5000
A3,2024-04-01,9999
A3,2024-04-02,10000
B7,2024-03-03,2550
A5,2024-03-03,800
"""


def close_books(tmp_path, as_of):
    (tmp_path / "i.json").write_text(json.dumps(INVOICES))
    (tmp_path / "p.csv").write_text(PAYMENTS)
    main(["--invoices", str(tmp_path / "i.json"), "--payments", str(tmp_path / "p.csv"), "--as_of", as_of])


def test_first_of_april(tmp_path):
    close_books(tmp_path, "2024-04-01")
    # A1 owes 100 (60 days), A2 10.05 (1 day), A3 100 (31 days), A4 7 (due today)
    buckets = json.loads((OUTPUTS / "buckets").read_text())
    assert buckets == {"current": 7.0, "1-30": 10.05, "31-60": 200.0, "61-90": 0, "90+": 0}
    assert (OUTPUTS / "debtors").read_text().splitlines() == [
        "customer,invoices,owed,oldest_due",
        "Eng,2,110.05,2024-02-01",
        "Foss,1,100.00,2024-03-01",
    ]
    assert float((OUTPUTS / "unmatched").read_text()) == 25.5


def test_before_everything(tmp_path):
    close_books(tmp_path, "2024-01-01")
    assert set(json.loads((OUTPUTS / "buckets").read_text()).values()) == {0}
    assert (OUTPUTS / "debtors").read_text().strip() == "customer,invoices,owed,oldest_due"
    assert float((OUTPUTS / "unmatched").read_text()) == 0


def test_in_summer(tmp_path):
    close_books(tmp_path, "2024-07-11")
    buckets = json.loads((OUTPUTS / "buckets").read_text())
    # A1 161 days, A2 102, A3 paid, A4 101, A6 90
    assert buckets == {"current": 0, "1-30": 0, "31-60": 0, "61-90": 9.0, "90+": 117.05}
    lines = (OUTPUTS / "debtors").read_text().splitlines()[1:]
    assert lines == ["Eng,2,110.05,2024-02-01", "Holm,1,9.00,2024-04-12", "Foss,1,7.00,2024-04-01"]
