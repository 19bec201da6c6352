import json
from pathlib import Path

import pytest

from solution import main


def run(tmp_path, *lines, idle_minutes=30):
    path = tmp_path / "visits"
    path.write_text("\n".join(["time;user;path;status;bytes", *lines]) + "\n", encoding="utf-8")
    main(["--visits", str(path), "--idle_minutes", str(idle_minutes)])
    text = Path("/var/outputs/sessions").read_text(encoding="utf-8")
    sessions = [json.loads(line) for line in text.splitlines() if line]
    longest = Path("/var/outputs/longest").read_text().strip()
    assert longest.endswith("s")
    return sessions, float(longest[:-1]), float(Path("/var/outputs/conversion").read_text())


def request(time, user="ada", path="/", status=200, size=1024):
    return f"2024-03-01 {time};{user};{path};{status};{size}"


def test_one_session_in_full(tmp_path):
    sessions, longest, conversion = run(
        tmp_path, request("10:00:05"), request("10:10:05", path="/checkout", size=512), request("10:05:00", size="")
    )
    assert sessions == [
        {
            "user": "ada",
            "start": "2024-03-01 10:00:05",
            "end": "2024-03-01 10:10:05",
            "requests": 3,
            "kib": pytest.approx(1.5),
            "bought": True,
        }
    ]
    assert longest == 600
    assert conversion == 1


@pytest.mark.parametrize(("second", "requests"), [("10:29:59", [2]), ("10:30:00", [2]), ("10:30:01", [1, 1])])
def test_a_longer_pause_begins_a_new_session(tmp_path, second, requests):
    sessions, _, _ = run(tmp_path, request("10:00:00"), request(second))
    assert [session["requests"] for session in sessions] == requests


def test_the_pause_is_between_consecutive_requests(tmp_path):
    sessions, longest, _ = run(
        tmp_path, request("10:00:00"), request("10:08:00"), request("10:16:00"), idle_minutes=10
    )
    assert len(sessions) == 1
    assert longest == 16 * 60


def test_users_are_apart_and_sessions_in_order(tmp_path):
    sessions, _, conversion = run(
        tmp_path,
        request("12:00:00", "zoe", "/checkout/done"),
        request("10:00:00", "zoe"),
        request("10:00:00", "ada"),
        request("09:00:00", "max"),
        request("10:01:00", "ada"),
    )
    assert [(session["start"][11:], session["user"]) for session in sessions] == [
        ("09:00:00", "max"),
        ("10:00:00", "ada"),
        ("10:00:00", "zoe"),
        ("12:00:00", "zoe"),
    ]
    assert conversion == pytest.approx(0.25)


def test_what_does_not_count(tmp_path):
    sessions, longest, conversion = run(
        tmp_path,
        request("10:00:00", "bot-uptime"),
        request("10:00:00", "BOT-x", "/checkout"),
        request("10:00:00", ""),
        request("10:00:00", "eve", status=400),
        request("10:00:00", "eve", status=503),
    )
    assert (sessions, longest, conversion) == ([], 0, 0)


def test_what_does_count(tmp_path):
    sessions, _, conversion = run(
        tmp_path, request("10:00:00", "botany"), request("10:00:00", "robot-1", "/checkouts"), request("11:00:00", status=399)
    )
    assert [session["user"] for session in sessions] == ["botany", "robot-1", "ada"]
    assert conversion == 0
