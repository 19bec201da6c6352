import csv
import json
from pathlib import Path

from solution import main

TEXT = "name,email,phone,updated\nAnn,ann@x.y,+44 123,2024-01-01\nBo,BO@x.y,,2024-01-01\n"


def run(tmp_path):
    path = tmp_path / "contacts"
    path.write_text(TEXT)
    main(["--contacts", str(path)])


def test_clean_has_a_header(tmp_path):
    run(tmp_path)
    with open("/var/outputs/clean", newline="") as file:
        header = next(csv.reader(file))
    assert header == ["email", "name", "phone", "updated"]


def test_duplicates_is_not_negative(tmp_path):
    run(tmp_path)
    assert int(Path("/var/outputs/duplicates").read_text()) >= 0


def test_domains_is_json(tmp_path):
    run(tmp_path)
    assert isinstance(json.loads(Path("/var/outputs/domains").read_text()), dict)
