import json
from pathlib import Path

import pytest

from solution import main

OUT = Path("/var/outputs")


def event(user, kind, page, at, amount=None):
    fields = {"user": user, "type": kind, "page": page, "at": at}
    if amount is not None:
        fields["amount"] = amount
    return json.dumps(fields)


def run(tmp_path, lines):
    path = tmp_path / "events"
    path.write_text("\n".join(lines) + "\n")
    main(["--events", str(path)])
    users = json.loads((OUT / "users").read_text())
    return users, int((OUT / "skipped").read_text()), (OUT / "busiest").read_text().strip()


def test_two_users(tmp_path):
    lines = [
        event("ann", "view", "/tea", 1000),
        event("bob", "view", "/", 2000),
        event("ann", "click", "/cart", 1060),
        event("ann", "buy", "/cart", 1150, 12.5),
        event("ann", "buy", "/", 1300, 2.25),
    ]
    users, skipped, busiest = run(tmp_path, lines)
    assert users == {
        "ann": {"events": 4, "pages": ["/", "/cart", "/tea"], "minutes": 5.0, "spent": 14.75, "converted": True},
        "bob": {"events": 1, "pages": ["/"], "minutes": 0.0, "spent": 0, "converted": False},
    }
    assert skipped == 0
    assert busiest == "ann"


def test_broken_lines_and_events_without_user_are_skipped(tmp_path):
    lines = [
        event("ann", "view", "/", 1000),
        "{broken",
        "",
        "17",
        event(None, "view", "/", 1100),
        '{"type": "view", "page": "/", "at": 5}',
        event("ann", "view", "/a", 1030),
    ]
    users, skipped, _ = run(tmp_path, lines)
    assert skipped == 4
    assert users["ann"]["events"] == 2
    assert users["ann"]["minutes"] == pytest.approx(0.5)


def test_a_buy_before_the_click_is_no_conversion(tmp_path):
    lines = [event("ann", "click", "/", 2000), event("ann", "buy", "/", 1000, 5)]
    users, _, _ = run(tmp_path, lines)
    assert users["ann"]["converted"] is False
    assert users["ann"]["spent"] == 5


def test_a_buy_after_the_first_of_several_clicks_is_one(tmp_path):
    lines = [event("ann", "click", "/", 3000), event("ann", "buy", "/", 2000, 5), event("ann", "click", "/", 1000)]
    assert run(tmp_path, lines)[0]["ann"]["converted"] is True


def test_a_buy_without_a_click_is_none(tmp_path):
    assert run(tmp_path, [event("ann", "buy", "/", 2000, 5)])[0]["ann"]["converted"] is False


def test_busiest_of_equals_is_alphabetical(tmp_path):
    lines = [event("zoe", "view", "/", 1), event("ann", "view", "/", 2), event("bob", "view", "/", 3)]
    assert run(tmp_path, lines)[2] == "ann"


def test_no_events(tmp_path):
    assert run(tmp_path, []) == ({}, 0, "")
