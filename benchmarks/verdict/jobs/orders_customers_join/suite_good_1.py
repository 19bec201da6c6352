import csv
from pathlib import Path

import pytest

from solution import main


def run(tmp_path, orders, customers):
    orders_file = tmp_path / "orders"
    customers_file = tmp_path / "customers"
    orders_file.write_text("order_id,customer_id,amount\n" + "".join(f"{line}\n" for line in orders))
    customers_file.write_text("customer_id,name,country\n" + "".join(f"{line}\n" for line in customers))
    main(["--orders", str(orders_file), "--customers", str(customers_file)])
    with open("/var/outputs/by_country", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["country", "customers", "orders", "amount"]
    table = [(country, int(people), int(count), pytest.approx(float(amount))) for country, people, count, amount in rows[1:]]
    return table, int(Path("/var/outputs/unmatched").read_text())


def test_orders_are_added_up_by_country(tmp_path):
    table, unmatched = run(
        tmp_path,
        ["1,C1,10.50", "2,C2,5.25", "3,C1,4.00", "4,C3,100.00"],
        ["C1,Ann,Chile", "C2,Bo,Chile", "C3,Eva,Austria"],
    )
    assert table == [("Austria", 1, 1, 100.0), ("Chile", 2, 3, 19.75)]
    assert unmatched == 0


def test_customers_without_orders_count(tmp_path):
    table, unmatched = run(tmp_path, ["1,C1,10.00"], ["C1,Ann,Chile", "C2,Bo,Chile", "C3,Eva,Austria"])
    assert table == [("Austria", 1, 0, 0.0), ("Chile", 2, 1, 10.0)]
    assert unmatched == 0


def test_orders_of_nobody_are_unmatched(tmp_path):
    table, unmatched = run(tmp_path, ["1,C1,10.00", "2,C9,7.00", "3,C9,8.00"], ["C1,Ann,Chile"])
    assert table == [("Chile", 1, 1, 10.0)]
    assert unmatched == 2


def test_no_country_is_unknown(tmp_path):
    table, unmatched = run(tmp_path, ["1,C1,10.00", "2,C2,2.50"], ["C1,Ann,", "C2,Bo,Peru", "C3,Eva,"])
    assert table == [("Peru", 1, 1, 2.5), ("unknown", 2, 1, 10.0)]
    assert unmatched == 0


def test_no_orders_at_all(tmp_path):
    assert run(tmp_path, [], ["C1,Ann,Chile"]) == ([("Chile", 1, 0, 0.0)], 0)
