from pathlib import Path

import pytest

from solution import main

HEADER = "order_id,product,quantity,unit_price_cents,discount_percent,status,ordered_at\n"
OUT = Path("/var/outputs")


def run(tmp_path, rows, since="2024-03-01"):
    path = tmp_path / "orders"
    path.write_text(HEADER + "".join(f"{number},{row}\n" for number, row in enumerate(rows, start=1)))
    main(["--orders", str(path), "--since", since])
    return (
        float((OUT / "revenue").read_text()),
        int((OUT / "orders").read_text()),
        float((OUT / "average").read_text()),
        (OUT / "best_product").read_text().strip(),
    )


def test_revenue_with_discount_in_euros(tmp_path):
    rows = ["mug,2,1000,10,paid,2024-03-05T10:00:00", "tea,1,500,,shipped,2024-03-06T11:30:00"]
    revenue, orders, average, best = run(tmp_path, rows)
    assert revenue == pytest.approx(23.0)  # 18.00 + 5.00
    assert orders == 2
    assert average == pytest.approx(11.5)
    assert best == "mug"


@pytest.mark.parametrize("status", ["open", "cancelled", "refunded"])
def test_other_states_do_not_count(tmp_path, status):
    rows = ["mug,1,1000,,paid,2024-03-05T10:00:00", f"kettle,5,3000,,{status},2024-03-05T10:00:00"]
    assert run(tmp_path, rows) == (10.0, 1, 10.0, "mug")


def test_the_first_day_counts_and_the_day_before_does_not(tmp_path):
    rows = [
        "mug,1,1000,,paid,2024-03-01T00:00:00",
        "tea,3,500,,paid,2024-02-29T23:59:00",
        "tea,1,500,,paid,2024-03-01T08:00:00",
    ]
    assert run(tmp_path, rows) == (15.0, 2, 7.5, "mug")


def test_best_product_is_by_revenue_and_then_by_name(tmp_path):
    rows = [
        "tea,4,500,,paid,2024-03-02T08:00:00",
        "mug,2,1000,,paid,2024-03-03T08:00:00",
        "strainer,10,100,,paid,2024-03-03T08:00:00",
    ]
    assert run(tmp_path, rows)[3] == "mug"


def test_no_orders(tmp_path):
    assert run(tmp_path, ["tea,4,500,,paid,2024-02-02T08:00:00"]) == (0.0, 0, 0.0, "")
