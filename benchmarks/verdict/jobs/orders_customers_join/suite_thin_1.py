import csv
from pathlib import Path

from solution import main


def test_join(tmp_path):
    orders = tmp_path / "orders"
    orders.write_text("order_id,customer_id,amount\n1,C1,10.00\n2,C2,20.00\n")
    customers = tmp_path / "customers"
    customers.write_text("customer_id,name,country\nC1,Ann,Austria\nC2,Bo,Chile\n")
    main(["--orders", str(orders), "--customers", str(customers)])
    with open("/var/outputs/by_country", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["country"] for row in rows] == ["Austria", "Chile"]
    assert [float(row["amount"]) for row in rows] == [10.0, 20.0]
    assert [row["orders"] for row in rows] == ["1", "1"]
    assert [row["customers"] for row in rows] == ["1", "1"]
    assert Path("/var/outputs/unmatched").read_text() == "0"
