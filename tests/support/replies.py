"""The replies that extraction is held to, as written down in `tests/source/replies`.

A file is a list of replies: `%%%% reply NAME`, the reply's lines, then `%%%% code LANGUAGE` and the lines of each block
that is to come out, or `%%%% no code`. A NAME that ends in `[crlf]` or `[cr]` has these line ends.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1] / "source" / "extraction" / "replies"
LINE_ENDS = {"[crlf]": "\r\n", "[cr]": "\r"}


class Expectation(NamedTuple):
    name: str
    reply: str
    blocks: list[tuple[str, str]]


def expectations(part: str) -> list[Expectation]:
    text = (FOLDER / f"{part}.txt").read_text().removesuffix("\n")
    return [expectation(entry) for entry in text.removeprefix("%%%% reply ").split("\n%%%% reply ")]


def expectation(entry: str) -> Expectation:
    reply_part, *code_parts = entry.split("\n%%%% ")
    name, _, reply = reply_part.partition("\n")
    reply = reply.replace("\n", LINE_ENDS.get(name.split()[-1], "\n"))
    blocks = [block(part) for part in code_parts if part != "no code"]
    assert len(code_parts) == max(1, len(blocks)), f"{name}: no code, or which?"
    return Expectation(name, reply, blocks or [("unknown", reply)])


def block(part: str) -> tuple[str, str]:
    language, _, code = part.removeprefix("code ").partition("\n")
    return language, code
