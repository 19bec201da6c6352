import json
from pathlib import Path

import pytest

from solution import main


@pytest.fixture
def out(tmp_path):
    path = tmp_path / "events"
    path.write_text(
        '{"user": "ann", "type": "view", "page": "/", "at": 0}\n'
        '{"user": "ann", "type": "buy", "page": "/", "at": 100, "amount": 3}\n'
    )
    main(["--events", str(path)])
    return Path("/var/outputs")


def test_users_is_a_json_object(out):
    users = json.loads((out / "users").read_text())
    assert isinstance(users, dict)
    for user in users.values():
        assert isinstance(user["events"], int)
        assert isinstance(user["pages"], list)
        assert isinstance(user["converted"], bool)


def test_skipped_is_an_int(out):
    assert isinstance(int((out / "skipped").read_text()), int)


def test_busiest_exists(out):
    assert (out / "busiest").exists()
