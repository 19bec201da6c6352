from pathlib import Path

from solution import main

HEADER = "order_id,product,quantity,unit_price_cents,discount_percent,status,ordered_at\n"


def run(tmp_path, rows):
    path = tmp_path / "orders"
    path.write_text(HEADER + "\n".join(rows) + "\n")
    main(["--orders", str(path), "--since", "2024-01-01"])


def test_orders_are_counted(tmp_path):
    run(tmp_path, ["1,mug,2,1000,10,paid,2024-03-05T10:00:00", "2,tea,1,500,,open,2024-03-05T10:00:00"])
    assert int(Path("/var/outputs/orders").read_text()) == 1


def test_revenue_is_positive(tmp_path):
    run(tmp_path, ["1,mug,2,1000,10,paid,2024-03-05T10:00:00", "2,tea,1,500,,paid,2024-03-05T10:00:00"])
    assert float(Path("/var/outputs/revenue").read_text()) > 0
    assert float(Path("/var/outputs/average").read_text()) > 0
    assert Path("/var/outputs/best_product").read_text() in {"mug", "tea"}
