"""What a sample looks like, told of all of it, in bounded memory."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flyteplugins_codegen.data.formats import read_head
from flyteplugins_codegen.data.inputs import Files, frame_table, is_frame, opened_files
from flyteplugins_codegen.data.tables import Part
from flyteplugins_codegen.models.data import SampleProfile
from flyteplugins_codegen.text import shorten_end

if TYPE_CHECKING:
    import pyarrow as pa

    from flyteplugins_codegen.data.summary import Summary
    from flyteplugins_codegen.data.tables import Table

# Text and logs: how many lines, how they look, the time stamps that they begin with.

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
    from flyteplugins_codegen.data.arrow import arrow_texts
    from flyteplugins_codegen.data.columns import count_shapes

    seen = _read(part)
    excerpt = shorten_end(read_head(part.path, part.content.encoding).lstrip("\ufeff"), _EXCERPT_CHARACTERS)
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


_MAX_SAMPLE_ROWS = 100
_EXCERPT_BYTES_OF_TABLE = 4096
_EXCERPT_LINES_OF_TABLE = 3
_EXCERPT_CHARACTERS_OF_TABLE = 600
_EXCERPT_BYTES_OF_BINARY = 32


@dataclass(frozen=True)
class Profiled:
    """A profile with rows that it was made of, in a comparable form: all of them where `is_whole`."""

    profile: SampleProfile
    rows: pa.RecordBatch | None = None
    is_whole: bool = False


def profile_sample(value: Any, name: str, max_sample_rows: int = _MAX_SAMPLE_ROWS) -> SampleProfile:
    """The profile of a whole sample, in bounded memory; the same at every run.

    `value` is a path, a FlyteFile, a FlyteDirectory or folder of parts, a StructuredDataset, or a data frame of
    pandas, pyarrow or polars. What fits in memory (some 100,000 rows) is told exactly, what does not in one pass, with
    estimates marked as such. `sample_rows` are at most `max_sample_rows` rows, chosen for variety: the first three,
    the last, and for every column one with a null, its least, its greatest, and one of every category; a table of up
    to ten rows whole.

    Raises:
        SampleError: the sample is missing, empty, or not what its name says; the message names sample, path, remedy.
    """
    return profile_with_rows(value, name, max_sample_rows).profile


def profile_with_rows(value: Any, name: str, max_sample_rows: int) -> Profiled:
    """As `profile_sample`, and some rows, which other samples' rows can be held against."""
    if is_frame(value):
        table, size_bytes = frame_table(value, name)
        kind = f"{type(value).__module__.partition('.')[0]} {type(value).__name__}"
        base = SampleProfile(name=name, file_name=kind, format="arrow", size_bytes=size_bytes or 0)
        return _with_summary(base, *_summed(table, max_sample_rows))
    with opened_files(value, name) as files:
        return _of_files(files, max_sample_rows)


def _of_files(files: Files, max_sample_rows: int) -> Profiled:
    parts = files.source.parts
    content = parts[0].content
    base = SampleProfile(
        name=files.source.name,
        file_name=files.path.name,
        format=content.format,
        size_bytes=files.size_bytes,
        compression=files.compression,
        part_count=len(parts),
        notes=files.notes,
    )
    if content.format == "binary":
        return Profiled(_of_binary(base, files))
    if content.format == "text":
        return Profiled(_of_text(base, files))
    return _of_table(base, files, max_sample_rows)


def _of_table(base: SampleProfile, files: Files, max_sample_rows: int) -> Profiled:
    # These import pyarrow, which most users of this module never need.
    from flyteplugins_codegen.data.json import NotRecordsError, check_document
    from flyteplugins_codegen.data.readers import fold_table

    try:
        summary, table = fold_table(files.source, lambda table: _summed(table, max_sample_rows))
    except NotRecordsError:
        check_document(files.source)
        return Profiled(_of_document(base, files))
    return _with_summary(base.model_copy(update={"text_excerpt": _first_lines(files)}), summary, table)


def _summed(table: Table, max_sample_rows: int) -> tuple[Summary, Table]:
    from flyteplugins_codegen.data.summary import summarise

    return summarise(table, max_sample_rows), table


def _with_summary(base: SampleProfile, summary: Summary, table: Table) -> Profiled:
    relations = summary.relations
    found = {
        "row_count": summary.row_count,
        "skipped_row_count": sum(table.skipped_rows),
        "columns": summary.columns,
        "candidate_keys": relations.candidate_keys,
        "mirrors": relations.mirrors,
        "duplicate_row_count": relations.duplicate_row_count,
        "approximate": summary.approximate,
        "sample_rows": summary.sample_rows,
        "notes": (*base.notes, *table.notes),
    }
    return Profiled(base.model_copy(update=found), summary.rows, summary.is_whole)


def _first_lines(files: Files) -> str | None:
    """How a table in text form is written: values are shown as they were read, which hides zeros, zones and quotes."""
    part = files.source.parts[0]
    if part.content.format not in {"csv", "jsonl"}:
        return None
    head = read_head(part.path, part.content.encoding, _EXCERPT_BYTES_OF_TABLE)
    return shorten_end("\n".join(head.splitlines()[:_EXCERPT_LINES_OF_TABLE]), _EXCERPT_CHARACTERS_OF_TABLE)


def _of_text(base: SampleProfile, files: Files) -> SampleProfile:

    texts = [summarise_text(part) for part in files.source.parts]
    notes = [*files.source.parts[0].content.notes, *texts[0].notes]
    return base.model_copy(
        update={
            "row_count": sum(text.line_count for text in texts),
            "text_excerpt": texts[0].excerpt,
            "line_shapes": texts[0].shapes,
            "approximate": ("line_shapes",) if texts[0].shapes else (),
            "notes": (*base.notes, *notes),
        }
    )


def _of_document(base: SampleProfile, files: Files) -> SampleProfile:
    part = files.source.parts[0]
    excerpt = shorten_end(read_head(part.path, part.content.encoding), _EXCERPT_CHARACTERS)
    notes = (*base.notes, *part.content.notes, "a JSON document, no list of records")
    return base.model_copy(update={"text_excerpt": excerpt, "notes": notes})


def _of_binary(base: SampleProfile, files: Files) -> SampleProfile:
    part = files.source.parts[0]
    with part.path.open("rb") as file:
        start = file.read(_EXCERPT_BYTES_OF_BINARY)
    note = f"its content is {part.content.kind}; its first bytes, in hexadecimal: {start.hex(' ')}"
    return base.model_copy(update={"notes": (*base.notes, note)})
