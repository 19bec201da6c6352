import json
from pathlib import Path

from solution import main


def test_users_and_counts(tmp_path):
    path = tmp_path / "events"
    path.write_text(
        '{"user": "ann", "type": "view", "page": "/", "at": 0}\n'
        "not json\n"
        '{"user": "bob", "type": "view", "page": "/", "at": 0}\n'
        '{"user": "bob", "type": "view", "page": "/tea", "at": 90}\n'
    )
    main(["--events", str(path)])
    users = json.loads(Path("/var/outputs/users").read_text())
    assert {name: user["events"] for name, user in users.items()} == {"ann": 1, "bob": 2}
    assert set(users["ann"]) == {"events", "pages", "minutes", "spent", "converted"}
    assert int(Path("/var/outputs/skipped").read_text()) == 1
    assert Path("/var/outputs/busiest").read_text() == "bob"
