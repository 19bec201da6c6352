"""Edits of files in a reply without a fence: unified diffs, and search and replace sections."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flyteplugins_codegen.source.extraction.passage import BlockKind, Passage

_SEARCH = re.compile(r"<{5,9}(?: ?(?:SEARCH|ORIGINAL|HEAD|UPDATED)\b.*)?[ \t]*\Z")
_MIDDLE = re.compile(r"={5,9}[ \t]*\Z")
_REPLACE = re.compile(r">{5,9}(?: ?(?:REPLACE|UPDATED|ORIGINAL)\b.*)?[ \t]*\Z")
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_HEADER = re.compile(
    r"diff --git |--- (?=\S)|\+\+\+ (?=\S)|index [0-9a-f]+\.\.|(?:old|new|deleted file|new file) mode |similarity index"
    r"|rename (?:from|to) |@@ |Index: |=====+\Z"
)


def kind_of(code: str, language: str) -> BlockKind:
    """Whether a block is search and replace sections, a unified diff, or plain code."""
    if "<<<<<" in code and _sections(code.split("\n")):
        return "search_replace"
    if language == "diff" or ("@@" in code and "\n--- " in f"\n{code}" and _diff_end(code.split("\n"), 0)[0]):
        return "diff"
    return "code"


def search_and_replace_text(code: str) -> str:
    """The lines of the sections without their markers."""
    markers = (_SEARCH, _MIDDLE, _REPLACE)
    return "\n".join(line for line in code.split("\n") if not any(marker.match(line) for marker in markers))


def find_sections(lines: Sequence[str]) -> list[Passage]:
    """The search and replace sections, one block each."""
    return [
        Passage(code="\n".join(lines[first : last + 1]), first=first, last=last, above=_above(lines, first))
        for first, last in _sections(lines)
    ]


def find_diffs(lines: Sequence[str]) -> list[Passage]:
    """The unified diffs; consecutive ones are one block."""
    passages, read = [], 0
    for first, line in enumerate(lines):
        if first >= read and line.startswith(("--- ", "diff --git ")):
            end, read = _diff_end(lines, first)
            if end:
                code = "\n".join(lines[first:end])
                above = _above(lines, first)
                passages.append(Passage(code=code, first=first, last=end - 1, language="diff", above=above))
    return passages


def _sections(lines: Sequence[str]) -> list[tuple[int, int]]:
    """The indices of the first and last line of every complete section."""
    sections: list[tuple[int, int]] = []
    first: int | None = None
    is_halfway = False
    for number, line in enumerate(lines):
        if _SEARCH.match(line):
            first, is_halfway = number, False
        elif first is not None and _MIDDLE.match(line):
            is_halfway = True
        elif first is not None and is_halfway and _REPLACE.match(line):
            sections.append((first, number))
            first = None
    return sections


def _diff_end(lines: Sequence[str], start: int) -> tuple[int, int]:
    """The index after a diff's last line, 0 if it has no hunk; and the index up to which lines were read."""
    end, number, has_hunk = start, start, False
    for number in range(start, len(lines)):
        line = lines[number]
        has_hunk = has_hunk or bool(_HUNK.match(line))
        if _HEADER.match(line) or (has_hunk and line.startswith((" ", "+", "-", "\\"))):
            end = number + 1
        elif line or not _goes_on(lines, number + 1):
            break
    return end if has_hunk else 0, number


def _goes_on(lines: Sequence[str], number: int) -> bool:
    """Whether a diff continues after an empty line; models often drop the blank of an empty context line."""
    return number < len(lines) and bool(_HEADER.match(lines[number]) or lines[number].startswith((" ", "+", "-", "\\")))


def _above(lines: Sequence[str], first: int) -> str:
    return lines[first - 1] if first else ""
