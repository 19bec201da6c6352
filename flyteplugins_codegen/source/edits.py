"""Search and replace edits, as a model proposes them, applied to a file: all of them or none."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


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

    A search text must occur exactly once. Where it does not occur, it may match whole lines that differ from it only in
    indentation, in how many blanks stand between words, and in line ends, again at one place only; the replacement is
    then indented as the lines that it replaces. An empty search text fills an empty file.

    Raises:
        EditError: an edit matches no place, or several. The code is a value, so nothing is ever half-edited.
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
        raise EditError(number, search, f"ambiguous with {_occurrences(code, search)} places")
    return code[:first] + _with_line_ends(replace, _line_end(code)) + code[first + len(search) :]


def _apply_to_lines(code: str, search: str, replace: str, number: int) -> str:
    leading, wanted, trailing = _without_blank_edges(search.split("\n"))
    lines = code.split("\n")
    places = _places(lines, wanted)
    if not places:
        raise EditError(number, search, "not found")
    if len(places) > 1:
        raise EditError(number, search, f"ambiguous with {len(places)} places")
    (start, indents), end_mark = places[0], "\r" if _line_end(code) == "\r\n" else ""
    new = _trim_edges(replace.replace("\r\n", "\n").split("\n"), leading, trailing) if replace.strip() else []
    new = [_reindented(line, indents) + end_mark for line in new]
    end = start + len(wanted)
    if new and end == len(lines):
        new[-1] = new[-1].removesuffix("\r")  # the last line of a file that ends without a newline
    return "\n".join(lines[:start] + new + lines[end:])


def _places(lines: list[str], wanted: list[str]) -> list[tuple[int, dict[str, str]]]:
    """Where the wanted lines occur, and how their indentation reads at that place."""
    stripped, target = [" ".join(line.split()) for line in lines], [" ".join(line.split()) for line in wanted]
    found = []
    for start in range(len(lines) - len(target) + 1):
        if stripped[start] == target[0] and stripped[start : start + len(target)] == target:
            indents = _indent_map(wanted, lines[start : start + len(target)])
            if indents is not None:
                found.append((start, indents))
    return found


def _indent_map(wanted: list[str], present: list[str]) -> dict[str, str] | None:
    """Each indentation of the search text to the one in the file; None where one would stand for two.

    Then the lines are nested otherwise than the search text says, and no replacement could be indented with certainty.
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
    # Less indented than all of the search text: move it as far as the least indented line moved.
    least = min(indents, key=len)
    shorter = len(least) - len(indent)
    return indents[least][: max(0, len(indents[least]) - shorter)] + line[len(indent) :]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _without_blank_edges(lines: list[str]) -> tuple[int, list[str], int]:
    """How many blank lines lead, the lines between, how many blank lines trail."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return filled[0], lines[filled[0] : filled[-1] + 1], len(lines) - 1 - filled[-1]


def _trim_edges(lines: list[str], leading: int, trailing: int) -> list[str]:
    """The lines without as many blank ones at either edge as the search text had there."""
    before, _, after = _without_blank_edges(lines)
    return lines[min(before, leading) : len(lines) - min(after, trailing)]


def _line_end(code: str) -> str:
    crlf = code.count("\r\n")
    return "\r\n" if crlf and crlf == code.count("\n") else "\n"


def _with_line_ends(text: str, line_end: str) -> str:
    return text if line_end == "\n" else text.replace("\r\n", "\n").replace("\n", line_end)


def _occurrences(code: str, search: str) -> int:
    return max(2, code.count(search))  # `count` leaves overlapping places out


def _first_line(search: str) -> str:
    lines = [line for line in search.strip().split("\n") if line.strip()]
    first = lines[0][:80] if lines else ""
    return f"{first} (+{len(lines) - 1} lines)" if len(lines) > 1 else first


# What changed in a file, as a unified diff that `git apply` and `patch -p1` take.

_NO_NEWLINE = "\\ No newline at end of file\n"


def unified_diff(old: str, new: str, name: str) -> str:
    """The diff of a file of this name, relative and with slashes; "" where nothing changed."""
    # Not `splitlines`: a form feed or a line separator of Unicode's ends no line of a diff.
    lines = difflib.unified_diff(_lines(old), _lines(new), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
