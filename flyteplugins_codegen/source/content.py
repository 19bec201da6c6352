"""The content of a chat message as one text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError

_PART = 'pass {"type": "text", "text": "..."} or {"type": "image_url", ...}'


def content_str(content: str | Sequence[Mapping[str, Any]] | None) -> str:
    """The text of a message's content as OpenAI's chat API has it: its text parts joined, `<image>` for every image.

    No content (None) is no text.

    Raises:
        ArgumentTypeError: `content` is neither text, nor a list, nor None; or a part is no mapping.
        RequestError: a part has no type, an unknown one, or no text.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        raise ArgumentTypeError(f"wrong content format: {type(content).__name__}; pass a str, a list of parts, or None")
    return "".join(_part_str(part, number) for number, part in enumerate(content, 1))


def _part_str(part: Mapping[str, Any], number: int) -> str:
    where = f"wrong content format: part {number}"
    if not isinstance(part, Mapping):
        raise ArgumentTypeError(f"{where} is {type(part).__name__}; {_PART}")
    kind = part.get("type")
    if kind == "image_url":
        return "<image>"
    if kind != "text":
        raise RequestError(f"{where} has {f'the type {kind!r}' if 'type' in part else 'no type'}; {_PART}")
    if not isinstance(part.get("text"), str):
        raise RequestError(f"{where}: its text is {type(part.get('text')).__name__}; {_PART}")
    return str(part["text"])
