from pathlib import Path

import pytest

from solution import main


@pytest.fixture
def out(tmp_path):
    path = tmp_path / "orders"
    path.write_text(
        "order_id,product,quantity,unit_price_cents,discount_percent,status,ordered_at\n"
        "1,mug,2,1000,10,paid,2024-03-05T10:00:00\n"
        "2,tea,3,450,,shipped,2024-03-07T10:00:00\n"
    )
    main(["--orders", str(path), "--since", "2024-03-01"])
    return Path("/var/outputs")


@pytest.mark.parametrize("name", ["revenue", "average"])
def test_floats(out, name):
    value = float((out / name).read_text())
    assert isinstance(value, float)
    assert value == value


def test_orders_is_a_whole_number(out):
    assert (out / "orders").read_text().strip().isdigit()


def test_best_product_is_not_missing(out):
    assert (out / "best_product").is_file()
