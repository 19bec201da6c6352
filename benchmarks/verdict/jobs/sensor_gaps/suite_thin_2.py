import csv
from pathlib import Path

from solution import main

LOG = """sensor,time,celsius
a,2024-05-01T10:00:00,20
a,2024-05-01T10:15:00,21
b,2024-05-01T10:00:00,25
b,2024-05-01T12:00:00,26
"""


def run(tmp_path):
    path = tmp_path / "readings"
    path.write_text(LOG)
    main(["--readings", str(path), "--min_readings", "1"])


def test_number_of_hours(tmp_path):
    run(tmp_path)
    with open("/var/outputs/hourly", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3
    assert {row["sensor"] for row in rows} == {"a", "b"}


def test_gap_and_warmest(tmp_path):
    run(tmp_path)
    assert int(Path("/var/outputs/longest_gap").read_text()) > 0
    assert Path("/var/outputs/warmest").read_text() == "b"
