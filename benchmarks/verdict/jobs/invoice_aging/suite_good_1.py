import csv
import json
from datetime import date, timedelta
from pathlib import Path

import pytest

from solution import main

AS_OF = date(2024, 6, 30)


def before(days):
    return (AS_OF - timedelta(days=days)).isoformat()


def invoice(number, overdue, cents=10000, customer="Aker", status="open", issued=None):
    return {
        "id": number,
        "customer": customer,
        "issued": issued or before(overdue + 20),
        "due": before(overdue),
        "amount_cents": cents,
        "status": status,
    }


@pytest.fixture
def run(tmp_path):
    def run(invoices, payments=()):
        (tmp_path / "invoices").write_text(json.dumps(invoices))
        lines = ["invoice_id,paid_on,amount_cents", *(f"{i},{paid_on},{cents}" for i, paid_on, cents in payments)]
        (tmp_path / "payments").write_text("\n".join(lines) + "\n")
        main(
            [
                "--invoices", str(tmp_path / "invoices"),
                "--payments", str(tmp_path / "payments"),
                "--as_of", AS_OF.isoformat(),
            ]
        )
        buckets = json.loads(Path("/var/outputs/buckets").read_text())
        with open("/var/outputs/debtors", newline="") as file:
            rows = list(csv.reader(file))
        assert rows[0] == ["customer", "invoices", "owed", "oldest_due"]
        return buckets, rows[1:], float(Path("/var/outputs/unmatched").read_text())

    return run


@pytest.mark.parametrize(
    ("days", "name"),
    [(-5, "current"), (0, "current"), (1, "1-30"), (30, "1-30"), (31, "31-60"), (60, "31-60"), (61, "61-90"), (90, "61-90"), (91, "90+")],
)
def test_buckets(run, days, name):
    buckets, _, _ = run([invoice("R1", days, 12345)])
    expected = dict.fromkeys(["current", "1-30", "31-60", "61-90", "90+"], 0)
    assert buckets == {**expected, name: pytest.approx(123.45)}


def test_payments_in_parts_overpaid_and_later(run):
    buckets, rows, unmatched = run(
        [invoice("R1", 10), invoice("R2", 40), invoice("R3", 70)],
        [("R1", before(5), 2500), ("R1", before(0), 2500), ("R2", before(3), 99999), ("R3", before(-1), 10000)],
    )
    assert buckets == {"current": 0, "1-30": 50, "31-60": 0, "61-90": 100, "90+": 0}
    assert rows == [["Aker", "2", "150.00", before(70)]]
    assert unmatched == 0


def test_void_and_later_invoices_do_not_count(run):
    buckets, rows, unmatched = run(
        [invoice("R1", 10, status="void"), invoice("R2", -40, issued=before(-1))], [("R1", before(5), 500)]
    )
    assert sum(buckets.values()) == 0
    assert rows == []
    assert unmatched == 0


def test_debtors_are_ranked(run):
    _, rows, _ = run(
        [
            invoice("R1", 10, 5000, "Cato"),
            invoice("R2", 20, 5000, "Borg & Co"),
            invoice("R3", 50, 3000, "Aker"),
            invoice("R4", 5, 4005, "Aker"),
            invoice("R5", 0, 90000, "Aker"),
            invoice("R6", -3, 90000, "Dahl"),
        ]
    )
    assert rows == [
        ["Aker", "2", "70.05", before(50)],
        ["Borg & Co", "1", "50.00", before(20)],
        ["Cato", "1", "50.00", before(10)],
    ]


def test_unmatched_payments(run):
    _, _, unmatched = run(
        [invoice("R1", 10)], [("X9", before(1), 1050), ("X9", before(0), 1), ("X8", before(-1), 700), ("R1", before(1), 3)]
    )
    assert unmatched == pytest.approx(10.51)
