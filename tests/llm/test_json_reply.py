"""The JSON object in a reply is found however it is wrapped; with several different ones none is chosen."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.llm.json_reply import find_object

WANTED = {"description": "d", "code": "x = {'a': 1}\nprint('```')\n"}
TEXT = json.dumps(WANTED)
REQUIRED = ("description", "code")


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"\ufeff  {TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"```\n{json.dumps(WANTED, indent=2)}\n```",
        f"Here you are:\n\n```json\n{TEXT}\n```\nThe set {{1, 2}} is fine. Good luck!",
        f"Sure! {TEXT} Anything else?",
        json.dumps(TEXT),
        json.dumps(json.dumps(TEXT)),
        json.dumps({"solution": WANTED}),
        json.dumps({"name": "SolutionReply", "arguments": WANTED}),
        json.dumps({"name": "SolutionReply", "arguments": TEXT}),
        json.dumps([WANTED]),
        f"{TEXT}\n{TEXT}",
        f"<think>Maybe {{}} or {json.dumps({'description': 'no', 'code': 'no'})}?</think>\n{TEXT}",
        f'For instance {{"description": "short"}} would not do, so: {TEXT}',
        TEXT.replace("\\n", "\n"),  # raw line breaks inside a string
    ],
)
def test_the_object_is_found(text):
    assert find_object(text, REQUIRED) == WANTED


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "empty"),
        ("<think>still thinking", "empty"),
        ("no object here", "begins 'no object here'"),
        (TEXT[:-5], "Unterminated string"),
        ('{"description": "d", "edits": [{"search": "a", "replace": "b"}], "code": ', "Expecting value"),
        (TEXT + json.dumps({**WANTED, "code": "other"}), "2 different"),
        (json.dumps({"first": WANTED, "second": {**WANTED, "code": "other"}}), "2 different"),
        ("[" * 100_000, "no complete"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_what_cannot_be_used_says_why(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        find_object(text, REQUIRED)


def test_a_sole_object_without_the_fields_is_left_to_validation():
    assert find_object('{"description": "d"}', REQUIRED) == {"description": "d"}


def test_a_hostile_reply_takes_no_time():
    started = time.monotonic()
    for text in ('{"a":{' * 200_000, "{" * 1_000_000, '{"a":"' * 200_000, "```json\n" * 100_000):
        with pytest.raises(ValueError, match="no complete"):
            find_object(text, REQUIRED)
    assert time.monotonic() - started < 5


@given(st.text(max_size=200))
def test_any_text_gives_an_object_or_a_value_error(text):
    try:
        found = find_object(text, REQUIRED)
    except ValueError:
        return
    assert isinstance(found, dict)


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=4), st.text("abc \n.", max_size=30))
def test_any_object_is_found_in_prose(extra, prose):
    value = {**extra, **WANTED}
    assert find_object(f"{prose}{json.dumps(value)}{prose}", REQUIRED) == value
