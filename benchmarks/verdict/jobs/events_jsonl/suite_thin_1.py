import json
from pathlib import Path

from solution import main

EVENTS = """{"user": "ann", "type": "view", "page": "/", "at": 0}
{"user": "ann", "type": "click", "page": "/tea", "at": 60}
{"user": "ann", "type": "buy", "page": "/tea", "at": 120, "amount": 4.5}
"""


def test_one_user(tmp_path):
    path = tmp_path / "events"
    path.write_text(EVENTS)
    main(["--events", str(path)])
    users = json.loads(Path("/var/outputs/users").read_text())
    assert users == {
        "ann": {"events": 3, "pages": ["/", "/tea"], "minutes": 2, "spent": 4.5, "converted": True},
    }
    assert Path("/var/outputs/skipped").read_text() == "0"
    assert Path("/var/outputs/busiest").read_text() == "ann"
