"""The code of a fenced block: its lines without their indentation, and with what strayed to its edges put right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from flyteplugins_codegen.source.extraction.fence_lines import (
    End,
    FenceLine,
    Reply,
    find_end,
    find_fence_lines,
    find_short_fence_lines,
)
from flyteplugins_codegen.source.extraction.info_strings import known_language, names_language, parse_info
from flyteplugins_codegen.source.extraction.lines import indentation, is_in_item, is_prose, without_containers
from flyteplugins_codegen.source.extraction.passage import Passage
from flyteplugins_codegen.source.extraction.unfenced import find_loose
from flyteplugins_codegen.source.languages.infer import infer_lang

# What a line or two of a language may well be taken for.
_SIMPLER = {"bash": "sh", "typescript": "javascript", "cpp": "c"}
_PROSE = frozenset({"", "text", "markdown"})
_ATTRIBUTE = re.compile(r"[\w-]+=\S")


def passage_between(reply: Reply, fence: FenceLine, end: End, free: int) -> Passage:
    """The block from a fence to its end; `free` is the first line over it that is in no other block."""
    info = parse_info(fence.info)
    body = [*reply.lines[fence.number + 1 : end.stop], *([end.glued] if end.glued else [])]
    column = _column(reply, fence, body) if fence.column else 0
    unquoted = (without_containers(line, fence.quotes, column) for line in body)
    code = [line if inner is None else inner for line, inner in zip(body, unquoted, strict=True)]
    if not end.closed:
        code = _trimmed(code, info.language, is_last=end.following == len(reply.fences))
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


def passage_on_one_line(reply: Reply, fence: FenceLine, free: int) -> Passage | None:
    """A block that is all of a paragraph's only line; elsewhere it is a code span."""
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
    """The code after the name of its language: of `sql SELECT 1`, not of `make test` nor of `python title=x.py`."""
    rest = line.partition(" ")[2].strip()
    is_code = infer_lang(rest) in {language, _SIMPLER.get(language)} and not _ATTRIBUTE.match(rest)
    return rest if is_code else None


def _above(reply: Reply, fence: FenceLine, free: int) -> str:
    """The words that the fence is glued to, or the line over it, one blank line between them or none."""
    if fence.before:
        return fence.before
    over = (reply.lines[number] for number in range(fence.number - 1, max(free, fence.number - 2) - 1, -1))
    return next((line for line in over if line.strip("> \t")), "")


def _column(reply: Reply, fence: FenceLine, body: Sequence[str]) -> int:
    """How many columns of indentation the block's lines lose: as many as the fence has.

    Fewer where the fence belongs to a list and the code was not moved in with it.
    """
    if fence.before and not fence.in_item:
        return 0
    if fence.quotes or not (fence.in_item or is_in_item(reply.lines, fence.number, fence.column)):
        return fence.column
    return min(fence.column, indentation(next((line for line in body if line.strip()), "")))


def _trimmed(code: list[str], language: str, *, is_last: bool) -> list[str]:
    """The code of a block that is not closed, without what is no part of it at its end.

    That is blank lines, a closing fence of which the last backtick is missing, and the sentences before the next block.
    """
    end = len(code)
    is_followed = not (is_last or language in _PROSE)
    while end and (code[end - 1].strip() in {"", "`", "``"} or (is_followed and is_prose(code[end - 1]))):
        end -= 1
    return code[:end]


# The fenced blocks of a reply.


def find_fenced(lines: Sequence[str]) -> list[Passage]:
    """The fenced blocks, in order."""
    return _find(Reply(lines, find_fence_lines(lines)))


def find_short_fenced(lines: Sequence[str]) -> list[Passage]:
    """The blocks between lines of two backticks or three quotes, for a reply that holds no real fence."""
    found = _find(Reply(lines, find_short_fence_lines(lines)))
    return [passage for passage in found if passage.closed and (passage.language or "`" in lines[passage.first])]


def _find(reply: Reply) -> list[Passage]:
    found: list[Passage] = []
    at = free = 0
    while at < len(reply.fences):
        passage, at = _passage_at(reply, at, free)
        if passage:
            found.append(passage)
            free = passage.last + 1
    kept = [passage for passage in found if not _is_stray(passage, found[-1])]
    if found and _is_stray(found[0], found[-1]):
        kept = _continued(reply.lines[: found[0].first]) + kept
    return kept or found[:1]


def _passage_at(reply: Reply, at: int, free: int) -> tuple[Passage | None, int]:
    """The block that a fence opens, and the fence to look at next. Lines from `free` on are in no block."""
    fence = reply.fences[at]
    if fence.inner is not None:
        return passage_on_one_line(reply, fence, free), at + 1
    if fence.before and fence.info and not names_language(fence.info):
        return None, at + 1
    end = find_end(reply, at)
    # After words, a fence without a language opens a block only if something closes it.
    if fence.before and not (fence.info or end.closed):
        return None, at + 1
    return passage_between(reply, fence, end, free), end.following


def _is_stray(passage: Passage, last: Passage) -> bool:
    """Whether a fence that nothing closes is one too many: nothing but prose follows it."""
    if passage.closed or (passage.language and passage is last):
        return False
    if passage.language or passage.attributes:
        return not passage.code
    return all(is_prose(line) or not line.strip() for line in passage.code.split("\n"))


def _continued(lines: Sequence[str]) -> list[Passage]:
    """The code over a stray first fence: the model went on with a block of which it was given the opening fence."""
    found = find_loose(lines)
    if len(found) != 1 or "".join(lines[found[0].last + 1 :]).strip():
        return []
    return [replace(found[0], last=len(lines))]
