"""Samples as rows that can be taken out, put back and written in the format of the file.

A row is a tuple of cells that stand as in the file, so that a cell which nobody changes is written as it was read: text
with its quotes for CSV, JSON text (None where the record lacks the name) for JSON, Arrow scalars for Parquet.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias, overload

from flyteplugins_codegen.data.formats import Content, CsvDialect, identify, read_head, sniff_dialect
from flyteplugins_codegen.errors import SampleError
from flyteplugins_codegen.portable.validator import NULLS

Row: TypeAlias = tuple[Any, ...]

_MOST_BYTES = 50 << 20
_LINE_ENDS = ("\r\n", "\n", "\r")
_NUMBER_OR_DATE = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|\d{4}-\d\d(?:-\d\d.*)?")
_MOST_CHECKED_ROWS = 1000
_JSON_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class SampleTable(ABC):
    """A table that was read from a file: the names of its columns and its rows in the order of the file."""

    def __init__(self, columns: tuple[str, ...], rows: Sequence[Row]) -> None:
        self.columns = columns
        self.rows = rows

    @abstractmethod
    def write(self, path: Path, rows: Iterable[Row], columns: Sequence[str] | None = None) -> None:
        """Write rows of this table, or copies with other cells, to a file in the table's format.

        `columns` are the columns to write, in their new order; by default all of them.
        """

    @abstractmethod
    def cell_value(self, cell: Any) -> Any:
        """Return what a cell holds: a text for CSV, a plain Python value otherwise; None for a null of any spelling."""

    @abstractmethod
    def replace_cell(self, cell: Any, value: str | float) -> Any:
        """Return a cell that holds another value, spelled as this cell is: with the same type, or the same quotes."""

    @abstractmethod
    def null_cell(self, cell: Any, other: Any) -> Any:
        """Return a null in place of a cell; `other` is a null of any column, None where the table has none."""

    def _positions(self, columns: Sequence[str] | None) -> list[int]:
        return [self.columns.index(name) for name in (self.columns if columns is None else columns)]


def read_table(path: Path) -> SampleTable | None:
    """Return the table in a file of CSV, JSON records, JSON Lines or Parquet.

    None for any other file, and wherever a row could not be taken out for certain: a file of more than 50 MB, lines
    before the header, no header, repeated names, rows of another length than the header's.
    """
    try:
        content = identify(path.name, path)
        reader = _READERS.get(content.format)
        return None if reader is None or path.stat().st_size > _MOST_BYTES else reader(path, content)
    except (
        SampleError,
        OSError,
        ValueError,
        RecursionError,
        csv.Error,
    ):  # UnicodeError and ArrowInvalid are ValueError
        return None


class _SplitRows(Sequence[Row]):
    """Rows that are split when they are asked for, because the cells of a file take ten times its size in memory."""

    def __init__(self, records: Sequence[str], split: Callable[[str], Row]) -> None:
        self._records, self._split = records, split

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self._split(record) for record in self._records[index]]
        return self._split(self._records[index])


# --- CSV ---


@dataclass(frozen=True)
class _CsvLayout:
    """How a delimited file is written. `header` are the names as they stand in it."""

    dialect: CsvDialect
    encoding: str
    line_end: str
    has_last_line_end: bool
    header: Row = ()

    def split(self, record: str) -> Row:
        """Split one record into cells with their quotes. Raises ValueError for a quote in the midst of a cell."""
        delimiter, quote, escape = self.dialect.delimiter, self.dialect.quote, self.dialect.escape
        if quote not in record:
            return tuple(record.split(delimiter))
        inner = (
            rf"[^{quote}]|{quote}{quote}" if escape is None else rf"[^{quote}{re.escape(escape)}]|{re.escape(escape)}."
        )
        bare = f"[^{quote}{re.escape(delimiter)}][^{re.escape(delimiter)}]*"
        cell = re.compile(f"({quote}(?:{inner})*{quote}|{bare}|)", re.DOTALL)
        cells, position = [], 0
        while True:
            match = cell.match(record, position)
            position = match.end() if match else position
            if match is None or record[position : position + 1] not in ("", delimiter):
                raise ValueError("a quote that neither begins nor ends a cell")
            cells.append(match[1])
            if position == len(record):
                return tuple(cells)
            position += 1

    def unquoted(self, cell: str) -> str:
        """Return the text of a cell."""
        quote, escape = self.dialect.quote, self.dialect.escape
        if not (len(cell) > 1 and cell.startswith(quote)):
            return cell
        return cell[1:-1].replace(quote * 2 if escape is None else escape + quote, quote)


class _CsvTable(SampleTable):
    def __init__(self, columns: tuple[str, ...], rows: Sequence[Row], layout: _CsvLayout) -> None:
        super().__init__(columns, rows)
        self._layout = layout

    def write(self, path: Path, rows: Iterable[Row], columns: Sequence[str] | None = None) -> None:
        positions, layout = self._positions(columns), self._layout
        records = ([row[position] for position in positions] for row in (layout.header, *rows))
        text = layout.line_end.join(layout.dialect.delimiter.join(record) for record in records)
        path.write_bytes((text + layout.line_end * layout.has_last_line_end).encode(layout.encoding))

    def cell_value(self, cell: str) -> str | None:
        text = self._layout.unquoted(cell)
        return None if text.strip() in NULLS else text

    def null_cell(self, cell: str, other: str | None) -> str:  # noqa: ARG002 - of one type with the other tables
        return other or ""

    def replace_cell(self, cell: str, value: str | float) -> str:
        quote = self._layout.dialect.quote if cell.startswith(self._layout.dialect.quote) else ""
        return f"{quote}{value}{quote}"


def _read_csv(path: Path, content: Content) -> SampleTable | None:
    data = path.read_bytes()
    text = data.decode(content.encoding)
    dialect = sniff_dialect(read_head(path, content.encoding), path.suffix.lower())
    end = next((end for end in _LINE_ENDS if end in text), "\n")
    layout = _CsvLayout(dialect, _encoding_with_mark(data, content.encoding), end, text.endswith(end))
    parsed = _csv_records(text, dialect, end)
    if dialect.comment_lines or parsed is None:
        return None
    records, fields = parsed
    split = [layout.split(record) for record in records if dialect.quote in record]
    names = tuple(fields[0])
    if any(len(cells) != len(names) for cells in split) or not _is_header(names, fields[1:]):
        return None
    layout = _CsvLayout(dialect, layout.encoding, end, layout.has_last_line_end, layout.split(records[0]))
    return _CsvTable(names, _SplitRows(records[1:], layout.split), layout)


def _encoding_with_mark(data: bytes, encoding: str) -> str:
    """Return the encoding with which text is written as the file was: with the same byte order mark, if any."""
    if encoding == "utf-16" and data.startswith(codecs.BOM_UTF16_BE):
        raise ValueError("UTF-16 of a byte order that Python does not write")
    return encoding


def _csv_records(text: str, dialect: CsvDialect, end: str) -> tuple[list[str], list[list[str]]] | None:
    """Return the records as they stand in the text, without their line ends, and the fields of the first of them.

    None if not every record has as many fields as the first one, or lines end in several ways.
    """
    lines = list(io.StringIO(text, newline=""))
    reader = csv.reader(
        lines,
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        escapechar=dialect.escape,
        doublequote=dialect.escape is None,
        strict=True,
    )
    records: list[str] = []
    fields: list[list[str]] = []
    start = 0
    for row in reader:
        record = "".join(lines[start : reader.line_num])
        start = reader.line_num
        is_ragged = len(row) != len(fields[0] if fields else row)
        if is_ragged or not record.strip() or not _is_ended(record, end, is_last=start == len(lines)):
            return None
        records.append(record.removesuffix(end))
        if len(fields) < _MOST_CHECKED_ROWS:
            fields.append(row)
    return (records, fields) if len(records) > 1 else None


def _is_ended(record: str, end: str, *, is_last: bool) -> bool:
    """Whether a record ends as the others do; the last one of a file may have no line end."""
    if record.endswith("\r\n") and end != "\r\n":
        return False
    return record.endswith(end) or (is_last and not record.endswith(_LINE_ENDS))


def _is_header(names: tuple[str, ...], rows: list[list[str]]) -> bool:
    """Return whether the first row can only be the header.

    Its names differ; no column holds its own name as a value; numbers and dates among the names, as in a pivot table,
    ascend. Only the first column, an index, may have no name.
    """
    spelled = [name.strip() for name in names]
    if len(set(spelled)) != len(spelled) or not all(spelled[1:]) or all(map(_NUMBER_OR_DATE.fullmatch, spelled)):
        return False
    if any(row[position] == name for position, name in enumerate(names) for row in rows):
        return False
    figures = [name for name in spelled if _NUMBER_OR_DATE.fullmatch(name)]
    ascend = all((len(one), one) < (len(other), other) for one, other in pairwise(figures))
    is_pivot = len(figures) > 1 and ascend and not any("." in name for name in figures)
    if len(spelled) == 1:
        return all(_NUMBER_OR_DATE.fullmatch(row[0].strip()) or row[0].strip() in NULLS for row in rows)
    return not figures or is_pivot


# --- JSON ---


class _JsonTable(SampleTable):
    def __init__(self, columns: tuple[str, ...], records: Sequence[str], encoding: str, *, is_lines: bool) -> None:
        super().__init__(columns, _SplitRows(records, self._split))
        self._encoding, self._is_lines = encoding, is_lines

    def _split(self, record: str) -> Row:
        members = dict(_members(record))
        return tuple(members.get(name) for name in self.columns)

    def write(self, path: Path, rows: Iterable[Row], columns: Sequence[str] | None = None) -> None:
        positions = self._positions(columns)
        names = [json.dumps(self.columns[position], ensure_ascii=False) for position in positions]
        records = [
            "{"
            + ", ".join(f"{name}: {row[at]}" for name, at in zip(names, positions, strict=True) if row[at] is not None)
            + "}"
            for row in rows
        ]
        text = "".join(f"{record}\n" for record in records) if self._is_lines else "[" + ",\n ".join(records) + "]\n"
        path.write_bytes(text.encode(self._encoding))

    def cell_value(self, cell: str | None) -> Any:
        value = None if cell is None else json.loads(cell)
        return None if value != value else value  # noqa: PLR0124 - NaN is a null

    def null_cell(self, cell: str | None, other: str | None) -> str | None:  # noqa: ARG002 - the same
        return other or "null"

    def replace_cell(self, cell: str | None, value: str | float) -> str:
        is_text = cell is not None and cell.startswith('"')
        return json.dumps(str(value), ensure_ascii=False) if is_text else str(value)


def _read_json(path: Path, content: Content) -> SampleTable | None:
    text = path.read_bytes().decode(content.encoding)
    is_lines = content.format == "jsonl"
    records = list(_json_lines(text) if is_lines else _json_elements(text))
    columns: dict[str, None] = {}
    for record in records:
        value = _DECODER.decode(record)
        if not isinstance(value, dict):
            return None
        columns.update(dict.fromkeys(value))
    return _JsonTable(tuple(columns), records, content.encoding, is_lines=is_lines) if records and columns else None


def _json_lines(text: str) -> Iterator[str]:
    return (line.strip() for line in text.split("\n") if line.strip())


def _json_elements(text: str) -> Iterator[str]:
    """Yield the texts of the elements of an array. Raises ValueError if the text is not one array."""
    position = _skip_blanks(text, 0)
    if text[position : position + 1] != "[":
        raise ValueError("not an array")
    separator = "["
    while separator != "]":
        start = _skip_blanks(text, position + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield text[start:end]
        position = _skip_blanks(text, end)
        separator = text[position : position + 1]
        if separator not in {",", "]"}:
            raise ValueError("no comma after an element")
    if _skip_blanks(text, position + 1) != len(text):
        raise ValueError("text after the array")


def _members(record: str) -> Iterator[tuple[str, str]]:
    """Yield the names of an object and the texts of their values; the object is known to be one."""
    position = _skip_blanks(record, 1)
    while record[position] != "}":
        name, position = _DECODER.raw_decode(record, position)
        start = _skip_blanks(record, _skip_blanks(record, position) + 1)
        _, end = _DECODER.raw_decode(record, start)
        yield name, record[start:end]
        position = _skip_blanks(record, end)
        if record[position] == ",":
            position = _skip_blanks(record, position + 1)


def _skip_blanks(text: str, position: int) -> int:
    match = _JSON_BLANKS.match(text, position)
    return match.end() if match else position


# --- Parquet ---


class _ParquetRows(Sequence[Row]):
    def __init__(self, table: Any) -> None:
        self._table = table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        return tuple(column[number] for column in self._table.columns)


class _ParquetTable(SampleTable):
    def __init__(self, table: Any) -> None:
        super().__init__(tuple(table.column_names), _ParquetRows(table))
        self._schema = table.schema

    def write(self, path: Path, rows: Iterable[Row], columns: Sequence[str] | None = None) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        positions, taken = self._positions(columns), list(rows)
        fields = [self._schema.field(position) for position in positions]
        arrays = [
            pa.array([_storable(row[position]) for row in taken], type=field.type)
            for position, field in zip(positions, fields, strict=True)
        ]
        pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields, self._schema.metadata)), path)

    def cell_value(self, cell: Any) -> Any:
        value = cell.as_py()
        return None if value != value else value  # noqa: PLR0124 - NaN is a null

    def null_cell(self, cell: Any, other: Any) -> Any:  # noqa: ARG002 - the same
        import pyarrow as pa

        return pa.scalar(None, cell.type)

    def replace_cell(self, cell: Any, value: str | float) -> Any:
        import pyarrow as pa

        return pa.scalar(value).cast(cell.type)


def _storable(cell: Any) -> Any:
    """Return what an Arrow array is made of: a scalar, but Python's value of a list, of which it takes no scalar."""
    import pyarrow as pa

    return cell.as_py() if pa.types.is_nested(cell.type) else cell


def _read_parquet(path: Path, _: Content) -> SampleTable | None:
    import pyarrow.parquet as pq

    table = pq.read_table(path, partitioning=None)
    names = table.column_names
    return _ParquetTable(table) if names and table.num_rows and len(set(names)) == len(names) else None


_READERS: Mapping[str, Callable[[Path, Content], SampleTable | None]] = {
    "csv": _read_csv,
    "json": _read_json,
    "jsonl": _read_json,
    "parquet": _read_parquet,
}
