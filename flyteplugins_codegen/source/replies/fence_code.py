"""The code of a fenced block: its lines without their indentation, and with what strayed to its edges put right."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flyteplugins_codegen.source.infer_lang import infer_lang
from flyteplugins_codegen.source.replies.fence_ends import End, Reply
from flyteplugins_codegen.source.replies.fence_lines import FenceLine
from flyteplugins_codegen.source.replies.info_strings import parse_info
from flyteplugins_codegen.source.replies.lines import indentation, is_in_item, without_containers
from flyteplugins_codegen.source.replies.names import known_language
from flyteplugins_codegen.source.replies.passage import Passage
from flyteplugins_codegen.source.replies.prose import is_prose

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
