import json
from pathlib import Path

from solution import main

LOG = """time;user;path;status;bytes
2024-03-01 10:00:00;ada;/;200;1024
2024-03-01 10:05:00;ada;/checkout;200;512
2024-03-01 11:00:00;grace;/;404;
2024-03-01 12:00:00;linus;/cart;200;
"""
KEYS = ["user", "start", "end", "requests", "kib", "bought"]


def outputs(tmp_path):
    path = tmp_path / "visits"
    path.write_text(LOG)
    main(["--visits", str(path), "--idle_minutes", "30"])
    return {file.name: file.read_text() for file in Path("/var/outputs").iterdir()}


def test_all_outputs_are_there(tmp_path):
    assert {"sessions", "longest", "conversion"} <= set(outputs(tmp_path))


def test_sessions_are_objects(tmp_path):
    for line in outputs(tmp_path)["sessions"].splitlines():
        session = json.loads(line)
        assert sorted(session) == sorted(KEYS)
        assert session["start"] <= session["end"]
        assert isinstance(session["bought"], bool)


def test_conversion_is_a_share(tmp_path):
    assert 0 <= float(outputs(tmp_path)["conversion"]) <= 1
