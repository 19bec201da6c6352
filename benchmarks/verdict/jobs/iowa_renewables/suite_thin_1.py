from pathlib import Path

from solution import main


def test_one_year(tmp_path):
    path = tmp_path / "generation"
    path.write_text("year,source,net_generation\n2001-01-01,Fossil Fuels,3000\n2001-01-01,Renewables,1000\n")
    main(["--generation", str(path), "--threshold", "0.1"])
    lines = Path("/var/outputs/shares").read_text().splitlines()
    assert lines[0] == "year,total_twh,renewable_share,change"
    assert lines[1].rstrip(",") == "2001,4.0,0.25"
    assert Path("/var/outputs/first_year").read_text() == "2001"
