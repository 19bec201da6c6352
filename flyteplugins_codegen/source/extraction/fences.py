"""The fenced blocks of a reply, with their code unquoted, unindented and trimmed of text that is not part of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from flyteplugins_codegen.source.extraction.fence_lines import (
    BlockEnd,
    FencedReply,
    FenceLine,
    find_end,
    find_fence_lines,
    find_short_fence_lines,
)
from flyteplugins_codegen.source.extraction.info_strings import known_language, names_language, parse_info
from flyteplugins_codegen.source.extraction.lines import indentation, is_in_item, is_prose, without_containers
from flyteplugins_codegen.source.extraction.passage import Passage
from flyteplugins_codegen.source.extraction.unfenced import find_loose
from flyteplugins_codegen.source.languages.infer import infer_lang

# The languages that a line or two of these may be inferred as.
_SIMPLER = {"bash": "sh", "typescript": "javascript", "cpp": "c"}
_PROSE = frozenset({"", "text", "markdown"})
_ATTRIBUTE = re.compile(r"[\w-]+=\S")


def find_fenced(lines: Sequence[str]) -> list[Passage]:
    """The fenced blocks, in order."""
    return _find(FencedReply(lines, find_fence_lines(lines)))


def find_short_fenced(lines: Sequence[str]) -> list[Passage]:
    """The blocks between lines of two backticks or three quotes, for a reply without any real fence."""
    passages = _find(FencedReply(lines, find_short_fence_lines(lines)))
    return [passage for passage in passages if passage.closed and (passage.language or "`" in lines[passage.first])]


def _find(reply: FencedReply) -> list[Passage]:
    passages: list[Passage] = []
    at = free = 0
    while at < len(reply.fences):
        passage, at = _passage_at(reply, at, free)
        if passage:
            passages.append(passage)
            free = passage.last + 1
    kept = [passage for passage in passages if not _is_stray(passage, passages[-1])]
    if passages and _is_stray(passages[0], passages[-1]):
        kept = _continued(reply.lines[: passages[0].first]) + kept
    return kept or passages[:1]


def _passage_at(reply: FencedReply, at: int, free: int) -> tuple[Passage | None, int]:
    """The block that a fence opens, and the index of the next fence to read. Lines from `free` on are in no block."""
    fence = reply.fences[at]
    if fence.inner is not None:
        return _passage_on_one_line(reply, fence, free), at + 1
    if fence.before and fence.info and not names_language(fence.info):
        return None, at + 1
    end = find_end(reply, at)
    # After text on its line, a fence without a language opens a block only if another fence closes it.
    if fence.before and not (fence.info or end.closed):
        return None, at + 1
    return _passage_between(reply, fence, end, free), end.following


def _is_stray(passage: Passage, last: Passage) -> bool:
    """Whether the block's fence is superfluous: nothing closes it, and only prose follows it."""
    if passage.closed or (passage.language and passage is last):
        return False
    if passage.language or passage.attributes:
        return not passage.code
    return all(is_prose(line) or not line.strip() for line in passage.code.split("\n"))


def _continued(lines: Sequence[str]) -> list[Passage]:
    """The code above a superfluous first fence: the prompt had the opening fence, and the model continued the block."""
    passages = find_loose(lines)
    if len(passages) != 1 or "".join(lines[passages[0].last + 1 :]).strip():
        return []
    return [replace(passages[0], last=len(lines))]


def _passage_between(reply: FencedReply, fence: FenceLine, end: BlockEnd, free: int) -> Passage:
    """The block from a fence to its end; lines from `free` to the fence are in no other block."""
    info = parse_info(fence.info)
    body = [*reply.lines[fence.number + 1 : end.stop], *([end.glued] if end.glued else [])]
    column = _column(reply, fence, body) if fence.column else 0
    unquoted = (without_containers(line, fence.quotes, column) for line in body)
    code = [line if inner is None else inner for line, inner in zip(body, unquoted, strict=True)]
    if not end.closed:
        code = _without_tail(code, info.language, is_last=end.following == len(reply.fences))
    beside = _without_language(fence.info, info.language) if " " in fence.info else None
    return Passage(
        code="\n".join([beside, *code] if beside else code),
        first=fence.number,
        last=end.last,
        language=info.language,
        attributes={} if beside else dict(info.attributes),
        above=_above(reply, fence, free),
        closed=end.closed,
    )


def _passage_on_one_line(reply: FencedReply, fence: FenceLine, free: int) -> Passage | None:
    """A block on one line that is a paragraph of its own; None for a code span in a paragraph."""
    around = [number for number in (fence.number - 1, fence.number + 1) if free <= number < len(reply.lines)]
    if not fence.inner or any(reply.lines[number].strip() for number in around):
        return None
    language = known_language(fence.inner.partition(" ")[0])
    rest = _without_language(fence.inner, language) if language else None
    return Passage(
        code=rest or fence.inner,
        first=fence.number,
        last=fence.number,
        language=language if rest else "",
        above=_above(reply, fence, free),
    )


def _without_language(line: str, language: str) -> str | None:
    """The code after the name of its language: for `sql SELECT 1`, not for `make test` or `python title=x.py`."""
    rest = line.partition(" ")[2].strip()
    is_code = infer_lang(rest) in {language, _SIMPLER.get(language)} and not _ATTRIBUTE.match(rest)
    return rest if is_code else None


def _above(reply: FencedReply, fence: FenceLine, free: int) -> str:
    """The text before the fence on its line, or else the line above it, skipping one blank line."""
    if fence.before:
        return fence.before
    above = (reply.lines[number] for number in range(fence.number - 1, max(free, fence.number - 2) - 1, -1))
    return next((line for line in above if line.strip("> \t")), "")


def _column(reply: FencedReply, fence: FenceLine, body: Sequence[str]) -> int:
    """How many columns of indentation to remove from the block's lines: that of the fence.

    Fewer if the fence is in a list item and the code is indented less.
    """
    if fence.before and not fence.in_item:
        return 0
    if fence.quotes or not (fence.in_item or is_in_item(reply.lines, fence.number, fence.column)):
        return fence.column
    return min(fence.column, indentation(next((line for line in body if line.strip()), "")))


def _without_tail(code: list[str], language: str, *, is_last: bool) -> list[str]:
    """The code of an unclosed block without trailing blank lines, an incomplete closing fence, or prose.

    Prose is removed only if another block follows.
    """
    end = len(code)
    is_followed = not (is_last or language in _PROSE)
    while end and (code[end - 1].strip() in {"", "`", "``"} or (is_followed and is_prose(code[end - 1]))):
        end -= 1
    return code[:end]
