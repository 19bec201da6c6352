"""The fenced blocks of a reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flyteplugins_codegen.source.replies.fence_code import passage_between, passage_on_one_line
from flyteplugins_codegen.source.replies.fence_ends import Reply, find_end
from flyteplugins_codegen.source.replies.fence_lines import find_fence_lines, find_short_fence_lines
from flyteplugins_codegen.source.replies.info_strings import names_language
from flyteplugins_codegen.source.replies.loose_code import find_loose
from flyteplugins_codegen.source.replies.passage import Passage
from flyteplugins_codegen.source.replies.prose import is_prose


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
