import csv
import json
from pathlib import Path

import pytest

from solution import main

TEXT = """name,email,phone,updated
Ann,ann@x.y,+44 123,2024-01-01
Bo,BO@x.y,,2024-01-01
Eva,,55,2024-01-01
Bo,bo@x.y,,2024-01-03
"""


@pytest.fixture(autouse=True)
def run(tmp_path):
    path = tmp_path / "contacts"
    path.write_text(TEXT)
    main(["--contacts", str(path)])


def test_number_of_rows():
    with open("/var/outputs/clean", newline="") as file:
        assert len(list(csv.reader(file))) == 3


def test_duplicates():
    assert int(Path("/var/outputs/duplicates").read_text()) == 1


def test_domains():
    assert sum(json.loads(Path("/var/outputs/domains").read_text()).values()) == 2
