"""Reads JSON as record batches: JSON Lines, or one array of objects, in a stream."""

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
from flyteplugins_codegen.data.tables import SampleFile, SampleSource, SampleTable

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
_NOT_BLANK = re.compile(r"[^ \t\r\n\ufeff]")
_REMEDY = "repair the file, or pass the right one"


class NotRecordsError(Exception):
    """The file is JSON but not a list of objects: a document, not a table."""


def read_json(source: SampleSource, consume: Callable[[SampleTable], T]) -> T:
    """Return `consume(table)` for the records of all files. They are read twice: for the types, then for the values.

    Raises:
        SampleError: the file is not JSON; the message says where.
        NotRecordsError: the file is JSON, but neither JSON Lines of objects nor an array of objects.
    """
    notes = list(dict.fromkeys(note for file in source.files for note in file.content.notes))
    try:
        return consume(records_table(lambda: _read_records(source, None), notes))
    except UnicodeDecodeError:
        return consume(records_table(lambda: _read_records(source, "latin-1"), [*notes, NOT_UTF8]))


def records_table(records: Callable[[], Iterator[dict[str, Any]]], notes: list[str]) -> SampleTable:
    """Return records as a table; `records` is called twice."""
    schema = pa.schema([_infer_field(name, kinds, notes) for name, kinds in _collect_kinds(records()).items()])
    return SampleTable(schema, _make_batches(records(), schema), notes)


def check_document(source: SampleSource) -> None:
    """Check that a document is JSON, unless it is too large to be read at once. Raises SampleError."""
    file = source.files[0]
    if file.content.format != "json" or file.path.stat().st_size > _MOST_CHARACTERS_OF_AN_ELEMENT:
        return
    try:
        json.loads(file.path.read_text(encoding=file.content.encoding))
    except (ValueError, RecursionError) as error:
        raise source.error(f"is no JSON ({error})", _REMEDY) from error


def _collect_kinds(records: Iterator[dict[str, Any]]) -> dict[str, set[str]]:
    """Return the kinds of values that each name has."""
    kinds: dict[str, set[str]] = {}
    for record in records:
        for name, value in record.items():
            seen = kinds.setdefault(name, set())
            if value is not None:
                seen.add(_kind(value))
        if len(kinds) > _MOST_COLUMNS:
            break
    if not kinds or len(kinds) > _MOST_COLUMNS:
        raise NotRecordsError
    return kinds


def _kind(value: Any) -> str:
    if type(value) is int and not -(2**63) <= value < 2**63:
        return "float"
    return _KINDS[type(value)]


def _infer_field(name: str, kinds: set[str], notes: list[str]) -> pa.Field:
    """Return the field of a column; nested columns and those of several kinds hold JSON text, with `shown_type` set."""
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


def _make_batches(records: Iterator[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    # Through JSON Lines, because `pa.array` of Python values would import pandas.
    nested = {field.name for field in schema if field.metadata}
    options = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    while chunk := list(islice(records, _BATCH_ROWS)):
        data = "\n".join(_storable_line(record, nested) for record in chunk).encode()
        reading = pa_json.ReadOptions(block_size=len(data) + 1, use_threads=False)
        yield from pa_json.read_json(io.BytesIO(data), reading, options).select(schema.names).to_batches()


def _storable_line(record: dict[str, Any], nested: set[str]) -> str:
    return json.dumps({name: _storable_value(value, is_nested=name in nested) for name, value in record.items()})


def _storable_value(value: Any, *, is_nested: bool) -> Any:
    if value is None:
        return None
    if isinstance(value, dt.date):
        value = value.isoformat()
    if is_nested:
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()  # a lone surrogate cannot be encoded
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(value) if type(value) is int and _kind(value) == "float" else value


def _read_records(source: SampleSource, encoding: str | None) -> Iterator[dict[str, Any]]:
    for file in source.files:
        with file.path.open(encoding=encoding or file.content.encoding) as text:
            is_lines = file.content.format == "jsonl"
            elements = _read_lines(source, file, text) if is_lines else _read_array(source, text)
            for element in elements:
                if not isinstance(element, dict):
                    raise NotRecordsError
                yield element


def _read_lines(source: SampleSource, file: SampleFile, text: TextIO) -> Iterator[Any]:
    number = 0
    while line := text.readline(_MOST_CHARACTERS_OF_AN_ELEMENT):
        number += 1
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                is_cut = len(line) == _MOST_CHARACTERS_OF_AN_ELEMENT
                too_long = f"is longer than {_MOST_CHARACTERS_OF_AN_ELEMENT} characters"
                problem = too_long if is_cut else f"is no JSON ({error})"
                raise source.error(f"is no JSON Lines: line {number} {problem}", _REMEDY, file) from error


def _read_array(source: SampleSource, text: TextIO) -> Iterator[Any]:
    """Yield the elements of the array in the file."""
    scanner = _JsonScanner(source, text)
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


class _JsonScanner:
    """Reads JSON values from a text file; keeps no more of it in memory than one value needs."""

    def __init__(self, source: SampleSource, text: TextIO) -> None:
        self._source, self._text = source, text
        self._buffer, self._position, self._dropped = "", 0, 0
        self._decoder = json.JSONDecoder()

    def next_character(self) -> str:
        """Return the next character that is not blank, without consuming it; empty at the end of the file."""
        while True:
            match = _NOT_BLANK.search(self._buffer, self._position)
            self._position = match.start() if match else len(self._buffer)
            if match:
                return match[0]
            if not self._read_more():
                return ""

    def skip(self) -> None:
        """Consume one character."""
        self._position += 1

    def element(self) -> Any:
        """Consume one value and return it."""
        self.next_character()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._position)
            except (ValueError, RecursionError) as error:
                failure = self._decoding_error(error)
                if not self._read_more():
                    raise failure from error
                continue
            # A number at the end of the buffer may continue.
            if end < len(self._buffer) or not self._read_more():
                self._position = end
                return value

    def error(self, problem: str, position: int | None = None) -> Exception:
        """Return the error for the current position, or for another position in the buffer."""
        number = self._dropped + (self._position if position is None else position) + 1
        return self._source.error(f"is no JSON: at character {number}: {problem}", _REMEDY)

    def _decoding_error(self, error: Exception) -> Exception:
        if isinstance(error, json.JSONDecodeError):
            return self.error(error.msg, error.pos)
        return self.error(str(error))

    def _read_more(self) -> bool:
        """Drop what is consumed and read the next chunk, larger for a long value; return whether there was one."""
        kept = self._buffer[self._position :]
        if len(kept) > _MOST_CHARACTERS_OF_AN_ELEMENT:
            raise self.error(f"no end of a value within {_MOST_CHARACTERS_OF_AN_ELEMENT} characters")
        more = self._text.read(max(_CHUNK_CHARACTERS, len(kept)))
        self._dropped += self._position
        self._buffer, self._position = kept + more, 0
        return bool(more)
