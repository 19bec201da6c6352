from pathlib import Path

from solution import main


def test_one_month(tmp_path):
    path = tmp_path / "readings"
    path.write_text("date,co2\n19580405,317\n19580412,319\n")
    main(["--readings", str(path), "--min_weeks", "1"])
    header, line = Path("/var/outputs/monthly").read_text().split()
    assert header == "month,weeks,mean_ppm,above_year"
    assert line == "1958-04,2,318.0,0.0"
    assert Path("/var/outputs/peak").read_text() == "1958-04-12T00:00:00Z"
    assert Path("/var/outputs/longest_gap").read_text() == "604800s"
