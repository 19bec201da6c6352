import json
from pathlib import Path

import pytest

from solution import main


@pytest.fixture
def sessions(tmp_path):
    path = tmp_path / "visits"
    rows = [f"2024-03-01 1{hour}:00:00;{user};/products/17;200;2048" for hour in range(3) for user in ("ada", "grace")]
    rows.append("2024-03-01 10:00:30;bot-uptime;/;200;10")
    path.write_text("\n".join(["time;user;path;status;bytes", *rows]) + "\n")
    main(["--visits", str(path), "--idle_minutes", "20"])
    return [json.loads(line) for line in Path("/var/outputs/sessions").read_text().splitlines()]


def test_number_of_sessions(sessions):
    assert len(sessions) == 6


def test_bots_are_left_out(sessions):
    assert {session["user"] for session in sessions} == {"ada", "grace"}


def test_every_session_has_a_request(sessions):
    assert all(session["requests"] == 1 for session in sessions)
    assert all(session["start"] == session["end"] for session in sessions)


def test_nobody_bought(sessions):
    assert float(Path("/var/outputs/conversion").read_text()) == 0
