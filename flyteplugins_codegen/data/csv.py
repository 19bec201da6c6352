"""Reads delimited text as record batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.csv as pa_csv

from flyteplugins_codegen.data.formats import HEAD_BYTES, NOT_UTF8, CsvDialect, first_rows, read_head, sniff_dialect
from flyteplugins_codegen.data.tables import SampleFile, SampleSource, SampleTable, check_same_columns, unique_names
from flyteplugins_codegen.errors import SampleError

T = TypeVar("T")

_REMEDY = "repair the file, or save it again as CSV"
_MOST_HEADER_BYTES = 4 << 20
# Arrow infers the types from the first block, and one block at a time is in memory.
_BLOCK_BYTES = 2 << 20
_MOST_RESTARTS = 16
_LINE_END = "\n"
_MOST_LINES_OF_A_TEXT = 50
_MOST_NAMES_IN_NOTE = 10
# Fractions and e-mail addresses are not column names; whole numbers and days name columns of pivot tables.
_NO_NAME = re.compile(r"\s*(?:[+-]?\d*\.\d+|[^\s@]+@[^\s@]+\.[A-Za-z]+)\s*")
_HEX_NUMBER = re.compile(r"\s*[+-]?0[xX]")
# The values that `pandas.read_csv` reads as missing, so that both count the same nulls.
# fmt: off
_NULLS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)
# fmt: on
_CONVERSION_ERROR = re.compile(r"In CSV column #(\d+): .*?conversion error to ([a-z0-9]+)")
_ROW_ERROR = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_WIDER = {"null": pa.int64(), "int64": pa.float64(), "date32": pa.timestamp("ns")}


class _TypeTooNarrowError(Exception):
    """A later row does not fit the type that was inferred from a column's first rows."""

    def __init__(self, column: int, kind: str) -> None:
        super().__init__(column, kind)
        self.column, self.kind = column, kind


class _NotUtf8Error(Exception):
    """A later row is not in UTF-8, though the first ones are."""


def read_csv(source: SampleSource, consume: Callable[[SampleTable], T]) -> T:
    """Return `consume(table)` for the table of all files of the sample.

    `consume` is called again, with the table from its beginning, if a later value needs a wider type than the first
    rows of its column, or if the encoding turns out to be another.

    Raises:
        SampleError: the file holds only blank lines, most rows are not as long as the header, or it is not CSV.
    """
    notes: list[str] = []
    layouts = [_read_layout(source, file, notes) for file in source.files]
    names = list(layouts[0].names)
    for layout in layouts[1:]:
        check_same_columns(source, layout.file, names, list(layout.names))
    notes = list(dict.fromkeys(notes))
    if len(layouts) == 1 and _is_header_only(layouts[0]):
        schema = pa.schema([(name, pa.null()) for name in names])
        return consume(SampleTable(schema, iter(()), [*notes, "a header and no rows"]))
    types = dict.fromkeys(_hex_columns(layouts[0]), pa.string())
    return _consume_widening(_ReadPlan(tuple(layouts), tuple(notes), types), consume)


# --- the layout of one file ---


@dataclass(frozen=True)
class _Layout:
    """The encoding, dialect and column names of one file; `names` are unique."""

    source: SampleSource
    file: SampleFile
    encoding: str
    dialect: CsvDialect
    names: tuple[str, ...]


def _read_layout(source: SampleSource, file: SampleFile, notes: list[str]) -> _Layout:
    """Return the layout of a file from its first lines; add notes on what is unusual.

    Raises:
        SampleError: the file is not CSV.
    """
    head = _read_header(file)
    if not head.strip("\ufeff \t\r\n"):
        raise source.error("holds nothing but blank lines", "pass a file that holds some data", file)
    dialect = sniff_dialect(head, file.path.suffix.lower())
    rows = first_rows(head, dialect)
    if not rows:
        raise source.error("begins with no row of CSV that can be read", _REMEDY, file)
    notes += file.content.notes
    notes += _layout_notes(rows, dialect)
    names = tuple(unique_names(rows[0], notes))
    return _Layout(source, file, file.content.encoding.removesuffix("-sig"), dialect, names)


def _is_header_only(layout: _Layout) -> bool:
    size_bytes = layout.file.path.stat().st_size
    return size_bytes < HEAD_BYTES and len(first_rows(_read_header(layout.file), layout.dialect)) == 1


def _read_header(file: SampleFile) -> str:
    head = read_head(file.path, file.content.encoding)
    return head if "\n" in head else read_head(file.path, file.content.encoding, _MOST_HEADER_BYTES)


def _hex_columns(layout: _Layout) -> list[int]:
    """Return the columns that begin with numbers such as `0x1F`: Arrow reads them as numbers, pandas as text."""
    rows = first_rows(_read_header(layout.file), layout.dialect)[1:]
    return sorted({position for row in rows for position, field in enumerate(row) if _HEX_NUMBER.match(field)})


def _layout_notes(rows: list[list[str]], dialect: CsvDialect) -> list[str]:
    notes = [] if dialect.delimiter == "," else [f"the delimiter is {dialect.delimiter!r}"]
    if dialect.quote != '"':
        notes.append(f"texts are quoted by {dialect.quote!r}")
    if dialect.escape:
        notes.append(f"quotes within texts are written after {dialect.escape!r}")
    if dialect.comment_lines:
        notes.append(f"the header comes after {dialect.comment_lines} lines of comment")
    if len(rows) > 1 and (all(_is_number(field) for field in rows[0]) or any(map(_NO_NAME.fullmatch, rows[0]))):
        notes.append("the first row looks like data, not like a header; it is taken for the header here")
    return notes


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# --- reading all files ---


@dataclass(frozen=True)
class _ReadPlan:
    """How to read the files: their layouts, and the types that are known to be needed, by column position."""

    layouts: tuple[_Layout, ...]
    notes: tuple[str, ...]
    types: dict[int, pa.DataType]
    restarts_left: int = _MOST_RESTARTS

    def widened(self, error: _TypeTooNarrowError) -> _ReadPlan:
        # After that many restarts every column is read as text.
        names = self.layouts[0].names
        all_text = dict.fromkeys(range(len(names)), pa.string())
        types = {**self.types, error.column: _WIDER.get(error.kind, pa.string())} if self.restarts_left else all_text
        return replace(self, types=types, restarts_left=self.restarts_left - 1)

    def as_latin_1(self) -> _ReadPlan:
        layouts = tuple(replace(layout, encoding="latin-1") for layout in self.layouts)
        return replace(self, layouts=layouts, notes=(*self.notes, NOT_UTF8))


def _consume_widening(plan: _ReadPlan, consume: Callable[[SampleTable], T]) -> T:
    try:
        return consume(_open_table(plan))
    except _TypeTooNarrowError as error:
        plan = plan.widened(error)
    except _NotUtf8Error:
        plan = plan.as_latin_1()
    return _consume_widening(plan, consume)


def _open_table(plan: _ReadPlan) -> SampleTable:
    """Return the table from its beginning; the types of columns without a planned type come from their first rows."""
    notes = list(plan.notes)
    names = plan.layouts[0].names
    texts = [names[position] for position, kind in sorted(plan.types.items()) if kind == pa.string()]
    if texts:
        more = "" if len(texts) <= _MOST_NAMES_IN_NOTE else f" and {len(texts) - _MOST_NAMES_IN_NOTE} more"
        listed = ", ".join(map(repr, texts[:_MOST_NAMES_IN_NOTE]))
        notes.append(f"not numbers or dates throughout, so read as text: {listed}{more}")
    ragged, skipped = _RaggedRows(), list[int]()
    reader = _open_reader(plan.layouts[0], plan.types, ragged)
    if any(pa.types.is_binary(field.type) for field in reader.schema):
        raise _NotUtf8Error
    return SampleTable(reader.schema, _read_batches(plan, reader, ragged, (notes, skipped)), notes, skipped)


def _open_reader(layout: _Layout, types: dict[int, pa.DataType], ragged: _RaggedRows | None) -> Any:
    """Open an Arrow reader; without `ragged` it is slower, and fails at the first row of the wrong length."""
    dialect = layout.dialect
    try:
        return pa_csv.open_csv(
            layout.file.path,
            read_options=pa_csv.ReadOptions(
                block_size=_BLOCK_BYTES,
                encoding=layout.encoding,
                column_names=layout.names,
                skip_rows_after_names=1,
                skip_rows=dialect.comment_lines,
                use_threads=ragged is not None,
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char=dialect.quote,
                escape_char=dialect.escape or False,
                newlines_in_values=True,
                invalid_row_handler=ragged,
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types={layout.names[position]: kind for position, kind in types.items()},
                null_values=_NULLS,
                strings_can_be_null=True,
                true_values=["True", "TRUE", "true"],
                false_values=["False", "FALSE", "false"],
            ),
        )
    except (pa.ArrowInvalid, UnicodeError) as error:
        raise _translate_error(layout, error) from error


def _read_batches(
    plan: _ReadPlan, first_reader: Any, ragged: _RaggedRows, outputs: tuple[list[str], list[int]]
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of all files in the types of the first; fill `outputs`, the notes and the skipped rows."""
    row_count, (notes, skipped) = 0, outputs
    types = {position: field.type for position, field in enumerate(first_reader.schema) if field.type != pa.null()}
    for layout in plan.layouts:
        reader = first_reader if layout is plan.layouts[0] else _open_reader(layout, types, ragged)
        try:
            batch = None
            for batch in reader:
                row_count += batch.num_rows
                yield _checked_types(batch, first_reader.schema)
            notes += _unclosed_quote_notes(batch)
        except (pa.ArrowInvalid, UnicodeError) as error:
            raise _translate_error(layout, error) from error
    layout = plan.layouts[0]
    if ragged.count > row_count:
        raise layout.source.error(f"is no table: {_ragged_text(layout, ragged)}", _REMEDY)
    if ragged.count:
        notes.append(f"{_ragged_text(layout, ragged)}; left out here")
        skipped.append(ragged.count)


def _checked_types(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch if its types are those of the schema; a column may be empty in the first file only."""
    for position, field in enumerate(schema):
        if batch.schema.field(position).type != field.type:
            raise _TypeTooNarrowError(position, "null")
    return batch


def _unclosed_quote_notes(batch: pa.RecordBatch | None) -> list[str]:
    """Return notes on the last row: a quote that is never closed makes one text of all lines that follow."""
    last = [] if batch is None or not batch.num_rows else batch.slice(batch.num_rows - 1).to_pylist()
    return [
        f"the last text of column {name!r} holds {text.count(_LINE_END)} line ends: a quote before it is never closed"
        for row in last
        for name, text in row.items()
        if isinstance(text, str) and text.count(_LINE_END) > _MOST_LINES_OF_A_TEXT
    ]


class _RaggedRows:
    """Counts the rows that are not as long as the header, and tells Arrow to skip them."""

    def __init__(self) -> None:
        self.count, self.actual = 0, 0

    def __call__(self, row: Any) -> str:
        if not self.count:
            self.actual = row.actual_columns
        self.count += 1
        return "skip"


def _ragged_text(layout: _Layout, ragged: _RaggedRows) -> str:
    rows = "1 row has" if ragged.count == 1 else f"{ragged.count} rows have"
    return (
        f"{rows} not the header's {len(layout.names)} fields "
        f"(first: row {_first_ragged_row(layout)}, counting the header, with {ragged.actual})"
    )


def _first_ragged_row(layout: _Layout) -> str:
    """Return its number. Arrow counts rows only when it reads in one thread, so this reads the file again."""
    all_text = dict.fromkeys(range(len(layout.names)), pa.string())
    try:
        for _ in _open_reader(layout, all_text, None):
            pass
    except (pa.ArrowInvalid, ValueError, SampleError) as error:
        match = _ROW_ERROR.search(str(error))
        return match.group(1) if match else "unknown"
    return "unknown"


def _translate_error(layout: _Layout, error: Exception) -> Exception:
    """Return the error to raise instead of Arrow's: one that starts the reading again, or a SampleError."""
    too_narrow = _CONVERSION_ERROR.search(str(error))
    if "invalid UTF8" in str(error) and layout.encoding != "latin-1":
        return _NotUtf8Error()
    if too_narrow:
        return _TypeTooNarrowError(int(too_narrow.group(1)), too_narrow.group(2))
    if "straddling object" in str(error):
        problem = f"holds a row of more than {_BLOCK_BYTES >> 20} MiB, or a quote that is never closed"
        return layout.source.error(problem, _REMEDY, layout.file)
    return layout.source.error(f"cannot be read as CSV ({error})", _REMEDY, layout.file)
