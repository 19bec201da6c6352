import csv
from pathlib import Path

from solution import main

HEADER = '"","total_bill","tip","sex","smoker","day","time","size"\n'


def write(tmp_path):
    path = tmp_path / "bills"
    path.write_text(HEADER + '"1",20.0,3.0,"Male","No","Sun","Dinner",4\n"2",10.0,1.0,"Male","No","Sat","Dinner",2\n')
    return str(path)


def test_outputs_are_written(tmp_path):
    main(["--bills", write(tmp_path), "--min_size", "1"])
    assert Path("/var/outputs/tip_rate").exists()
    assert Path("/var/outputs/by_day").exists()


def test_rate_is_a_number(tmp_path):
    main(["--bills", write(tmp_path), "--min_size", "1"])
    assert isinstance(float(Path("/var/outputs/tip_rate").read_text()), float)


def test_table_is_readable(tmp_path):
    main(["--bills", write(tmp_path), "--min_size", "1"])
    with open("/var/outputs/by_day", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 0
    assert "day" in rows[0]
