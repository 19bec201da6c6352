"""Delimited text as record batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.csv as pa_csv

from flyteplugins_codegen.data.formats import HEAD_BYTES, NOT_UTF8, Dialect, first_rows, read_head, sniff_dialect
from flyteplugins_codegen.data.tables import Part, Source, Table, check_same_columns, unique_names
from flyteplugins_codegen.errors import SampleError

# How one delimited file is laid out: its encoding, its dialect and the names in its header.

REMEDY = "repair the file, or save it again as CSV"
_MOST_HEADER_BYTES = 4 << 20
# A fraction or an e-mail address; whole numbers and days name columns of pivot tables.
_NO_NAME = re.compile(r"\s*(?:[+-]?\d*\.\d+|[^\s@]+@[^\s@]+\.[A-Za-z]+)\s*")
_HEX_NUMBER = re.compile(r"\s*[+-]?0[xX]")


@dataclass(frozen=True)
class Layout:
    """How one file is laid out; `names` are those of its columns, made unique."""

    source: Source
    part: Part
    encoding: str
    dialect: Dialect
    names: tuple[str, ...]


def read_layout(source: Source, part: Part, notes: list[str]) -> Layout:
    """The layout of a file, told by its beginning; adds notes on what is unusual. Raises SampleError for no CSV."""
    head = _head(part)
    if not head.strip("\ufeff \t\r\n"):
        raise source.error("holds nothing but blank lines", "pass a file that holds some data", part)
    dialect = sniff_dialect(head, part.path.suffix.lower())
    rows = first_rows(head, dialect)
    if not rows:
        raise source.error("begins with no row of CSV that can be read", REMEDY, part)
    notes += part.content.notes
    notes += _notes_on(rows, dialect)
    return Layout(
        source, part, part.content.encoding.removesuffix("-sig"), dialect, tuple(unique_names(rows[0], notes))
    )


def is_header_only(layout: Layout) -> bool:
    """Whether no row follows the header."""
    path = layout.part.path
    return path.stat().st_size < HEAD_BYTES and len(first_rows(_head(layout.part), layout.dialect)) == 1


def _head(part: Part) -> str:
    head = read_head(part.path, part.content.encoding)
    return head if "\n" in head else read_head(part.path, part.content.encoding, _MOST_HEADER_BYTES)


def hex_columns(part: Part, dialect: Dialect) -> list[int]:
    """The columns that begin with numbers such as `0x1F`: Arrow takes these for numbers, pandas for text."""
    rows = first_rows(_head(part), dialect)[1:]
    return sorted({position for row in rows for position, field in enumerate(row) if _HEX_NUMBER.match(field)})


def _notes_on(rows: list[list[str]], dialect: Dialect) -> list[str]:
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


T = TypeVar("T")

# As many bytes decide the types at first, and are in memory at once.
_BLOCK_BYTES = 2 << 20
_MOST_RESTARTS = 16
_LINE_END = "\n"
_MOST_LINES_OF_A_TEXT = 50
_MOST_NAMES_IN_NOTE = 10
# What `pandas.read_csv` takes for a missing value, so that both count the same nulls.
# fmt: off
_NULLS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)
# fmt: on
_CONVERSION_FAULT = re.compile(r"In CSV column #(\d+): .*?conversion error to ([a-z0-9]+)")
_ROW_FAULT = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_WIDER = {"null": pa.int64(), "int64": pa.float64(), "date32": pa.timestamp("ns")}


class _TypeTooNarrowError(Exception):
    """A later row does not fit the type that a column's first rows have."""

    def __init__(self, column: int, kind: str) -> None:
        super().__init__(column, kind)
        self.column, self.kind = column, kind


class _NotUtf8Error(Exception):
    """A later row is not in UTF-8, though the first ones are."""


def fold_csv(source: Source, fold: Callable[[Table], T]) -> T:
    """What `fold` makes of the table, of all files of the sample together.

    It is called again, with the table from its beginning, whenever a value far down shows that a column's type is
    wider than its first rows tell, or that the encoding is another.

    Raises:
        SampleError: nothing but blank lines, most rows not as long as the header, or no CSV at all.
    """
    notes: list[str] = []
    layouts = [read_layout(source, part, notes) for part in source.parts]
    names = list(layouts[0].names)
    for layout in layouts[1:]:
        check_same_columns(source, layout.part, names, list(layout.names))
    notes = list(dict.fromkeys(notes))
    if len(layouts) == 1 and is_header_only(layouts[0]):
        schema = pa.schema([(name, pa.null()) for name in names])
        return fold(Table(schema, iter(()), [*notes, "a header and no rows"]))
    types = dict.fromkeys(hex_columns(layouts[0].part, layouts[0].dialect), pa.string())
    return _fold_widening(_Reading(tuple(layouts), tuple(notes), types), fold)


@dataclass(frozen=True)
class _Reading:
    """A way to read the files: the types that are known to be needed, by a column's position."""

    layouts: tuple[Layout, ...]
    notes: tuple[str, ...]
    types: dict[int, pa.DataType]
    restarts_left: int = _MOST_RESTARTS

    def widened(self, fault: _TypeTooNarrowError) -> _Reading:
        # So many columns may change their minds that to read all as text is the only honest type.
        names = self.layouts[0].names
        all_text = dict.fromkeys(range(len(names)), pa.string())
        types = {**self.types, fault.column: _WIDER.get(fault.kind, pa.string())} if self.restarts_left else all_text
        return replace(self, types=types, restarts_left=self.restarts_left - 1)

    def as_latin_1(self) -> _Reading:
        layouts = tuple(replace(layout, encoding="latin-1") for layout in self.layouts)
        return replace(self, layouts=layouts, notes=(*self.notes, NOT_UTF8))


def _fold_widening(reading: _Reading, fold: Callable[[Table], T]) -> T:
    try:
        return fold(_open_table(reading))
    except _TypeTooNarrowError as fault:
        reading = reading.widened(fault)
    except _NotUtf8Error:
        reading = reading.as_latin_1()
    return _fold_widening(reading, fold)


def _open_table(reading: _Reading) -> Table:
    """The table from its beginning; columns by position of the given types, the others as their first rows say."""
    notes = list(reading.notes)
    names = reading.layouts[0].names
    texts = [names[position] for position, kind in sorted(reading.types.items()) if kind == pa.string()]
    if texts:
        more = "" if len(texts) <= _MOST_NAMES_IN_NOTE else f" and {len(texts) - _MOST_NAMES_IN_NOTE} more"
        shown = ", ".join(map(repr, texts[:_MOST_NAMES_IN_NOTE]))
        notes.append(f"not numbers or dates throughout, so read as text: {shown}{more}")
    ragged, skipped = _RaggedRows(), list[int]()
    reader = _open_reader(reading.layouts[0], reading.types, ragged)
    if any(pa.types.is_binary(field.type) for field in reader.schema):
        raise _NotUtf8Error
    batches = _batches(reading, reader, ragged, (notes, skipped))
    return Table(reader.schema, batches, notes, skipped)


def _open_reader(layout: Layout, types: dict[int, pa.DataType], ragged: _RaggedRows | None) -> Any:
    """An Arrow reader; without `ragged` it stops at the first row of the wrong length and names it, and is slower."""
    dialect = layout.dialect
    try:
        return pa_csv.open_csv(
            layout.part.path,
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
        raise _fault(layout, error) from error


def _batches(
    reading: _Reading, reader: Any, ragged: _RaggedRows, found: tuple[list[str], list[int]]
) -> Iterator[pa.RecordBatch]:
    """The batches of the first file, whose reader is open, and of all others, which must be of the same types."""
    row_count, (notes, skipped) = 0, found
    types = {position: field.type for position, field in enumerate(reader.schema) if field.type != pa.null()}
    for layout in reading.layouts:
        opened = reader if layout is reading.layouts[0] else _open_reader(layout, types, ragged)
        try:
            batch = None
            for batch in opened:
                row_count += batch.num_rows
                yield _of_schema(batch, reader.schema)
            notes += _notes_on_end(batch)
        except (pa.ArrowInvalid, UnicodeError) as error:
            raise _fault(layout, error) from error
    layout = reading.layouts[0]
    if ragged.count > row_count:
        raise layout.source.error(f"is no table: {_ragged_text(layout, ragged)}", REMEDY)
    if ragged.count:
        notes.append(f"{_ragged_text(layout, ragged)}; left out here")
        skipped.append(ragged.count)


def _of_schema(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch, if its columns are of these types; a column that is empty in the first file may be none in another."""
    for position, field in enumerate(schema):
        if batch.schema.field(position).type != field.type:
            raise _TypeTooNarrowError(position, "null")
    return batch


def _notes_on_end(batch: pa.RecordBatch | None) -> list[str]:
    """A quote that is never closed makes one text of all lines that follow: the last one of the file."""
    last = [] if batch is None or not batch.num_rows else batch.slice(batch.num_rows - 1).to_pylist()
    return [
        f"the last text of column {name!r} holds {text.count(_LINE_END)} line ends: a quote before it is never closed"
        for row in last
        for name, text in row.items()
        if isinstance(text, str) and text.count(_LINE_END) > _MOST_LINES_OF_A_TEXT
    ]


def _ragged_text(layout: Layout, ragged: _RaggedRows) -> str:
    rows = "1 row has" if ragged.count == 1 else f"{ragged.count} rows have"
    return (
        f"{rows} not the header's {len(layout.names)} fields "
        f"(first: row {_first_ragged_row(layout)}, counting the header, with {ragged.actual})"
    )


def _first_ragged_row(layout: Layout) -> str:
    """Its number. Arrow counts rows only where it reads in one thread, so the file is read again up to there."""
    all_text = dict.fromkeys(range(len(layout.names)), pa.string())
    try:
        for _ in _open_reader(layout, all_text, None):
            pass
    except (pa.ArrowInvalid, ValueError, SampleError) as error:
        found = _ROW_FAULT.search(str(error))
        return found.group(1) if found else "unknown"
    return "unknown"


def _fault(layout: Layout, error: Exception) -> Exception:
    narrow = _CONVERSION_FAULT.search(str(error))
    if "invalid UTF8" in str(error) and layout.encoding != "latin-1":
        return _NotUtf8Error()
    if narrow:
        return _TypeTooNarrowError(int(narrow.group(1)), narrow.group(2))
    if "straddling object" in str(error):
        what = f"holds a row of more than {_BLOCK_BYTES >> 20} MiB, or a quote that is never closed"
        return layout.source.error(what, REMEDY, layout.part)
    return layout.source.error(f"cannot be read as CSV ({error})", REMEDY, layout.part)


class _RaggedRows:
    """Counts the rows that are not as long as the header, and lets Arrow go on."""

    def __init__(self) -> None:
        self.count, self.actual = 0, 0

    def __call__(self, row: Any) -> str:
        if not self.count:
            self.actual = row.actual_columns
        self.count += 1
        return "skip"
