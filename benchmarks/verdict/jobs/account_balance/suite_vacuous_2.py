from pathlib import Path

import pytest

from solution import main


@pytest.mark.parametrize("limit", ["0", "100", "1000.5"])
def test_outputs_are_written(tmp_path, limit):
    path = tmp_path / "transactions"
    path.write_text("id,account,booked,kind,amount\n1,A,2024-01-01,credit,10.00\n")
    main(["--transactions", str(path), "--limit", limit])
    written = sorted(file.name for file in Path("/var/outputs").iterdir())
    assert written == ["busiest_day", "final", "overdrawn", "statement"]
    assert all(file.stat().st_size for file in Path("/var/outputs").iterdir())
