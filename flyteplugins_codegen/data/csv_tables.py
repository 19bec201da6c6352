"""Delimited text as record batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from flyteplugins_codegen.data.dialects import first_rows, sniff_delimiter
from flyteplugins_codegen.data.formats import HEAD_BYTES, Content, read_head
from flyteplugins_codegen.data.tables import Source, Table, unique_names

T = TypeVar("T")

# As many bytes decide the types at first, and are in memory at once.
_BLOCK_BYTES = 2 << 20
_MOST_HEADER_BYTES = 4 << 20
_MOST_RESTARTS = 16
_MOST_NAMES_IN_NOTE = 10
# What `pandas.read_csv` takes for a missing value, so that both count the same nulls.
# fmt: off
_NULLS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)
# fmt: on
_CONVERSION_FAULT = re.compile(r"In CSV column #(\d+): .*?conversion error to ([a-z0-9]+)")
_HEX_NUMBER = r"^\s*[+-]?0[xX]"
_ROW_FAULT = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_WIDER = {"null": pa.int64(), "int64": pa.float64(), "date32": pa.timestamp("ns")}
_REMEDY = "repair the file, or save it again as CSV"


class _TypeTooNarrowError(Exception):
    """A later row does not fit the type that a column's first rows have."""

    def __init__(self, column: int, kind: str) -> None:
        super().__init__(column, kind)
        self.column, self.kind = column, kind


@dataclass(frozen=True)
class _Layout:
    """How one file is laid out."""

    source: Source
    encoding: str
    delimiter: str
    names: tuple[str, ...]
    notes: tuple[str, ...]


def fold_csv(source: Source, content: Content, fold: Callable[[Table], T]) -> T:
    """What `fold` makes of the table.

    It is called again, with the table from its beginning, whenever a value far down shows that a column's type is
    wider than its first rows tell.

    Raises:
        SampleError: nothing but blank lines, most rows not as long as the header, or no CSV at all.
    """
    head = _head(source, content.encoding)
    delimiter = sniff_delimiter(head, source.path.suffix.lower())
    rows = first_rows(head, delimiter)
    if not head.strip("\ufeff \t\r\n"):
        raise source.error("holds nothing but blank lines", "pass a file that holds some data")
    if not rows:
        raise source.error("begins with no row of CSV that can be read", _REMEDY)
    notes = _notes_on(rows, delimiter)
    names = tuple(unique_names(rows[0], notes))
    if len(rows) == 1 and source.path.stat().st_size < HEAD_BYTES:
        schema = pa.schema([(name, pa.null()) for name in names])
        return fold(Table(schema, iter(()), [*notes, "a header and no rows"]))
    layout = _Layout(source, content.encoding.removesuffix("-sig"), delimiter, names, tuple(notes))
    return _fold_widening(layout, fold, _hex_columns(layout) if content.has_hex else {}, _MOST_RESTARTS)


def _head(source: Source, encoding: str) -> str:
    head = read_head(source.path, encoding)
    return head if "\n" in head else read_head(source.path, encoding, _MOST_HEADER_BYTES)


def _fold_widening(layout: _Layout, fold: Callable[[Table], T], types: dict[int, pa.DataType], restarts_left: int) -> T:
    try:
        return fold(_open_table(layout, types))
    except _TypeTooNarrowError as fault:
        types = {**types, fault.column: _WIDER.get(fault.kind, pa.string())}
    if not restarts_left:
        # So many columns change their minds that to read all as text is the only honest type.
        types = _all_text(layout)
    return _fold_widening(layout, fold, types, restarts_left - 1)


def _hex_columns(layout: _Layout) -> dict[int, pa.DataType]:
    """The columns with numbers such as `0x1F`, to be read as text, as pandas does."""
    found = set[int]()
    for batch in _open_reader(layout, _all_text(layout), _RaggedRows()):
        for position, column in enumerate(batch.columns):
            if position not in found and pc.any(pc.match_substring_regex(column, _HEX_NUMBER)).as_py():
                found.add(position)
    return dict.fromkeys(found, pa.string())


def _all_text(layout: _Layout) -> dict[int, pa.DataType]:
    return dict.fromkeys(range(len(layout.names)), pa.string())


def _open_table(layout: _Layout, types: dict[int, pa.DataType]) -> Table:
    """The table from its beginning; columns by position of the given types, the others as their first rows say."""
    notes = list(layout.notes)
    texts = [layout.names[position] for position, kind in sorted(types.items()) if kind == pa.string()]
    if texts:
        more = "" if len(texts) <= _MOST_NAMES_IN_NOTE else f" and {len(texts) - _MOST_NAMES_IN_NOTE} more"
        shown = ", ".join(map(repr, texts[:_MOST_NAMES_IN_NOTE]))
        notes.append(f"not numbers or dates throughout, so read as text: {shown}{more}")
    ragged, skipped = _RaggedRows(), list[int]()
    reader = _open_reader(layout, types, ragged)
    return Table(reader.schema, _batches(layout, reader, ragged, (notes, skipped)), notes, skipped)


def _open_reader(layout: _Layout, types: dict[int, pa.DataType], ragged: _RaggedRows | None) -> Any:
    """An Arrow reader; without `ragged` it stops at the first row of the wrong length and names it, and is slower."""
    try:
        return pa_csv.open_csv(
            layout.source.path,
            read_options=pa_csv.ReadOptions(
                block_size=_BLOCK_BYTES,
                encoding=layout.encoding,
                column_names=layout.names,
                skip_rows_after_names=1,
                use_threads=ragged is not None,
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=layout.delimiter, newlines_in_values=True, invalid_row_handler=ragged
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types={layout.names[position]: kind for position, kind in types.items()},
                null_values=_NULLS,
                strings_can_be_null=True,
                true_values=["True", "TRUE", "true"],
                false_values=["False", "FALSE", "false"],
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise _fault(layout.source, error) from error


def _batches(
    layout: _Layout, reader: Any, ragged: _RaggedRows, found: tuple[list[str], list[int]]
) -> Iterator[pa.RecordBatch]:
    row_count, (notes, skipped) = 0, found
    try:
        for batch in reader:
            row_count += batch.num_rows
            yield batch
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise _fault(layout.source, error) from error
    if ragged.count > row_count:
        raise layout.source.error(f"is no table: {_ragged_text(layout, ragged)}", _REMEDY)
    if ragged.count:
        notes.append(f"{_ragged_text(layout, ragged)}; left out here")
        skipped.append(ragged.count)


def _ragged_text(layout: _Layout, ragged: _RaggedRows) -> str:
    rows = "1 row has" if ragged.count == 1 else f"{ragged.count} rows have"
    return (
        f"{rows} not the header's {len(layout.names)} fields "
        f"(first: row {_first_ragged_row(layout)}, counting the header, with {ragged.actual})"
    )


def _first_ragged_row(layout: _Layout) -> str:
    """Its number. Arrow counts rows only where it reads in one thread, so the file is read again up to there."""
    try:
        for _ in _open_reader(layout, _all_text(layout), None):
            pass
    except (pa.ArrowInvalid, ValueError) as error:
        found = _ROW_FAULT.search(str(error))
        return found.group(1) if found else "unknown"
    return "unknown"


def _fault(source: Source, error: Exception) -> Exception:
    narrow = _CONVERSION_FAULT.search(str(error))
    if narrow:
        return _TypeTooNarrowError(int(narrow.group(1)), narrow.group(2))
    return source.error(f"cannot be read as CSV ({error})", _REMEDY)


class _RaggedRows:
    """Counts the rows that are not as long as the header, and lets Arrow go on."""

    def __init__(self) -> None:
        self.count, self.actual = 0, 0

    def __call__(self, row: Any) -> str:
        if not self.count:
            self.actual = row.actual_columns
        self.count += 1
        return "skip"


def _notes_on(rows: list[list[str]], delimiter: str) -> list[str]:
    notes = [] if delimiter == "," else [f"the delimiter is {delimiter!r}"]
    if len(rows) > 1 and all(_is_number(field) for field in rows[0]):
        notes.append("the first row looks like data, not like a header; it is taken for the header here")
    return notes


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
