"""Edits of files: search and replace as a model proposes them, all applied or none, and changes as a unified diff."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Final

_NO_NEWLINE: Final = "\\ No newline at end of file\n"


# --- search and replace -----------------------------------------------------------------------------------------------


class EditError(ValueError):
    """An edit cannot be applied. `number` counts from 1, `search` is its search text, `reason` says what is wrong."""

    def __init__(self, number: int, search: str, reason: str) -> None:
        super().__init__(
            f"edit {number}: {reason}: {_first_line(search)!r}; "
            "copy the search text from the current file, with enough lines around it to make it the only place"
        )
        self.number = number
        self.search = search
        self.reason = reason


def apply_edits(code: str, edits: Sequence[tuple[str, str]]) -> str:
    """The code with every `(search, replace)` pair applied in order, each to the result of those before it.

    A search text must occur exactly once. If it does not occur, it may match whole lines that differ from it only in
    indentation, in the number of blanks between words, and in line ends, again exactly once; the replacement is then
    indented like the lines that it replaces. An empty search text fills an empty file.

    Raises:
        EditError: an edit matches nowhere, or in several places. Then no edit is applied.
    """
    for number, (search, replace) in enumerate(edits, start=1):
        code = _apply_edit(code, search, replace, number)
    return code


def _apply_edit(code: str, search: str, replace: str, number: int) -> str:
    if not search.strip():
        if code.strip():
            raise EditError(number, search, "empty search text in a file that is not empty")
        return replace
    first = code.find(search)
    if first < 0:
        return _apply_to_lines(code, search, replace, number)
    if code.find(search, first + 1) >= 0:
        count = max(2, code.count(search))  # `count` skips overlapping occurrences
        raise EditError(number, search, f"ambiguous with {count} places")
    if _line_end(code) == "\r\n":
        replace = replace.replace("\r\n", "\n").replace("\n", "\r\n")
    return code[:first] + replace + code[first + len(search) :]


def _apply_to_lines(code: str, search: str, replace: str, number: int) -> str:
    leading, wanted, trailing = _without_blank_edges(search.split("\n"))
    lines = code.split("\n")
    matches = _matches(lines, wanted)
    if not matches:
        raise EditError(number, search, "not found")
    if len(matches) > 1:
        raise EditError(number, search, f"ambiguous with {len(matches)} places")
    (start, indents), end_mark = matches[0], "\r" if _line_end(code) == "\r\n" else ""
    new = _trim_edges(replace.replace("\r\n", "\n").split("\n"), leading, trailing) if replace.strip() else []
    new = [_reindented(line, indents) + end_mark for line in new]
    end = start + len(wanted)
    if new and end == len(lines):
        new[-1] = new[-1].removesuffix("\r")  # the last line of a file that ends without a newline
    return "\n".join(lines[:start] + new + lines[end:])


def _matches(lines: list[str], wanted: list[str]) -> list[tuple[int, dict[str, str]]]:
    """The indices where the wanted lines occur, each with the map from wanted to present indentation."""
    stripped, target = [" ".join(line.split()) for line in lines], [" ".join(line.split()) for line in wanted]
    matches = []
    for start in range(len(lines) - len(target) + 1):
        if stripped[start] == target[0] and stripped[start : start + len(target)] == target:
            indents = _indent_map(wanted, lines[start : start + len(target)])
            if indents is not None:
                matches.append((start, indents))
    return matches


def _indent_map(wanted: list[str], present: list[str]) -> dict[str, str] | None:
    """The indentation in the file for each one in the search text; None if one would correspond to two.

    In that case the lines are nested differently, and no replacement can be indented with certainty.
    """
    indents: dict[str, str] = {}
    for ours, theirs in zip(wanted, present, strict=True):
        if ours.strip() and indents.setdefault(_indent(ours), _indent(theirs)) != _indent(theirs):
            return None
    return indents


def _reindented(line: str, indents: dict[str, str]) -> str:
    if not line.strip():
        return ""
    indent = _indent(line)
    known = [prefix for prefix in indents if indent.startswith(prefix)]
    if known:
        nearest = max(known, key=len)
        return indents[nearest] + line[len(nearest) :]
    # Less indented than the whole search text: moved as far as its least indented line.
    least = min(indents, key=len)
    shorter = len(least) - len(indent)
    return indents[least][: max(0, len(indents[least]) - shorter)] + line[len(indent) :]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _without_blank_edges(lines: list[str]) -> tuple[int, list[str], int]:
    """The number of leading blank lines, the lines between, the number of trailing blank lines."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return filled[0], lines[filled[0] : filled[-1] + 1], len(lines) - 1 - filled[-1]


def _trim_edges(lines: list[str], leading: int, trailing: int) -> list[str]:
    """The lines without the leading and trailing blank lines that the search text had."""
    before, _, after = _without_blank_edges(lines)
    return lines[min(before, leading) : len(lines) - min(after, trailing)]


def _line_end(code: str) -> str:
    crlf = code.count("\r\n")
    return "\r\n" if crlf and crlf == code.count("\n") else "\n"


def _first_line(search: str) -> str:
    lines = [line for line in search.strip().split("\n") if line.strip()]
    first = lines[0][:80] if lines else ""
    return f"{first} (+{len(lines) - 1} lines)" if len(lines) > 1 else first


# --- unified diffs ----------------------------------------------------------------------------------------------------


def unified_diff(old: str, new: str, name: str) -> str:
    """The unified diff of a file, for `git apply` and `patch -p1`; "" if nothing changed.

    `name` is the file's relative path with slashes.
    """
    # Not `splitlines`, because form feeds and Unicode line separators do not end a line of a diff.
    lines = difflib.unified_diff(_lines(old), _lines(new), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
