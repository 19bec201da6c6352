"""The text of a message's content."""

from __future__ import annotations

import pytest

from flyteplugins_codegen import content_str
from flyteplugins_codegen.errors import ArgumentTypeError, RequestError


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("", ""),
        ("plain", "plain"),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "text", "text": "see "}, {"type": "image_url", "image_url": {"url": "x"}}], "see <image>"),
        (({"type": "text", "text": "\ud800\x00"},), "\ud800\x00"),
    ],
)
def test_parts_become_one_text(content, text) -> None:
    assert content_str(content) == text


@pytest.mark.parametrize("content", [5, {"type": "text", "text": "a"}, b"bytes", ["text"], [None]])
def test_what_is_no_content_is_a_type_error(content) -> None:
    with pytest.raises(TypeError, match="wrong content format") as caught:
        content_str(content)
    assert isinstance(caught.value, ArgumentTypeError)


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"text": "a"}, "part 1 has no type"),
        ({"type": "audio"}, "part 1 has the type 'audio'"),
        ({"type": "text"}, "part 1: its text is NoneType"),
        ({"type": "text", "text": 3}, "part 1: its text is int"),
    ],
)
def test_a_part_that_is_none_is_a_value_error_that_names_it(part, told: str) -> None:
    with pytest.raises(ValueError, match=told) as caught:
        content_str([part])
    assert isinstance(caught.value, RequestError)
