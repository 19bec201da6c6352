"""The object in a model's reply, however it was wrapped. Pure, linear, and never a guess between two answers."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

# A raw line break inside a string is the commonest slip of a model that writes code into JSON.
_DECODER = json.JSONDecoder(strict=False)
_MAX_STARTS = 64
_MAX_ENCODINGS = 3


def find_object(text: str, required: Collection[str]) -> dict[str, Any]:
    """The one JSON object that holds the `required` fields, or the only object there is.

    It may be fenced in Markdown, stand in prose, be encoded twice, or be wrapped: `{"solution": {...}}`.
    Raises ValueError, with what is wrong told to the model's face, when there is none or more than one.
    """
    text = _without_thoughts(text)
    if not text:
        raise ValueError("the reply is empty")
    whole = _decode_whole(text)
    objects = _objects_in(whole) if whole is not None else list(_objects_between(text))
    fitting = _distinct(found for candidate in objects for found in _unwrapped(candidate, required))
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise ValueError(f"the reply holds {len(fitting)} different JSON objects, where one is asked for")
    error = "" if whole is not None else _error_at_first_brace(text)
    if len(objects) == 1 and not error:
        return objects[0]
    raise ValueError(f"the reply holds no complete JSON object: {error or f'it begins {text[:60]!r}'}")


def _without_thoughts(text: str) -> str:
    """The text after a reasoning model's thoughts, which some servers leave in front of the answer."""
    text = text.strip().removeprefix("\ufeff")
    if text.startswith("<think>"):
        _, _, text = text.partition("</think>")
    return text.strip()


def _decode_whole(text: str) -> Any:
    """The value when the text is JSON from end to end, decoded again while it is JSON text in a JSON string."""
    value: Any = text
    for _ in range(_MAX_ENCODINGS):
        try:
            value = _DECODER.decode(value)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, str):
            return value
    return None


def _objects_in(value: Any) -> list[dict[str, Any]]:
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, dict)]


def _objects_between(text: str) -> Iterator[dict[str, Any]]:
    """The outermost objects in prose, left to right."""
    position = text.find("{")
    for _ in range(_MAX_STARTS):
        if position < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            yield value
        position = text.find("{", end)


def _unwrapped(candidate: dict[str, Any], required: Collection[str]) -> list[dict[str, Any]]:
    """The candidate if it holds the fields, else what it wraps that does."""
    if all(name in candidate for name in required):
        return [candidate]
    inner = [_decode_whole(value) if isinstance(value, str) else value for value in candidate.values()]
    return [value for value in inner if isinstance(value, dict) and all(name in value for name in required)]


def _distinct(objects: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    distinct: list[dict[str, Any]] = []
    for found in objects:
        if found not in distinct:
            distinct.append(found)
    return distinct


def _error_at_first_brace(text: str) -> str:
    start = text.find("{")
    if start < 0:
        return ""
    try:
        _DECODER.raw_decode(text, start)
    except RecursionError:
        return "it is nested too deeply"
    except ValueError as error:
        return str(error)
    return ""
