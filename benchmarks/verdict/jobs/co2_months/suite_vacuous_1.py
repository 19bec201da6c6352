import csv
import datetime
from pathlib import Path

from solution import main

OUT = Path("/var/outputs")


def prepare(tmp_path):
    path = tmp_path / "readings"
    path.write_text("date,co2\n19580329,316.1\n19580405,317.3\n19580412,317.6\n19580510,\n")
    main(["--readings", str(path), "--min_weeks", "1"])


def test_monthly_is_a_table(tmp_path):
    prepare(tmp_path)
    with (OUT / "monthly").open(newline="") as file:
        reader = csv.DictReader(file)
        assert reader.fieldnames == ["month", "weeks", "mean_ppm", "above_year"]
        for row in reader:
            float(row["mean_ppm"])
            float(row["above_year"])


def test_peak_is_a_time(tmp_path):
    prepare(tmp_path)
    peak = datetime.datetime.strptime((OUT / "peak").read_text(), "%Y-%m-%dT%H:%M:%SZ")
    assert isinstance(peak, datetime.datetime)


def test_gap_is_a_number_of_seconds(tmp_path):
    prepare(tmp_path)
    assert (OUT / "longest_gap").read_text().rstrip("s").isdigit()
