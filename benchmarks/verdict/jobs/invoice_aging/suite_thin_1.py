import json
from pathlib import Path

from solution import main


def test_one_overdue_invoice(tmp_path):
    invoices, payments = tmp_path / "invoices", tmp_path / "payments"
    invoices.write_text(
        json.dumps(
            [
                {
                    "id": "R1",
                    "customer": "Aker",
                    "issued": "2024-05-01",
                    "due": "2024-06-15",
                    "amount_cents": 10000,
                    "status": "open",
                }
            ]
        )
    )
    payments.write_text("invoice_id,paid_on,amount_cents\nR1,2024-06-01,4000\n")
    main(["--invoices", str(invoices), "--payments", str(payments), "--as_of", "2024-06-30"])
    assert json.loads(Path("/var/outputs/buckets").read_text())["1-30"] == 60
    assert Path("/var/outputs/debtors").read_text().split() == [
        "customer,invoices,owed,oldest_due",
        "Aker,1,60.00,2024-06-15",
    ]
    assert float(Path("/var/outputs/unmatched").read_text()) == 0
