import csv
import json
from pathlib import Path

from solution import main


def test_duplicate_is_removed(tmp_path):
    path = tmp_path / "contacts"
    path.write_text("name,email,phone,updated\nAnn,ann@x.y,123,2024-01-01\nAnn,ann@x.y,123,2024-01-01\n")
    main(["--contacts", str(path)])
    with open("/var/outputs/clean", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == [{"email": "ann@x.y", "name": "Ann", "phone": "123", "updated": "2024-01-01"}]
    assert Path("/var/outputs/duplicates").read_text() == "1"
    assert json.loads(Path("/var/outputs/domains").read_text()) == {"x.y": 1}
