from pathlib import Path

import pytest

from solution import main

ORDERS = """order_id,product,quantity,unit_price_cents,discount_percent,status,ordered_at
1,kettle,1,3495,5,paid,2024-03-01T09:15:00
2,mug,3,899,,shipped,2024-03-02T10:00:00
3,teapot,1,2750,25,shipped,2024-04-01T10:00:00
4,teapot,2,2750,0,open,2024-03-05T10:00:00
5,kettle,2,3495,,paid,2024-02-28T10:00:00
6,mug,1,899,10,paid,2024-03-10T23:00:00
"""


@pytest.fixture
def read(tmp_path):
    path = tmp_path / "orders"
    path.write_text(ORDERS)

    def call(since):
        main(["--orders", str(path), "--since", since])
        return lambda name: Path("/var/outputs", name).read_text().strip()

    return call


def test_from_march(read):
    value = read("2024-03-01")
    # 33.2025 + 26.97 + 20.625 + 8.091
    assert float(value("revenue")) == pytest.approx(88.89, abs=0.006)
    assert value("orders") == "4"
    assert float(value("average")) == pytest.approx(22.22, abs=0.006)
    assert value("best_product") == "mug"


def test_from_february(read):
    value = read("2024-02-28")
    assert float(value("revenue")) == pytest.approx(158.79, abs=0.006)
    assert value("orders") == "5"
    assert value("best_product") == "kettle"


def test_from_the_future(read):
    value = read("2025-01-01")
    assert float(value("revenue")) == 0
    assert value("orders") == "0"
    assert float(value("average")) == 0
    assert value("best_product") == ""
