import csv
from pathlib import Path

from solution import main


def run(tmp_path):
    path = tmp_path / "readings"
    path.write_text("sensor,time,celsius\na,2024-05-01T10:00:00,20\nb,2024-05-01T10:30:00,21.5\n")
    main(["--readings", str(path), "--min_readings", "1"])
    return Path("/var/outputs")


def test_three_outputs(tmp_path):
    assert {file.name for file in run(tmp_path).iterdir()} == {"hourly", "longest_gap", "warmest"}


def test_hourly_is_csv(tmp_path):
    with (run(tmp_path) / "hourly").open(newline="") as file:
        for row in csv.DictReader(file):
            float(row["fahrenheit"])
            int(row["readings"])


def test_gap_is_a_number(tmp_path):
    gap = (run(tmp_path) / "longest_gap").read_text()
    assert gap.strip().lstrip("-").isdigit()


def test_warmest_is_text(tmp_path):
    assert (run(tmp_path) / "warmest").read_text() is not None
