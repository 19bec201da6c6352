"""JSON as record batches: JSON Lines, or one array of objects, read in a stream."""

from __future__ import annotations

import datetime as dt
import io
import json
import math
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, TextIO, TypeVar

import pyarrow as pa
import pyarrow.json as pa_json

from flyteplugins_codegen.data.formats import NOT_UTF8
from flyteplugins_codegen.data.tables import Part, Source, Table

T = TypeVar("T")

_BATCH_ROWS = 8192
_CHUNK_CHARACTERS = 1 << 18
_MOST_CHARACTERS_OF_AN_ELEMENT = 64 << 20
_MOST_COLUMNS = 10_000
_KINDS = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "text",
    list: "list",
    dict: "object",
    dt.date: "time stamp",
    dt.datetime: "time stamp",
}
_TYPES = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "float": pa.float64(),
    "text": pa.string(),
    "time stamp": pa.timestamp("us"),
}
_NO_BLANK = re.compile(r"[^ \t\r\n\ufeff]")
_REMEDY = "repair the file, or pass the right one"


class NotRecordsError(Exception):
    """The file is JSON, but no list of objects: a document, not a table."""


def fold_json(source: Source, fold: Callable[[Table], T]) -> T:
    """What `fold` makes of the records of all files as a table. They are read twice: for the types, then the values.

    Raises:
        SampleError: it is no JSON; the message says where.
        NotRecordsError: it is JSON, but neither JSON Lines of objects nor an array of objects.
    """
    notes = list(dict.fromkeys(note for part in source.parts for note in part.content.notes))
    try:
        return fold(records_table(lambda: _records(source, None), notes))
    except UnicodeDecodeError:
        return fold(records_table(lambda: _records(source, "latin-1"), [*notes, NOT_UTF8]))


def records_table(records: Callable[[], Iterator[dict[str, Any]]], notes: list[str]) -> Table:
    """Records as a table; they are asked for twice."""
    schema = pa.schema([_field(name, found, notes) for name, found in _kinds(records()).items()])
    return Table(schema, _batches(records(), schema), notes)


def check_document(source: Source) -> None:
    """Refuse a document that is no JSON, unless it is too large to be read whole. Raises SampleError."""
    part = source.parts[0]
    if part.content.format != "json" or part.path.stat().st_size > _MOST_CHARACTERS_OF_AN_ELEMENT:
        return
    try:
        json.loads(part.path.read_text(encoding=part.content.encoding))
    except (ValueError, RecursionError) as error:
        raise source.error(f"is no JSON ({error})", _REMEDY) from error


def _kinds(records: Iterator[dict[str, Any]]) -> dict[str, set[str]]:
    kinds: dict[str, set[str]] = {}
    for record in records:
        for name, value in record.items():
            found = kinds.setdefault(name, set())
            if value is not None:
                found.add(_kind(value))
        if len(kinds) > _MOST_COLUMNS:
            break
    if not kinds or len(kinds) > _MOST_COLUMNS:
        raise NotRecordsError
    return kinds


def _kind(value: Any) -> str:
    if type(value) is int and not -(2**63) <= value < 2**63:
        return "float"
    return _KINDS[type(value)]


def _field(name: str, kinds: set[str], notes: list[str]) -> pa.Field:
    """A column that is nested, or holds several kinds of values, is kept as JSON text, and named for what it is."""
    if not kinds:
        return pa.field(name, pa.null())
    if kinds == {"int", "float"}:
        kinds = {"float"}
    kind = next(iter(kinds)) if len(kinds) == 1 else "mixed"
    if kind in _TYPES:
        return pa.field(name, _TYPES[kind])
    if kind == "mixed":
        notes.append(f"column {name!r} holds values of several types: {', '.join(sorted(kinds))}")
    return pa.field(name, pa.string(), metadata={"shown_type": kind})


def _batches(records: Iterator[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    # By way of JSON Lines: pyarrow's own conversion of Python values would import pandas.
    nested = {field.name for field in schema if field.metadata}
    options = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    while chunk := list(islice(records, _BATCH_ROWS)):
        data = "\n".join(json.dumps(_storable(record, nested)) for record in chunk).encode()
        reading = pa_json.ReadOptions(block_size=len(data) + 1, use_threads=False)
        yield from pa_json.read_json(io.BytesIO(data), reading, options).select(schema.names).to_batches()


def _storable(record: dict[str, Any], nested: set[str]) -> dict[str, Any]:
    return {name: _storable_value(value, is_nested=name in nested) for name, value in record.items()}


def _storable_value(value: Any, *, is_nested: bool) -> Any:
    if value is None:
        return None
    if isinstance(value, dt.date):
        value = value.isoformat()
    if is_nested:
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(value) if type(value) is int and _kind(value) == "float" else value


def _records(source: Source, encoding: str | None) -> Iterator[dict[str, Any]]:
    for part in source.parts:
        with part.path.open(encoding=encoding or part.content.encoding) as file:
            elements = _lines(source, part, file) if part.content.format == "jsonl" else _elements(source, file)
            for element in elements:
                if not isinstance(element, dict):
                    raise NotRecordsError
                yield element


def _lines(source: Source, part: Part, file: TextIO) -> Iterator[Any]:
    number = 0
    while line := file.readline(_MOST_CHARACTERS_OF_AN_ELEMENT):
        number += 1
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                is_cut = len(line) == _MOST_CHARACTERS_OF_AN_ELEMENT
                why = (
                    f"is longer than {_MOST_CHARACTERS_OF_AN_ELEMENT} characters" if is_cut else f"is no JSON ({error})"
                )
                raise source.error(f"is no JSON Lines: line {number} {why}", _REMEDY, part) from error


def _elements(source: Source, file: TextIO) -> Iterator[Any]:
    """The elements of the array that the file holds, one after the other."""
    scanner = _Scanner(source, file)
    if scanner.next_character() != "[":
        raise NotRecordsError
    scanner.skip()
    separator = ","
    if scanner.next_character() == "]":
        return
    while separator == ",":
        yield scanner.element()
        separator = scanner.next_character()
        scanner.skip()
    if separator != "]" or scanner.next_character():
        raise scanner.error("expected ',' or ']' between elements, and nothing after the last")


class _Scanner:
    """Reads JSON values off a text file without holding more of it than one value needs."""

    def __init__(self, source: Source, file: TextIO) -> None:
        self._source, self._file = source, file
        self._buffer, self._position, self._dropped = "", 0, 0
        self._decoder = json.JSONDecoder()

    def next_character(self) -> str:
        """The next character that is no blank, not yet consumed; empty at the end."""
        while True:
            found = _NO_BLANK.search(self._buffer, self._position)
            self._position = found.start() if found else len(self._buffer)
            if found:
                return found[0]
            if not self._read_more():
                return ""

    def skip(self) -> None:
        """Consume one character."""
        self._position += 1

    def element(self) -> Any:
        """Consume one value."""
        self.next_character()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._position)
            except (ValueError, RecursionError) as error:
                fault = self._decoding_fault(error)
                if not self._read_more():
                    raise fault from error
                continue
            # A number at the very end of what is read may go on.
            if end < len(self._buffer) or not self._read_more():
                self._position = end
                return value

    def error(self, what: str, position: int | None = None) -> Exception:
        """The error for a fault at the current place, or at another of what is read."""
        number = self._dropped + (self._position if position is None else position) + 1
        return self._source.error(f"is no JSON: at character {number}: {what}", _REMEDY)

    def _decoding_fault(self, error: Exception) -> Exception:
        if isinstance(error, json.JSONDecodeError):
            return self.error(error.msg, error.pos)
        return self.error(str(error))

    def _read_more(self) -> bool:
        """Drop what is consumed and read on, more at a time the longer a value is."""
        kept = self._buffer[self._position :]
        if len(kept) > _MOST_CHARACTERS_OF_AN_ELEMENT:
            raise self.error(f"no end of a value within {_MOST_CHARACTERS_OF_AN_ELEMENT} characters")
        more = self._file.read(max(_CHUNK_CHARACTERS, len(kept)))
        self._dropped += self._position
        self._buffer, self._position = kept + more, 0
        return bool(more)
