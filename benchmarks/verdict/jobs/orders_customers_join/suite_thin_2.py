from pathlib import Path

import pytest

from solution import main


@pytest.fixture
def files(tmp_path):
    orders = tmp_path / "orders"
    orders.write_text("order_id,customer_id,amount\n1,C1,10.00\n2,C2,20.00\n3,C9,5.00\n")
    customers = tmp_path / "customers"
    customers.write_text("customer_id,name,country\nC1,Ann,Austria\nC2,Bo,Chile\n")
    return ["--orders", str(orders), "--customers", str(customers)]


def test_one_line_for_each_country(files):
    main(files)
    lines = Path("/var/outputs/by_country").read_text().split()
    assert lines[0] == "country,customers,orders,amount"
    assert len(lines) == 3


def test_unmatched(files):
    main(files)
    assert int(Path("/var/outputs/unmatched").read_text()) == 1
