import csv
from pathlib import Path

from solution import main


def make(tmp_path):
    orders = tmp_path / "orders"
    orders.write_text("order_id,customer_id,amount\n1,C1,10.00\n2,C2,20.00\n3,C9,5.00\n")
    customers = tmp_path / "customers"
    customers.write_text("customer_id,name,country\nC1,Ann,Austria\nC2,Bo,\n")
    return ["--orders", str(orders), "--customers", str(customers)]


def test_runs(tmp_path):
    main(make(tmp_path))


def test_table_has_columns(tmp_path):
    main(make(tmp_path))
    with open("/var/outputs/by_country", newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    assert reader.fieldnames is not None
    for row in rows:
        assert float(row["amount"]) >= 0
        assert int(row["orders"]) >= 0


def test_unmatched_can_be_read(tmp_path):
    main(make(tmp_path))
    assert int(Path("/var/outputs/unmatched").read_text()) >= 0
