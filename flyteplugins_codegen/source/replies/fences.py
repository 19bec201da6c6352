"""The fenced blocks of a reply."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flyteplugins_codegen.source.code_block import Passage
from flyteplugins_codegen.source.infer_lang import infer_lang
from flyteplugins_codegen.source.language_names import LANGUAGES, language_of
from flyteplugins_codegen.source.replies.fence_ends import End, Reply, find_end
from flyteplugins_codegen.source.replies.fence_lines import (
    FenceLine,
    find_fence_lines,
    find_short_fence_lines,
    indentation,
    without_containers,
)
from flyteplugins_codegen.source.replies.info_strings import names_language, parse_info
from flyteplugins_codegen.source.replies.prose import is_prose

# What a line or two of a language may well be taken for.
_SIMPLER = {"bash": "sh", "typescript": "javascript", "cpp": "c"}
_PROSE = frozenset({"", "text", "markdown"})
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")


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
    return [passage for passage in found if not _is_stray(passage, found[-1])] or found[:1]


def _passage_at(reply: Reply, at: int, free: int) -> tuple[Passage | None, int]:
    """The block that a fence opens, and the fence to look at next. Lines from `free` on are in no block."""
    fence = reply.fences[at]
    if fence.inner is not None:
        return _on_one_line(reply, fence, free), at + 1
    if fence.before and fence.info and not names_language(fence.info):
        return None, at + 1
    end = find_end(reply, at)
    # After words, a fence without a language opens a block only if something closes it.
    if fence.before and not (fence.info or end.closed):
        return None, at + 1
    return _passage(reply, fence, end, free), end.following


def _passage(reply: Reply, fence: FenceLine, end: End, free: int) -> Passage:
    body = [*reply.lines[fence.number + 1 : end.stop], *([end.glued] if end.glued else [])]
    above = _above(reply, fence, free)
    column = _column(fence, body, above) if fence.column else 0
    unquoted = (without_containers(line, fence.quotes, column) for line in body)
    code = [line if inner is None else inner for line, inner in zip(body, unquoted, strict=True)]
    info = parse_info(fence.info)
    if not end.closed:
        code = _trimmed(code, info.language, is_last=end.following == len(reply.fences))
    return Passage(
        code="\n".join(code),
        first=fence.number,
        last=end.last,
        language=info.language,
        attributes=dict(info.attributes),
        above=above,
        closed=end.closed,
    )


def _column(fence: FenceLine, body: Sequence[str], above: str) -> int:
    """How many columns of indentation the block's lines lose: as many as the fence has.

    Fewer where the fence belongs to a list and the code was not moved in with it.
    """
    if fence.before and not fence.in_item:
        return 0
    is_listed = fence.in_item or _ITEM.match(above) or fence.column <= indentation(above)
    first = next((line for line in body if line.strip()), "")
    return min(fence.column, indentation(first)) if is_listed and not fence.quotes else fence.column


def _on_one_line(reply: Reply, fence: FenceLine, free: int) -> Passage | None:
    """A block that is all of a paragraph's only line; elsewhere it is a code span."""
    around = [number for number in (fence.number - 1, fence.number + 1) if free <= number < len(reply.lines)]
    if not fence.inner or any(reply.lines[number].strip() for number in around):
        return None
    word, _, rest = fence.inner.partition(" ")
    language = language_of(word)
    # `make test` is a command, `sql SELECT 1` names its language.
    is_named = language in LANGUAGES and infer_lang(rest.strip()) in {language, _SIMPLER.get(language)}
    return Passage(
        code=rest.strip() if is_named else fence.inner,
        first=fence.number,
        last=fence.number,
        language=language if is_named else "",
        above=_above(reply, fence, free),
    )


def _above(reply: Reply, fence: FenceLine, free: int) -> str:
    """The words that the fence is glued to, or the line over it, one blank line between them or none."""
    if fence.before:
        return fence.before
    over = (reply.lines[number] for number in range(fence.number - 1, max(free, fence.number - 2) - 1, -1))
    return next((line for line in over if line.strip("> \t")), "")


def _trimmed(code: list[str], language: str, is_last: bool) -> list[str]:  # noqa: FBT001 - private
    """The code of a block that is not closed, without what is no part of it at its end.

    That is blank lines, a closing fence of which the last backtick is missing, and the sentences before the next block.
    """
    end = len(code)
    may_hold_prose = is_last or language in _PROSE
    while end and (code[end - 1].strip() in {"", "`", "``"} or not (may_hold_prose or not is_prose(code[end - 1]))):
        end -= 1
    return code[:end]


def _is_stray(passage: Passage, last: Passage) -> bool:
    """Whether a fence that nothing closes is one too many: nothing but prose follows it."""
    if passage.closed or (passage.language and passage is last):
        return False
    if passage.language or passage.attributes:
        return not passage.code
    return all(is_prose(line) or not line.strip() for line in passage.code.split("\n"))
