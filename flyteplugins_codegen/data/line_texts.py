"""Text and logs: how many lines, how they look, the time stamps that they begin with."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from flyteplugins_codegen.data.formats import read_head
from flyteplugins_codegen.data.tables import Part
from flyteplugins_codegen.data.texts import shorten

_CHUNK_BYTES = 1 << 20
_MOST_LINES = 5000
_LONG_LINE_CHARACTERS = 10_000
_EXCERPT_CHARACTERS = 1500
_STAMP = re.compile(
    r"\W{0,2}(\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\d\d/[A-Za-z]{3}/\d{4}:\d\d:\d\d:\d\d(?: [+-]\d{4})?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)"
)


@dataclass
class _Seen:
    """What has passed of a text."""

    newline_count: int = 0
    longest: int = 0
    last_characters: str = ""
    lines: list[str] = field(default_factory=list)

    @property
    def line_count(self) -> int:
        return self.newline_count + bool(self.last_characters)


@dataclass(frozen=True)
class TextSummary:
    """What a text holds. `shapes` are those of some of its lines, counted as they occur among these."""

    line_count: int
    excerpt: str
    shapes: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]


def summarise_text(part: Part) -> TextSummary:
    """What the text holds, read in chunks: its lines may be of any length."""
    from flyteplugins_codegen.data.text_columns import count_shapes
    from flyteplugins_codegen.data.values import arrow_texts

    seen = _read(part)
    excerpt = shorten(read_head(part.path, part.content.encoding).lstrip("\ufeff"), _EXCERPT_CHARACTERS)
    lines = [line for line in seen.lines if line.strip()]
    shapes = count_shapes(arrow_texts(lines)) if lines else ()
    return TextSummary(seen.line_count, excerpt, shapes, tuple(_notes(seen, lines)))


def _read(part: Part) -> _Seen:
    seen = _Seen()
    for text in _chunks(part):
        pieces = (seen.last_characters + text).split("\n")
        seen.newline_count += len(pieces) - 1
        # Of a line without an end only its beginning is kept, and how long it is by now.
        seen.longest = max(seen.longest, *(len(piece) for piece in pieces))
        seen.last_characters = pieces[-1][:_LONG_LINE_CHARACTERS]
        room = max(1, _MOST_LINES - len(seen.lines)) if len(seen.lines) < _MOST_LINES else 1
        seen.lines += [piece[:_LONG_LINE_CHARACTERS] for piece in pieces[:-1][:room]]
    if seen.last_characters:
        seen.lines.append(seen.last_characters)
    return seen


def _chunks(part: Part) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(part.content.encoding)(errors="replace")
    with part.path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield decoder.decode(chunk)


def _notes(seen: _Seen, lines: list[str]) -> Iterator[str]:
    stamps = [found[1] for line in lines if (found := _STAMP.match(line))]
    if len(stamps) * 2 > len(lines):
        yield f"{len(stamps)} of {len(lines)} lines looked at begin with a time stamp, from {stamps[0]} to {stamps[-1]}"
    if seen.longest >= _LONG_LINE_CHARACTERS:
        yield f"its longest line has at least {seen.longest} characters"
