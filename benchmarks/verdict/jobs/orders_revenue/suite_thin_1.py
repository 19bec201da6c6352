from pathlib import Path

import pytest

from solution import main


def test_one_order(tmp_path):
    path = tmp_path / "orders"
    path.write_text(
        "order_id,product,quantity,unit_price_cents,discount_percent,status,ordered_at\n"
        "1,mug,2,1000,10,paid,2024-03-05T10:00:00\n"
    )
    main(["--orders", str(path), "--since", "2024-03-01"])
    out = Path("/var/outputs")
    assert float((out / "revenue").read_text()) == pytest.approx(18.0)
    assert (out / "orders").read_text() == "1"
    assert float((out / "average").read_text()) == pytest.approx(18.0)
    assert (out / "best_product").read_text() == "mug"
