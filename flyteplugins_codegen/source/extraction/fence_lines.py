"""The lines of a reply with code fences, and where the block that a fence opens ends.

By CommonMark 0.31, section 4.5, a block ends at the first bare fence with the same mark, at least as long, in the same
quote. The rules differ only where a reply clearly means something else: a fence inside a string of the program, a
Markdown text that contains blocks, a closing fence that is missing or on one line with code or with a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from flyteplugins_codegen.source.extraction.info_strings import is_sentence, names_language, parse_info
from flyteplugins_codegen.source.extraction.lines import (
    columns,
    indentation,
    is_in_item,
    open_literal,
    without_containers,
)

_CONTAINERS = r"[ \t]*(?:(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]*)*"
_FENCE_LINE = re.compile(rf"({_CONTAINERS})(`{{3,}}(?=[^`]*\Z)|~{{3,}})(.*)", re.DOTALL)
_PREFIX = re.compile(_CONTAINERS)
_BACKTICKS = re.compile(r"`{3,}")
_WORD = re.compile(r"[\w+#.:/-]*\Z")
# A fence with a lost backtick, or with quotes for backticks: only if nothing else is on the line.
_SHORT_FENCE_LINE = re.compile(r"([ \t]*)(``|'{3})([A-Za-z][\w+#-]*)?[ \t]*\Z")
# Not a fence: `/// ```` in a comment, `+```` in a diff, and one after a backslash.
_LEADER = re.compile(r"(?:/{2,3}!?|#+|\*|--+|;+|%+|[-+]|.*\\)\s*\Z", re.DOTALL)
# `</answer>`, `<|im_end|>`: what may follow a closing fence.
_TAGS = re.compile(r"(?:<[/|]?\w[\w-]*\|?>)+\Z")
# How many fences ahead a reading that differs from CommonMark is followed, so that hostile text takes linear time.
_LOOKAHEAD = 32
_INDENT = 3


class FenceLine(NamedTuple):
    """A line with a fence: `number` is its index, `column` the fence's column after the quote marks.

    `before` is text on the line before the fence, `inner` the code of a block that opens and closes on this line.
    """

    number: int
    quotes: int
    in_item: bool
    column: int
    mark: str
    length: int
    info: str
    before: str = ""
    inner: str | None = None

    @property
    def is_bare(self) -> bool:
        """Whether nothing but tags is on the line, as in a closing fence."""
        return not self.before and self.inner is None and (not self.info or bool(_TAGS.match(self.info)))


def find_fence_lines(lines: Sequence[str]) -> list[FenceLine]:
    """All lines that may open or close a block, in order."""
    fences = (_fence_line(number, line) for number, line in enumerate(lines) if "```" in line or "~~~" in line)
    return [fence for fence in fences if fence]


def find_short_fence_lines(lines: Sequence[str]) -> list[FenceLine]:
    """The lines of two backticks or three quotes, with at most one word."""
    fences = []
    for number, line in enumerate(lines):
        match = _SHORT_FENCE_LINE.match(line) if "``" in line or "'''" in line else None
        if match:
            fences.append(FenceLine(number, 0, False, columns(match[1]), match[2][0], len(match[2]), match[3] or ""))
    return fences


def _fence_line(number: int, line: str) -> FenceLine | None:
    match = _FENCE_LINE.match(line)
    if not match:
        return _fence_between_words(number, line)
    quotes, in_item, column = _containers(match[1])
    return FenceLine(number, quotes, in_item, column, match[2][0], len(match[2]), match[3].strip())


def _fence_between_words(number: int, line: str) -> FenceLine | None:
    """The fence on a line that does not begin with one, or that has several."""
    runs, prefix = [match.span() for match in _BACKTICKS.finditer(line)], _PREFIX.match(line)
    if not runs or not prefix:
        return None
    (start, end), text = runs[-1], prefix.end()
    fence = FenceLine(number, *_containers(prefix[0]), "`", end - start, line[end:].strip())
    if runs[:-1] == [(text, text + fence.length)] and not fence.info:
        return fence._replace(inner=line[text + fence.length : start].strip())
    before = line[text:start]
    is_glued = len(runs) % 2 == 1 and _WORD.match(fence.info) and not _LEADER.match(before)
    return fence._replace(before=before) if is_glued else None  # an even number of runs are code spans


def _containers(prefix: str) -> tuple[int, bool, int]:
    """The number of quote marks, whether a list item follows them, and the column of the rest after the quotes."""
    if not prefix:
        return 0, False, 0
    after_quotes = columns(prefix[: prefix.rfind(">") + 1])
    column = columns(prefix) - after_quotes - (1 if after_quotes else 0)
    return prefix.count(">"), bool(prefix[prefix.rfind(">") + 1 :].strip()), max(0, column)


class FencedReply(NamedTuple):
    """The lines of a reply and their fences."""

    lines: Sequence[str]
    fences: Sequence[FenceLine]


class BlockEnd(NamedTuple):
    """The end of a block: `stop` is the index after the last line of code, `last` that of the block's last line.

    `following` is the index of the next fence to look at, `glued` code on the line of the closing fence.
    """

    stop: int
    last: int
    following: int
    closed: bool = True
    glued: str = ""


def find_end(reply: FencedReply, at: int) -> BlockEnd:
    """The end of the block that the fence `at` opens."""
    opener = reply.fences[at]
    language = parse_info(opener.info).language
    literal, read = "", opener.number + 1
    passed: BlockEnd | None = None  # the end by CommonMark, inside a string of the program
    for near in range(at + 1, len(reply.fences)):
        fence = reply.fences[near]
        outside = _outside(reply, at, near, read)
        if outside is not None:
            return BlockEnd(outside, outside - 1, near, closed=False)
        for line in reply.lines[read : fence.number]:
            literal = open_literal(language, line, literal)
        read = fence.number
        if literal and near - at < _LOOKAHEAD:
            passed = passed or (_closed_by(fence, near) if _closes(opener, fence) else None)
            continue
        end = passed if literal else None
        end = end or _end_at(reply, at, near)
        if end:
            return end
    return passed or _unclosed(reply, at, read)


def _outside(reply: FencedReply, at: int, near: int, read: int) -> int | None:
    """The first line, up to the fence `near`, that is outside of the block's quote or list item; None if there is none.

    A line that is indented less than its list item stays in the block if the next fence closes the block.
    """
    opener, fence = reply.fences[at], reply.fences[near]
    if opener.quotes:
        return _outside_quote(reply, opener, read, fence.number + 1)
    return None if near > at + 1 or _closes(opener, fence) else _outside_item(reply, opener, fence.number + 1)


def _end_at(reply: FencedReply, at: int, near: int) -> BlockEnd | None:
    opener, fence = reply.fences[at], reply.fences[near]
    if _closes(opener, fence):
        return _closed_by(fence, near)
    if not _is_alike(opener, fence) or fence.length < opener.length:
        return None
    if fence.before:
        is_end = not fence.info and _are_paired(reply, near + 1)
        glued = reply.lines[fence.number].rstrip()[: -fence.length]
        return BlockEnd(fence.number, fence.number, near + 1, glued=glued) if is_end else None
    if is_sentence(fence.info):
        return _closed_by(fence, near)
    begins = names_language(fence.info) or (fence.in_item and opener.in_item)
    return _end_before(reply, at, near) if begins else None


def _end_before(reply: FencedReply, at: int, near: int) -> BlockEnd | None:
    """The end of a block in which another one with a language seems to begin."""
    opener, fence = reply.fences[at], reply.fences[near]
    if (fence.in_item and not opener.in_item) or fence.column > opener.column + _INDENT:
        return None  # ` * ```js` in a comment
    rest = reply.lines[fence.number + 1 :] if near + 1 == len(reply.fences) else ["more"]
    if fence.info and fence.info == opener.info and not "".join(rest).strip():
        return _closed_by(fence, near)
    return _end_around(reply, at, near) or BlockEnd(fence.number, fence.number - 1, near, closed=False)


def _end_around(reply: FencedReply, at: int, near: int) -> BlockEnd | None:
    """The end of a block that contains complete blocks, if all of them are closed.

    Markdown may contain blocks anywhere, Python only in strings. In other languages the last inner block must end right
    before the outer one ends, and the first must not begin right after the outer one begins.
    """
    opener, depth, inner = reply.fences[at], 2, reply.fences[near]
    language = parse_info(opener.info).language
    if language == "python" or (language != "markdown" and inner.number == opener.number + 1):
        return None
    for index in range(near + 1, min(len(reply.fences), near + _LOOKAHEAD)):
        fence = reply.fences[index]
        if fence.before or fence.inner is not None or not _is_alike(opener, fence):
            continue
        depth += 1 if names_language(fence.info) else -1 if fence.is_bare else 0
        if depth == 0:
            between = reply.lines[inner.number + 1 : fence.number]
            touches = inner.is_bare and not "".join(between).strip()
            return _closed_by(fence, index) if language == "markdown" or touches else None
        inner = fence
    return None


def _are_paired(reply: FencedReply, at: int) -> bool:
    """Whether the number of fences without an info string, up to the next one with it, is even."""
    count = 0
    for fence in reply.fences[at : at + _LOOKAHEAD]:
        if fence.info or fence.inner is not None:
            break
        count += 1
    return count % 2 == 0


def _unclosed(reply: FencedReply, at: int, read: int) -> BlockEnd:
    opener, total = reply.fences[at], len(reply.lines)
    outside = _outside_quote(reply, opener, read, total) if opener.quotes else _outside_item(reply, opener, total)
    if outside is not None:
        following = next((n for n in range(at + 1, len(reply.fences)) if reply.fences[n].number >= outside), None)
        return BlockEnd(outside, outside - 1, len(reply.fences) if following is None else following, closed=False)
    return _closed_by_another(reply, at) or BlockEnd(total, total - 1, len(reply.fences), closed=False)


def _closed_by_another(reply: FencedReply, at: int) -> BlockEnd | None:
    """The end at a bare fence that is too short or has the other mark, used if no fence closes the block."""
    opener = reply.fences[at]
    for near in range(at + 1, min(len(reply.fences), at + _LOOKAHEAD)):
        fence = reply.fences[near]
        if _closes(opener._replace(mark=fence.mark, length=fence.length), fence):
            code = reply.lines[opener.number + 1 : fence.number]
            return _closed_by(fence, near) if "".join(code).strip() else None
        if fence.info:
            return None
    return None


def _outside_quote(reply: FencedReply, opener: FenceLine, start: int, stop: int) -> int | None:
    """The first of the lines that is not in the quotes of the opening fence."""
    lines = range(start, min(stop, len(reply.lines)))
    return next((n for n in lines if without_containers(reply.lines[n], opener.quotes, 0) is None), None)


def _outside_item(reply: FencedReply, opener: FenceLine, stop: int) -> int | None:
    """The first line that is indented less than a block in a list, if the block's own lines are indented."""
    if opener.before or not (opener.in_item or is_in_item(reply.lines, opener.number, opener.column)):
        return None
    filled = (n for n in range(opener.number + 1, stop) if reply.lines[n].strip())
    first = next(filled, None)
    if first is None or indentation(reply.lines[first]) < opener.column:
        return None
    return next((n for n in filled if indentation(reply.lines[n]) < opener.column), None)


def _is_alike(opener: FenceLine, fence: FenceLine) -> bool:
    return fence.mark == opener.mark and fence.quotes == opener.quotes


def _closes(opener: FenceLine, fence: FenceLine) -> bool:
    """Whether the fence closes the block, by CommonMark's rule."""
    # In a diff, the lines of a file are indented by one column.
    indent = 0 if parse_info(opener.info).language == "diff" else _INDENT
    fits = fence.length >= opener.length and fence.column <= opener.column + indent
    return fence.is_bare and not fence.in_item and fits and _is_alike(opener, fence)


def _closed_by(fence: FenceLine, at: int) -> BlockEnd:
    return BlockEnd(fence.number, fence.number, at + 1)
