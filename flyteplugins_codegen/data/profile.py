"""What a sample looks like, told of the whole file, which streams by once or twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flyteplugins_codegen.data.formats import Content, identify, read_head
from flyteplugins_codegen.data.texts import shorten
from flyteplugins_codegen.models.profile import SampleProfile

if TYPE_CHECKING:
    from flyteplugins_codegen.data.columns import ColumnStatistics, Highlight
    from flyteplugins_codegen.data.tables import Table

# Values are counted exactly as long as all columns together keep no more than this.
_MOST_TRACKED_BYTES = 16 << 20
_FEWEST_TRACKED_BYTES = 1 << 14
_MOST_CELLS = 4000
_MOST_HIGHLIGHTED_COLUMNS = 32
_EXCERPT_CHARACTERS = 1500
_EXCERPT_BYTES_OF_TABLE = 4096
_EXCERPT_LINES_OF_TABLE = 3
_EXCERPT_CHARACTERS_OF_TABLE = 600
_EXCERPT_BYTES_OF_BINARY = 32


def profile_sample(name: str, path: Path, max_sample_rows: int = 100) -> SampleProfile:
    """The profile of the whole file, in bounded memory; the same at every run.

    `sample_rows` are at most `max_sample_rows` rows, chosen for variety: the first three, the last, and for every
    column one with a null, its least, its greatest, and one of every category; a table of up to ten rows whole.

    Raises:
        SampleError: the file is missing, empty, or not what its name says; the message names sample, path and remedy.
    """
    content = identify(name, path)
    base = SampleProfile(
        name=name, file_name=path.name, format=content.format, size_bytes=path.stat().st_size, notes=content.notes
    )
    if content.format == "binary":
        return _of_binary(base, path, content)
    if content.format == "text":
        return _of_text(base, path, content)
    return _of_table(base, path, content, max_sample_rows)


def _of_table(base: SampleProfile, path: Path, content: Content, max_sample_rows: int) -> SampleProfile:
    # These import pyarrow, which most users of this module never need.
    from flyteplugins_codegen.data.json_tables import NotRecordsError, check_document
    from flyteplugins_codegen.data.readers import fold_table
    from flyteplugins_codegen.data.tables import Source

    source = Source(base.name, path)
    try:
        found = fold_table(source, content, lambda table: _summary(table, max_sample_rows))
    except NotRecordsError:
        check_document(source, content)
        return _of_text(base, path, content, "a JSON document, no list of records")
    notes = (*base.notes, *found["notes"])
    return base.model_copy(update={**found, "notes": notes, "text_excerpt": _first_lines(path, content)})


def _first_lines(path: Path, content: Content) -> str | None:
    """How a table in text form is written: values are shown as they were read, which hides zeros, zones and quotes."""
    if content.format not in {"csv", "jsonl"}:
        return None
    lines = read_head(path, content.encoding, _EXCERPT_BYTES_OF_TABLE).splitlines()[:_EXCERPT_LINES_OF_TABLE]
    return shorten("\n".join(lines), _EXCERPT_CHARACTERS_OF_TABLE)


def _summary(table: Table, max_sample_rows: int) -> dict[str, Any]:
    from flyteplugins_codegen.data.columns import ColumnStatistics
    from flyteplugins_codegen.data.rows import RowPicker
    from flyteplugins_codegen.data.values import comparable_batch

    width = max(1, len(table.schema))
    tracked_bytes = max(_FEWEST_TRACKED_BYTES, _MOST_TRACKED_BYTES // width)
    statistics = [ColumnStatistics(field, tracked_bytes) for field in table.schema]
    picker = RowPicker(table.schema.names, min(max_sample_rows, max(1, _MOST_CELLS // width)))
    row_count = 0
    for batch in map(comparable_batch, table.batches):
        picker.add(batch, _highlights(statistics, batch))
        row_count += batch.num_rows
    return {
        "row_count": row_count,
        "skipped_row_count": sum(table.skipped_rows),
        "columns": {field.name: column.profile() for field, column in zip(table.schema, statistics, strict=True)},
        "sample_rows": picker.rows(),
        "notes": tuple(table.notes),
    }


def _highlights(statistics: list[ColumnStatistics], batch: Any) -> Iterator[tuple[int, Highlight]]:
    """Every column takes in the batch; what the first columns, of very many, show in it."""
    for position, column in enumerate(statistics):
        for highlight in column.add(batch.column(position)):
            if position < _MOST_HIGHLIGHTED_COLUMNS:
                yield position, highlight


def _of_text(base: SampleProfile, path: Path, content: Content, note: str | None = None) -> SampleProfile:
    excerpt = shorten(read_head(path, content.encoding), _EXCERPT_CHARACTERS)
    lines = None
    if note is None:
        with path.open(encoding=content.encoding, errors="replace") as file:
            lines = sum(1 for _ in file)
    notes = (*base.notes, note) if note else base.notes
    return base.model_copy(update={"row_count": lines, "text_excerpt": excerpt, "notes": notes})


def _of_binary(base: SampleProfile, path: Path, content: Content) -> SampleProfile:
    with path.open("rb") as file:
        start = file.read(_EXCERPT_BYTES_OF_BINARY)
    note = f"its content is {content.kind}; its first bytes, in hexadecimal: {start.hex(' ')}"
    return base.model_copy(update={"notes": (*base.notes, note)})
