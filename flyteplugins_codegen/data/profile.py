"""The profile of a sample: statistics of the whole sample, computed in bounded memory."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flyteplugins_codegen.data.formats import read_head
from flyteplugins_codegen.data.inputs import OpenedSample, frame_table, is_frame, open_sample
from flyteplugins_codegen.models.data import SampleProfile
from flyteplugins_codegen.text import shorten_end

if TYPE_CHECKING:
    # These import pyarrow, which `import flyteplugins_codegen.data` must not load.
    import pyarrow as pa

    from flyteplugins_codegen.data.summary import TableSummary
    from flyteplugins_codegen.data.tables import SampleFile, SampleTable

_MAX_SAMPLE_ROWS = 100
_TABLE_EXCERPT_BYTES = 4096
_TABLE_EXCERPT_LINES = 3
_TABLE_EXCERPT_CHARACTERS = 600
_TEXT_EXCERPT_CHARACTERS = 1500
_BINARY_EXCERPT_BYTES = 32
_CHUNK_BYTES = 1 << 20
_MOST_LINES = 5000
_LONG_LINE_CHARACTERS = 10_000
_TIME_STAMP = re.compile(
    r"\W{0,2}(\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\d\d/[A-Za-z]{3}/\d{4}:\d\d:\d\d:\d\d(?: [+-]\d{4})?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)"
)


@dataclass(frozen=True)
class ProfiledSample:
    """A profile and comparable rows of the sample: all of them if `is_whole`, None if it is not a table."""

    profile: SampleProfile
    rows: pa.RecordBatch | None = None
    is_whole: bool = False


def profile_sample(value: Any, name: str, max_sample_rows: int = _MAX_SAMPLE_ROWS) -> SampleProfile:
    """Profile a whole sample in bounded memory; the result is the same at every run.

    `value` is a path, a FlyteFile, a FlyteDirectory or folder of files, a StructuredDataset, or a data frame of pandas,
    pyarrow or polars. The statistics are exact if the sample fits in memory (about 100,000 rows); otherwise it is read
    in one pass, and estimates are marked as such. `sample_rows` are at most `max_sample_rows` rows, chosen for variety:
    the first three, the last, and for every column one with a null, one with its least value, one with its greatest
    and one for every category; all rows of a table of up to ten.

    Raises:
        SampleError: the sample is missing, empty, or does not match its extension; the message names sample, path and
            remedy.
    """
    return profile_with_rows(value, name, max_sample_rows).profile


def profile_with_rows(value: Any, name: str, max_sample_rows: int) -> ProfiledSample:
    """Profile a sample as `profile_sample` does, and return rows for comparison with other samples as well."""
    if is_frame(value):
        table, size_bytes = frame_table(value, name)
        kind = f"{type(value).__module__.partition('.')[0]} {type(value).__name__}"
        base = SampleProfile(name=name, file_name=kind, format="arrow", size_bytes=size_bytes or 0)
        return _with_summary(base, *_summarise_table(table, max_sample_rows))
    with open_sample(value, name) as sample:
        return _profile_files(sample, max_sample_rows)


def _profile_files(sample: OpenedSample, max_sample_rows: int) -> ProfiledSample:
    files = sample.source.files
    content = files[0].content
    base = SampleProfile(
        name=sample.source.name,
        file_name=sample.path.name,
        format=content.format,
        size_bytes=sample.size_bytes,
        compression=sample.compression,
        part_count=len(files),
        notes=sample.notes,
    )
    if content.format == "binary":
        return ProfiledSample(_profile_binary(base, sample))
    if content.format == "text":
        return ProfiledSample(_profile_text(base, sample))
    return _profile_table(base, sample, max_sample_rows)


def _profile_table(base: SampleProfile, sample: OpenedSample, max_sample_rows: int) -> ProfiledSample:
    from flyteplugins_codegen.data.json import NotRecordsError, check_document
    from flyteplugins_codegen.data.readers import read_table

    try:
        summary, table = read_table(sample.source, lambda table: _summarise_table(table, max_sample_rows))
    except NotRecordsError:
        check_document(sample.source)
        return ProfiledSample(_profile_document(base, sample))
    return _with_summary(base.model_copy(update={"text_excerpt": _first_lines(sample)}), summary, table)


def _summarise_table(table: SampleTable, max_sample_rows: int) -> tuple[TableSummary, SampleTable]:
    from flyteplugins_codegen.data.summary import summarise

    return summarise(table, max_sample_rows), table


def _with_summary(base: SampleProfile, summary: TableSummary, table: SampleTable) -> ProfiledSample:
    relations = summary.relations
    statistics = {
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
    return ProfiledSample(base.model_copy(update=statistics), summary.rows, summary.is_whole)


def _first_lines(sample: OpenedSample) -> str | None:
    """Return the first lines of a table in text form: the parsed values do not show zeros, zones and quotes."""
    file = sample.source.files[0]
    if file.content.format not in {"csv", "jsonl"}:
        return None
    head = read_head(file.path, file.content.encoding, _TABLE_EXCERPT_BYTES)
    return shorten_end("\n".join(head.splitlines()[:_TABLE_EXCERPT_LINES]), _TABLE_EXCERPT_CHARACTERS)


def _profile_document(base: SampleProfile, sample: OpenedSample) -> SampleProfile:
    file = sample.source.files[0]
    excerpt = shorten_end(read_head(file.path, file.content.encoding), _TEXT_EXCERPT_CHARACTERS)
    notes = (*base.notes, *file.content.notes, "a JSON document, no list of records")
    return base.model_copy(update={"text_excerpt": excerpt, "notes": notes})


def _profile_binary(base: SampleProfile, sample: OpenedSample) -> SampleProfile:
    file = sample.source.files[0]
    with file.path.open("rb") as opened:
        start = opened.read(_BINARY_EXCERPT_BYTES)
    note = f"its content is {file.content.kind}; its first bytes, in hexadecimal: {start.hex(' ')}"
    return base.model_copy(update={"notes": (*base.notes, note)})


# --- text and logs ---


def _profile_text(base: SampleProfile, sample: OpenedSample) -> SampleProfile:
    texts = [_summarise_text(file) for file in sample.source.files]
    first = texts[0]
    return base.model_copy(
        update={
            "row_count": sum(text.line_count for text in texts),
            "text_excerpt": first.excerpt,
            "line_shapes": first.shapes,
            "approximate": ("line_shapes",) if first.shapes else (),
            "notes": (*base.notes, *sample.source.files[0].content.notes, *first.notes),
        }
    )


@dataclass(frozen=True)
class _TextSummary:
    """The statistics of a text. `shapes` are those of its first lines, with counts among these."""

    line_count: int
    excerpt: str
    shapes: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]


@dataclass
class _LineScan:
    """What has been read of a text."""

    newline_count: int = 0
    longest: int = 0
    last_characters: str = ""
    lines: list[str] = field(default_factory=list)

    @property
    def line_count(self) -> int:
        return self.newline_count + bool(self.last_characters)


def _summarise_text(file: SampleFile) -> _TextSummary:
    from flyteplugins_codegen.data.arrow import arrow_texts
    from flyteplugins_codegen.data.columns import count_shapes

    scan = _scan_lines(file)
    excerpt = shorten_end(read_head(file.path, file.content.encoding).lstrip("\ufeff"), _TEXT_EXCERPT_CHARACTERS)
    lines = [line for line in scan.lines if line.strip()]
    shapes = count_shapes(arrow_texts(lines)) if lines else ()
    return _TextSummary(scan.line_count, excerpt, shapes, tuple(_text_notes(scan, lines)))


def _scan_lines(file: SampleFile) -> _LineScan:
    """Read the text in chunks, because its lines may be of any length."""
    scan = _LineScan()
    for text in _decoded_chunks(file):
        pieces = (scan.last_characters + text).split("\n")
        scan.newline_count += len(pieces) - 1
        # Of an incomplete line only the beginning is kept.
        scan.longest = max(scan.longest, *(len(piece) for piece in pieces))
        scan.last_characters = pieces[-1][:_LONG_LINE_CHARACTERS]
        most_lines = max(1, _MOST_LINES - len(scan.lines))
        scan.lines += [piece[:_LONG_LINE_CHARACTERS] for piece in pieces[:-1][:most_lines]]
    if scan.last_characters:
        scan.lines.append(scan.last_characters)
    return scan


def _decoded_chunks(file: SampleFile) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(file.content.encoding)(errors="replace")
    with file.path.open("rb") as opened:
        while chunk := opened.read(_CHUNK_BYTES):
            yield decoder.decode(chunk)


def _text_notes(scan: _LineScan, lines: list[str]) -> Iterator[str]:
    stamps = [match[1] for line in lines if (match := _TIME_STAMP.match(line))]
    if len(stamps) * 2 > len(lines):
        yield f"{len(stamps)} of {len(lines)} lines looked at begin with a time stamp, from {stamps[0]} to {stamps[-1]}"
    if scan.longest >= _LONG_LINE_CHARACTERS:
        yield f"its longest line has at least {scan.longest} characters"
