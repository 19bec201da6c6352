from pathlib import Path

import pytest

from solution import main


def test_one_day(tmp_path):
    path = tmp_path / "weather"
    path.write_text("date,precipitation,temp_max,temp_min,wind,weather\n2013/01/01,25.4,10.0,2.0,10.0,rain\n")
    main(["--weather", str(path), "--year", "2013"])
    out = Path("/var/outputs")
    assert float((out / "rain_inches").read_text()) == pytest.approx(1.0)
    assert (out / "longest_dry").read_text() == "0"
    assert (out / "warmest_month").read_text() == "1"
    assert (out / "months").read_text().split() == ["month,days,max_wind_kmh,rainy_share", "1,1,36.0,1.000"]
