from pathlib import Path

from solution import main

AIRPORTS = """iata,name,city,state,country,latitude,longitude
AAA,One,Town,TX,USA,30.0,-95.0
BBB,Two,Town,TX,USA,31.0,-95.0
CCC,Three,Town,OK,USA,35.0,-97.0
"""


def test_three_airports(tmp_path):
    path = tmp_path / "airports"
    path.write_text(AIRPORTS)
    main(["--airports", str(path), "--top", "5", "--lat", "30", "--lon", "-95", "--radius_km", "50"])
    out = Path("/var/outputs")
    assert (out / "ranking").read_text().split() == ["rank,state,airports", "1,TX,2", "2,OK,1"]
    assert (out / "northernmost").read_text() == "CCC"
    assert (out / "nearby").read_text() == "1"
