import json
from pathlib import Path

from solution import main


def test_one_month(tmp_path):
    path = tmp_path / "meat"
    path.write_text("date,beef,broilers\n1990-05-01,100,200\n")
    main(["--meat", str(path), "--window", "1"])
    lines = Path("/var/outputs/yearly").read_text().splitlines()
    assert lines[0] == "year,kind,months,kilotonnes"
    assert lines[1].startswith("1990,broilers,1,90.718474")
    assert json.loads(Path("/var/outputs/trend").read_text()) == {"beef": 100.0, "broilers": 200.0}
    assert Path("/var/outputs/overtaken").read_text() == "1990-05"
