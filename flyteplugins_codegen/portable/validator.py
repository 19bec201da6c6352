"""Checks a file against the schema of its table, chunk by chunk, with the standard library alone.

One file: the package imports it, and a solution's image contains it beside the launcher, so that both check by the same
rules. It reads delimited text, JSON and JSON Lines (also as .gz, .bz2, .xz). Parquet and Arrow files need pyarrow, and
solutions that read such files have it installed. A file that cannot be read raises UnreadableError.

A schema is a mapping (the JSON of `models.data.TableSchema.for_validator`, each rule with its `text`). Values in text
are read as pandas reads them: the same words are nulls, and blanks around a number are ignored. Memory: one chunk of
rows, and eight bytes a row for every column that must be unique, whose values are kept as 64-bit hashes.
"""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import io
import itertools
import json
import math
import re
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final, NamedTuple

Cell = Any
_CHUNK_ROWS: Final = 1 << 13
_READ_CHARS: Final = 1 << 20
_LONGEST_LINE_CHARS: Final = 1 << 24
_REPORTED_ROWS: Final = 5
_EXCERPT_CHARS: Final = 60
_MOST_KEYS: Final = 1 << 25
_KEYS_A_PART: Final = 1 << 20
_MOST_REPEATED: Final = 10_000
_HEAD_BYTES: Final = 1 << 16
_LARGEST_EXACT_FLOAT: Final = 2**53
_ABSENT: Final = ...
"""The value of all cells in a row that is not as long as the header; all checks skip it."""
# fmt: off
NULLS: Final = frozenset({
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
})
# fmt: on
_DELIMITERS: Final = (",", ";", "\t", "|", "^", "~", "\x01")
_BYTE_ORDER_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


class UnreadableError(ValueError):
    """The file cannot be checked: it is damaged, or its format is unknown."""


class UncheckedError(UnreadableError):
    """The file has a known format that is not checked here, so it may be valid."""


class TableFlaw(NamedTuple):
    """A check that the table fails: in how many rows, and the first of them as (row number from 1, content)."""

    column: str
    check: str
    row_count: int
    rows: tuple[tuple[int, str], ...] = ()


def check_table(path: Path, schema: Mapping[str, Any]) -> list[TableFlaw]:
    """The checks of the schema that the file, or the folder of parts, fails.

    Raises:
        UnreadableError: it cannot be read as a table.
        OSError: it cannot be read at all.
    """
    wanted = list(dict.fromkeys([*(column["name"] for column in schema["columns"]), *_required(schema)]))
    lengths = _RowLengths()
    table = _open(path, wanted, lengths)
    checks = [check for check in _checks(schema) if set(check.columns) <= set(table.names)]
    row_count = 0
    for chunk in table.chunks:
        for check in checks:
            check.add(chunk, row_count)
        row_count += chunk.row_count
    missing = [name for name in _required(schema) if name not in table.present]
    flaws = [TableFlaw(name, _missing(name, table.present), 0) for name in missing]
    flaws += [flaw for check in checks if table.present.issuperset(check.columns) for flaw in check.flaws(path, wanted)]
    return [*lengths.flaws(), *flaws]


def read_cells(path: Path, wanted: Callable[[str], bool]) -> Iterator[Mapping[str, Sequence[Cell]]]:
    """The cells of the wanted columns, chunk by chunk; a null is None. Raises as `check_table`."""
    for chunk in _open(path, None, _RowLengths()).chunks:
        kept = {name: cells for name, cells in chunk.columns.items() if wanted(name)}
        yield {name: [None if cell is _ABSENT else cell for cell in cells] for name, cells in kept.items()}


def describe(name: str, flaw: TableFlaw) -> str:
    """The flaw in one sentence: table, column, check, count, first rows."""
    where = f"{name}: column {flaw.column!r}" if flaw.column else name
    if not flaw.rows:
        return f"{where} {flaw.check}"
    rows = ", ".join(f"row {number}: {cell}" for number, cell in flaw.rows)
    plural = "s break" if flaw.row_count != 1 else " breaks"
    return f"{where} must be {flaw.check}: {flaw.row_count:,} row{plural} this ({rows})"


def _required(schema: Mapping[str, Any]) -> list[str]:
    named = [column["name"] for column in schema["columns"] if column["is_required"]]
    ruled = [name for rule in schema["rules"] for name in (rule["column"], rule["other_column"]) if name]
    return list(dict.fromkeys([*named, *ruled]))


def _missing(name: str, present: Iterable[str]) -> str:
    similar = [other for other in present if other.strip().casefold() == name.strip().casefold()]
    hint = f"; did you mean {similar[0]!r}?" if similar else ""
    return f"is missing{hint}"


# --- cells ------------------------------------------------------------------------------------------------------------

_INTEGER: Final = re.compile(r"\s*[+-]?[0-9]+\s*\Z")
_TIME: Final = re.compile(
    r"\s*(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:[.,](\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d)?)?\s*\Z", re.ASCII
)
_BOOLEANS: Final = frozenset({"true", "false", "True", "False", "TRUE", "FALSE"})
_TRUTH_WORDS: Final = frozenset({"true", "false", "t", "f", "yes", "no", "y", "n", "1", "0", "1.0", "0.0"})


def _number(cell: Cell) -> int | float | Decimal | None:
    """The cell as a number, or None."""
    if isinstance(cell, str):
        return _number_in(cell)
    return cell if isinstance(cell, int | float | Decimal) and not isinstance(cell, bool) else None


def _number_in(text: str) -> int | float | None:
    try:
        value = float(text)
        if abs(value) >= _LARGEST_EXACT_FLOAT and _INTEGER.match(text):
            return int(text)
    except ValueError:
        return None
    return None if "_" in text else value


def _instant(cell: Cell) -> dt.datetime | None:
    """The cell as a time in UTC, or None. A time without a zone counts as UTC."""
    if isinstance(cell, dt.datetime):
        return cell.astimezone(dt.timezone.utc) if cell.tzinfo else cell.replace(tzinfo=dt.timezone.utc)
    if isinstance(cell, dt.date):
        return dt.datetime(cell.year, cell.month, cell.day, tzinfo=dt.timezone.utc)
    match = _TIME.match(cell) if isinstance(cell, str) else None
    if match is None:
        return None
    day, minutes, seconds, fraction, zone = match.groups()
    offset = {None: "+00:00", "Z": "+00:00"}.get(zone) or zone
    offset = offset if ":" in offset else f"{offset[:3]}:{offset[3:]}"
    micros = (fraction or "0")[:6].ljust(6, "0")
    try:
        whole = dt.datetime.fromisoformat(f"{day}T{minutes or '00:00'}{seconds or ':00'}.{micros}{offset}")
        return whole.astimezone(dt.timezone.utc)
    except (ValueError, OverflowError):
        return None


# How the cells of a column are written, where a rule's `notation` says so: a decimal mark, or a format of times.
_CURRENCY: Final = r"(?:[$\u20ac\u00a3\u00a5\u20b9]|US\$|[A-Z]{3})"
NUMERALS: Final[Mapping[str, str]] = MappingProxyType(
    {
        mark: rf"([(+\-\u2212]?)\s?{_CURRENCY}?\s?([+\-\u2212]?)"
        rf"(\d{{1,3}}(?:[{group}'\u2019 \u00a0\u202f]\d{{3}})+|\d+|(?=\{mark}))(?:\{mark}(\d+))?"
        rf"\s?(?:%|{_CURRENCY})?\)?"
        for mark, group in ((".", ","), (",", "."))
    }
)
_NUMERALS: Final = MappingProxyType({mark: re.compile(pattern, re.ASCII) for mark, pattern in NUMERALS.items()})


def number_reader(notation: str) -> Callable[[Cell], int | float | Decimal | None]:
    """The function that reads a cell of this notation as a number, or as None."""
    numeral = _NUMERALS.get(notation)
    if numeral is None:
        return _number

    def read(cell: Cell) -> int | float | Decimal | None:
        match = numeral.fullmatch(cell.strip()) if isinstance(cell, str) else None
        if match is None:
            return None if isinstance(cell, str) and notation == "," else _number(cell)
        sign, inner_sign, whole, fraction = match.groups()
        digits = re.sub(r"\D", "", whole)
        value = float(f"{digits or '0'}.{fraction}") if fraction else int(digits)
        return -value if bool(sign.strip("+")) != bool(inner_sign.strip("+")) else value

    return read


def instant_reader(notation: str) -> Callable[[Cell], dt.datetime | None]:
    """The function that reads a cell of this notation, or of ISO 8601, as a time in UTC, or as None."""
    if not notation.startswith("%"):
        return _instant

    def read(cell: Cell) -> dt.datetime | None:
        if isinstance(cell, dt.time):
            return _instant(dt.datetime.combine(dt.date(1900, 1, 1), cell))  # as `strptime` reads a time of day
        if not isinstance(cell, str):
            return _instant(cell)
        try:
            return dt.datetime.strptime(cell.strip(), notation).replace(tzinfo=dt.timezone.utc)
        except ValueError:
            return _instant(cell)

    return read


def _is_integer(cell: Cell) -> bool:
    if isinstance(cell, str):
        return _INTEGER.match(cell) is not None
    value = _number(cell)
    return value is not None and value == value // 1


_READS_AS: Final[Mapping[str, Callable[[Cell], bool]]] = MappingProxyType(
    {
        "any": lambda _: True,
        "integer": _is_integer,
        "number": lambda cell: _number(cell) is not None,
        "boolean": lambda cell: isinstance(cell, bool) or (isinstance(cell, str) and cell.strip() in _BOOLEANS),
        "text": lambda cell: isinstance(cell, str),
        "time": lambda cell: _instant(cell) is not None,
    }
)


def _all_integers(cells: set[Cell]) -> bool:
    try:
        return all(map(_INTEGER.match, cells - {None, _ABSENT}))
    except TypeError:
        return False  # not all are texts


def _all_numbers(cells: set[Cell]) -> bool:
    texts = cells - {None, _ABSENT}
    try:
        # `float` accepts underscores, and bools.
        return all(map(str.isascii, texts)) and "_" not in "".join(texts) and all(True for _ in map(float, texts))
    except (TypeError, ValueError):
        return False


_ALL_READ_AS: Final[Mapping[str, Callable[[set[Cell]], bool]]] = MappingProxyType(
    {"integer": _all_integers, "number": _all_numbers}
)


def _excerpt(cell: Cell) -> str:
    text = repr(cell) if isinstance(cell, str) else str(cell)
    return text if len(text) <= _EXCERPT_CHARS else f"{text[:_EXCERPT_CHARS]}... ({len(text)} characters)"


# --- checks -----------------------------------------------------------------------------------------------------------


class _RowChunk:
    """Consecutive rows, stored by column."""

    def __init__(self, columns: Mapping[str, Sequence[Cell]]) -> None:
        self.columns = columns
        self.row_count = len(next(iter(columns.values()), ()))
        self._distinct: dict[str, set[Cell]] = {}

    def distinct(self, column: str) -> set[Cell]:
        """The column's distinct cells, so that every check looks at each only once."""
        if column not in self._distinct:
            self._distinct[column] = set(self.columns[column])
        return self._distinct[column]


class _CellCheck:
    """A condition on single cells of a column, or on pairs of cells of two columns."""

    def __init__(
        self,
        columns: tuple[str, ...],
        text: str,
        is_invalid: Callable[..., bool],
        are_all_valid: Callable[[set[Cell]], bool] = lambda _: False,
    ) -> None:
        """`are_all_valid` may return True, quickly, for a set of distinct cells without an invalid one."""
        self.columns = columns
        self._text, self._is_invalid, self._are_all_valid = text, is_invalid, are_all_valid
        self._row_count = 0
        self._rows: list[tuple[int, str]] = []

    def add(self, chunk: _RowChunk, rows_before: int) -> None:
        if len(self.columns) == 1:
            distinct = chunk.distinct(self.columns[0])
            bad = set() if self._are_all_valid(distinct) else set(filter(self._is_invalid, distinct))
            cells: Iterable[Cell] = chunk.columns[self.columns[0]]
        else:
            cells = list(zip(*(chunk.columns[name] for name in self.columns), strict=True))
            bad = {pair for pair in set(cells) if self._is_invalid(*pair)}
        if bad:
            self._note((number, cell) for number, cell in enumerate(cells, rows_before + 1) if cell in bad)

    def _note(self, broken: Iterable[tuple[int, Cell]]) -> None:
        for number, cell in broken:
            self._row_count += 1
            if len(self._rows) < _REPORTED_ROWS:
                text = ", ".join(map(_excerpt, cell)) if isinstance(cell, tuple) else _excerpt(cell)
                self._rows.append((number, text))

    def flaws(self, _path: Path, _wanted: Sequence[str]) -> list[TableFlaw]:
        return [TableFlaw(self.columns[0], self._text, self._row_count, tuple(self._rows))] if self._row_count else []


class _UniqueCheck:
    """No value occurs twice. Only a 64-bit hash of every value is kept; rows are searched for only if one repeats."""

    def __init__(self, column: str) -> None:
        self.columns = (column,)
        self._hashes = array("Q")

    def add(self, chunk: _RowChunk, _rows_before: int) -> None:
        if len(self._hashes) < _MOST_KEYS:
            cells = chunk.columns[self.columns[0]]
            self._hashes.extend(_hash(cell) for cell in cells if cell is not None and cell is not _ABSENT)

    def flaws(self, path: Path, wanted: Sequence[str]) -> list[TableFlaw]:
        count, repeated = _repeats(self._hashes)
        if not count:
            return []
        return [
            TableFlaw(
                self.columns[0],
                "unique",
                count,
                tuple(itertools.islice(self._rows(path, wanted, repeated), _REPORTED_ROWS)),
            )
        ]

    def _rows(self, path: Path, wanted: Sequence[str], repeated: set[int]) -> Iterator[tuple[int, str]]:
        first: dict[int, int] = {}
        chunks = _open(path, wanted, _RowLengths()).chunks
        cells = (cell for chunk in chunks for cell in chunk.columns[self.columns[0]])
        for number, cell in enumerate(cells, 1):
            key = _hash(cell)
            if cell is None or cell is _ABSENT or key not in repeated:
                continue
            if key in first:
                yield number, f"{_excerpt(cell)} again, first in row {first[key]}"
            first.setdefault(key, number)


def _hash(cell: Cell) -> int:
    # The hash of its text, because -1 and -2 have the same hash as numbers.
    return hash(str(cell)) & 0xFFFF_FFFF_FFFF_FFFF


def _repeats(hashes: array[int]) -> tuple[int, set[int]]:
    """How many hashes repeat an earlier one, and which. Done in parts, so that only one part is in memory as a set."""
    count, repeated = 0, set[int]()
    parts = 1 + len(hashes) // _KEYS_A_PART
    for part in range(parts):
        seen = set[int]()
        for key in hashes if parts == 1 else (key for key in hashes if key % parts == part):
            if key in seen:
                count += 1
                if len(repeated) < _MOST_REPEATED:
                    repeated.add(key)
            seen.add(key)
    return count, repeated


_Check = _CellCheck | _UniqueCheck


def _checks(schema: Mapping[str, Any]) -> Iterator[_Check]:
    for column in schema["columns"]:
        name, kind = column["name"], column["type"]
        if kind != "any":
            are_all_valid = _ALL_READ_AS.get(kind, lambda _: False)
            yield _CellCheck((name,), f"of type {kind}", _unless_null(_misreads(kind)), are_all_valid)
        if not column["is_nullable"]:
            yield _CellCheck((name,), "not null", _is_null, lambda cells: None not in cells)
        if column["is_unique"]:
            yield _UniqueCheck(name)
    for rule in schema["rules"]:
        yield _rule_check(rule)


def _rule_check(rule: Mapping[str, Any]) -> _Check:
    if rule["kind"] == "unique":
        return _UniqueCheck(rule["column"])
    if rule["kind"] == "not_null":
        return _CellCheck((rule["column"],), rule["text"], _is_null)
    if rule["kind"] == "order":
        return _CellCheck((rule["column"], rule["other_column"]), rule["text"], _breaks_order(rule))
    return _CellCheck((rule["column"],), rule["text"], _unless_null(_BREAKERS[rule["kind"]](rule)))


def _is_null(cell: Cell) -> bool:
    return cell is None


def _unless_null(is_invalid: Callable[[Cell], bool]) -> Callable[[Cell], bool]:
    return lambda cell: cell is not None and cell is not _ABSENT and is_invalid(cell)


def _misreads(kind: str) -> Callable[[Cell], bool]:
    reads = _READS_AS[kind]
    return lambda cell: not reads(cell)


def _leaves_range(rule: Mapping[str, Any]) -> Callable[[Cell], bool]:
    low, high = rule["minimum"], rule["maximum"]
    is_time = isinstance(low if low is not None else high, str)
    below, above = (
        _side(low, is_excluded=rule["excludes_minimum"], sign=1),
        _side(high, is_excluded=rule["excludes_maximum"], sign=-1),
    )
    notation = rule.get("notation", "")
    read: Callable[[Cell], Any] = instant_reader(notation) if is_time else number_reader(notation)

    def leaves(cell: Cell) -> bool:
        value = read(cell)
        return value is None or below(value) or above(value)

    return leaves


def _side(bound: Any, *, is_excluded: bool, sign: int) -> Callable[[Any], bool]:
    """A function that says whether a value is beyond a bound: below it for `sign` 1, above it for -1."""
    if bound is None:
        return lambda _: False
    if not isinstance(bound, str):
        return _beyond(bound, is_excluded=is_excluded, sign=sign)
    limit = _instant(bound)
    if len(bound) > len("2020-01-01"):
        return _beyond(limit, is_excluded=is_excluded, sign=sign)
    # A bound without a time of day is a whole day.
    beyond = _beyond(limit and limit.date(), is_excluded=is_excluded, sign=sign)
    return lambda value: beyond(value.date())


def _beyond(limit: Any, *, is_excluded: bool, sign: int) -> Callable[[Any], bool]:
    if sign > 0:
        return (lambda value: not value > limit) if is_excluded else (lambda value: not value >= limit)
    return (lambda value: not value < limit) if is_excluded else (lambda value: not value <= limit)


def _leaves_length(rule: Mapping[str, Any]) -> Callable[[Cell], bool]:
    leaves = _leaves_range({**rule, "notation": ""})
    return lambda cell: leaves(len(cell if isinstance(cell, str) else str(cell)))


def _in_values(rule: Mapping[str, Any]) -> Callable[[Cell], bool]:
    texts = frozenset(rule["values"])
    notation = rule.get("notation", "")
    reads = ((number_reader(notation), _number_in), (instant_reader(notation), _instant))
    # A value is written plainly, or as the cells are.
    known = [(read, {value for text in texts for value in (read(text), plain(text))} - {None}) for read, plain in reads]
    if not notation.startswith("%"):
        del known[1:]

    def holds(cell: Cell) -> bool:
        if isinstance(cell, bool):
            return str(cell).lower() in {text.lower() for text in texts}
        return str(cell) in texts or any(values and read(cell) in values for read, values in known)

    return holds


def _not_in_values(rule: Mapping[str, Any]) -> Callable[[Cell], bool]:
    holds = _in_values(rule)
    return lambda cell: not holds(cell)


def _mismatches(rule: Mapping[str, Any]) -> Callable[[Cell], bool]:
    pattern = re.compile(rule["pattern"])
    return lambda cell: pattern.fullmatch(cell if isinstance(cell, str) else str(cell)) is None


def _misread_type(rule: Mapping[str, Any]) -> Callable[[Cell], bool]:
    """By what a cell says, however it is written: `18.0` is an integer, `yes` and 1 are booleans."""
    kind, notation = rule["type"], rule.get("notation", "")
    read_number, read_instant = number_reader(notation), instant_reader(notation)
    reads: dict[str, Callable[[Cell], bool]] = {
        "integer": lambda cell: (value := read_number(cell)) is not None and bool(value % 1 == 0),
        "number": lambda cell: read_number(cell) is not None,
        "boolean": lambda cell: str(cell).strip().lower() in _TRUTH_WORDS,
        "time": lambda cell: read_instant(cell) is not None,
    }
    return (lambda cell: not reads[kind](cell)) if kind in reads else _misreads(kind)


_BREAKERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Callable[[Cell], bool]]]] = MappingProxyType(
    {
        "type": _misread_type,
        "range": _leaves_range,
        "length": _leaves_length,
        "one_of": _not_in_values,
        "none_of": _in_values,
        "matches": _mismatches,
    }
)
_HOLDS: Final[Mapping[str, Callable[[Any, Any], bool]]] = MappingProxyType(
    {
        "<": lambda one, other: one < other,
        "<=": lambda one, other: one <= other,
        ">": lambda one, other: one > other,
        ">=": lambda one, other: one >= other,
        "==": lambda one, other: one == other,
        "!=": lambda one, other: one != other,
    }
)


def _breaks_order(rule: Mapping[str, Any]) -> Callable[[Cell, Cell], bool]:
    sign: str = rule["comparison"]
    holds = _HOLDS[sign]
    notations = rule.get("notation", ""), rule.get("other_notation", "")
    readers = [tuple(map(reader, notations)) for reader in (number_reader, instant_reader)]

    def breaks(one: Cell, other: Cell) -> bool:
        if one is None or other is None or one is _ABSENT:
            return False
        for read_one, read_other in readers:
            values = read_one(one), read_other(other)
            if None not in values:
                return bool(not holds(*values))
        if isinstance(one, str) and isinstance(other, str) and not any(notations):
            return not holds(one, other)
        return sign != "!="

    return breaks


# --- reading ----------------------------------------------------------------------------------------------------------


class _OpenTable(NamedTuple):
    """`names` are the columns of the chunks; `present`, complete after the last chunk, the columns of the file."""

    names: list[str]
    present: set[str]
    chunks: Iterator[_RowChunk]


class _RowLengths:
    """Collects rows that are not as long as the header, whose cells may be in wrong columns."""

    def __init__(self) -> None:
        self._row_count = 0
        self._rows: list[tuple[int, str]] = []

    def add(self, number: int, row: Sequence[str]) -> None:
        self._row_count += 1
        if len(self._rows) < _REPORTED_ROWS:
            self._rows.append((number, f"{len(row)} cells"))

    def flaws(self) -> list[TableFlaw]:
        return (
            [TableFlaw("", "a row as long as the header", self._row_count, tuple(self._rows))]
            if self._row_count
            else []
        )


def _open(path: Path, wanted: Sequence[str] | None, lengths: _RowLengths) -> _OpenTable:
    """The wanted columns that the file has, and its rows in chunks; for a folder, those of all its parts."""
    if not path.is_dir():
        return _open_file(path, wanted, lengths)
    parts = [part for part in sorted(path.rglob("*")) if part.is_file() and part.name[0] not in "._"]
    if not parts:
        raise UnreadableError(f"{path} is a folder without files")
    tables = [_open_file(part, wanted, lengths) for part in parts]
    names = [name for name in tables[0].names if all(name in table.names for table in tables)]
    return _OpenTable(
        names,
        set.intersection(*(table.present for table in tables)),
        itertools.chain.from_iterable(table.chunks for table in tables),
    )


def _open_file(path: Path, wanted: Sequence[str] | None, lengths: _RowLengths) -> _OpenTable:
    with path.open("rb") as file:
        magic = file.read(8)
    if magic.startswith((b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")):
        return _open_arrow(path, magic, wanted)
    if magic.startswith((b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\xd0\xcf\x11\xe0", b"ORC")):
        raise UncheckedError(f"{path} is of a format that is not checked (Excel, ORC, zstd); pass it as CSV or Parquet")
    opener = _opener(magic)
    head = _head(path, opener)
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableError(f"{path} holds binary data of no known format")
    encoding = _encoding(head)
    start = head.decode(encoding, errors="replace").lstrip("\ufeff \t\r\n")
    lines = _lines(path, opener, encoding)
    # Objects or a list of objects; a header of delimited text may begin with a bracket too.
    if re.match(r'\{\s*["}]|\[\s*[{\]]', start):
        return _open_json(path, opener, encoding, wanted)
    return _open_delimited(lines, start, wanted, lengths)


def _head(path: Path, opener: Callable[[Path], IO[bytes]]) -> bytes:
    with _damage_as_unreadable(path), opener(path) as raw:
        return raw.read(_HEAD_BYTES)


@contextlib.contextmanager
def _damage_as_unreadable(path: Path) -> Iterator[None]:
    import lzma
    import zlib

    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise UnreadableError(f"{path} is cut off or damaged ({error})") from error


def _opener(magic: bytes) -> Callable[[Path], IO[bytes]]:
    import bz2
    import gzip
    import lzma

    openers: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
    decompress = next((opener for start, opener in openers.items() if magic.startswith(start)), None)
    return decompress or (lambda path: path.open("rb"))


def _encoding(head: bytes) -> str:
    marked = next((encoding for mark, encoding in _BYTE_ORDER_MARKS if head.startswith(mark)), None)
    if marked:
        return marked
    try:
        head[: head.rfind(b"\n") + 1 or None].decode()
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _lines(path: Path, opener: Callable[[Path], IO[bytes]], encoding: str) -> Iterator[str]:
    """The lines with their ends, as the csv module needs them. Raises UnreadableError for an endless line."""
    rest = ""
    for block in _blocks(path, opener, encoding):
        # Old files end lines with a carriage return alone.
        whole = rest + (block if "\n" in block else block.replace("\r", "\n"))
        *lines, rest = whole.split("\n")
        if len(rest) >= _LONGEST_LINE_CHARS:
            raise UnreadableError(f"{path} holds a line of more than {_LONGEST_LINE_CHARS:,} characters")
        yield from (f"{line}\n" for line in lines)
    if rest:
        yield rest


def _blocks(path: Path, opener: Callable[[Path], IO[bytes]], encoding: str) -> Iterator[str]:
    with (
        _damage_as_unreadable(path),
        opener(path) as raw,
        io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline="") as file,
    ):
        while block := file.read(_READ_CHARS):
            yield block


class _TextDialect(NamedTuple):
    """How text is delimited. `comment_lines` lines that begin with `#` precede the header."""

    delimiter: str = ","
    quote: str = '"'
    escape: str | None = None
    comment_lines: int = 0

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """The non-empty rows, the header first."""
        reader = csv.reader(
            itertools.islice(lines, self.comment_lines, None),
            delimiter=self.delimiter,
            quotechar=self.quote,
            escapechar=self.escape,
            doublequote=self.escape is None,
        )
        return filter(None, reader)


def _open_delimited(lines: Iterator[str], start: str, wanted: Sequence[str] | None, lengths: _RowLengths) -> _OpenTable:
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_LINE_CHARS))
    first = next(lines, "").lstrip("\ufeff")
    rows = _dialect(start, set(wanted or ())).rows(itertools.chain([first], lines))
    header = _unique_names(next(rows, []))
    positions = {name: position for position, name in enumerate(header) if wanted is None or name in wanted}
    return _OpenTable(list(positions), set(header), _text_chunks(rows, len(header), positions, lengths))


def _dialect(start: str, wanted: set[str]) -> _TextDialect:
    """The dialect whose delimiter gives a header with the most wanted names, and among those the most cells."""
    lines = start.splitlines(keepends=True)
    comment_lines = len(list(itertools.takewhile(lambda line: re.match(r"#\s", line), lines)))
    quote, escape = _quoting(start)

    def quality(dialect: _TextDialect) -> tuple[int, int]:
        header = next(dialect.rows(lines), [])
        return len(wanted & set(_unique_names(header))), len(header)

    return max((_TextDialect(delimiter, quote, escape, comment_lines) for delimiter in _DELIMITERS), key=quality)


def _quoting(text: str) -> tuple[str, str | None]:
    """The quote character, and the character that escapes it if quotes are not doubled."""
    if '\\"' in text and re.search(r'(?:^|[,;\t|])"', text, re.MULTILINE):
        return '"', "\\"
    single = re.findall(r"(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|\r\n]|$)", text, re.MULTILINE)
    return ("'", None) if '"' not in text and len(single) > 1 else ('"', None)


def _unique_names(names: Sequence[str]) -> list[str]:
    """The names made unique as pandas does it: `a`, `a.1`, `Unnamed: 2`."""
    filled = [name or f"Unnamed: {position}" for position, name in enumerate(names)]
    taken, unique, seen = set(filled), [], dict[str, int]()
    for name in filled:
        count, final = seen.get(name, 0), name
        while count and (final := f"{name}.{count}") in taken:
            count += 1
        seen[name] = count + 1
        taken.add(final)
        unique.append(final)
    return unique


def _text_chunks(
    rows: Iterator[list[str]], width: int, positions: Mapping[str, int], lengths: _RowLengths
) -> Iterator[_RowChunk]:
    number = 0
    absent: list[Any] = [_ABSENT] * width
    while chunk := _rows(rows):
        for offset, row in enumerate(chunk):
            if len(row) != width:
                lengths.add(number + offset + 1, row)
                chunk[offset] = absent  # so that later rows keep their numbers
        number += len(chunk)
        columns = list(zip(*chunk, strict=True))
        yield _RowChunk({name: _with_nulls(columns[at]) for name, at in positions.items()})


def _with_nulls(cells: Sequence[str]) -> Sequence[Cell]:
    return cells if NULLS.isdisjoint(cells) else [None if cell in NULLS else cell for cell in cells]


def _rows(rows: Iterator[list[str]]) -> list[list[str]]:
    try:
        return list(itertools.islice(rows, _CHUNK_ROWS))
    except csv.Error as error:
        raise UnreadableError(f"it cannot be read as delimited text ({error})") from error


def _open_json(
    path: Path, opener: Callable[[Path], IO[bytes]], encoding: str, wanted: Sequence[str] | None
) -> _OpenTable:
    present = set[str]()
    return _OpenTable(list(wanted or ()), present, _json_chunks(_records(path, opener, encoding), wanted, present))


def _json_chunks(
    records: Iterator[dict[str, Any]], wanted: Sequence[str] | None, present: set[str]
) -> Iterator[_RowChunk]:
    while chunk := list(itertools.islice(records, _CHUNK_ROWS)):
        present.update(*chunk)
        names = present if wanted is None else wanted
        yield _RowChunk({name: _with_text_bools([_plain(record.get(name)) for record in chunk]) for name in names})


def _with_text_bools(cells: list[Cell]) -> list[Cell]:
    """The cells, with bools as text if there are other types too, because True equals 1."""
    kinds = set(map(type, cells)) - {type(None)}
    return (
        [str(cell) if isinstance(cell, bool) else cell for cell in cells] if bool in kinds and len(kinds) > 1 else cells
    )


def _records(path: Path, opener: Callable[[Path], IO[bytes]], encoding: str) -> Iterator[dict[str, Any]]:
    """The objects of JSON Lines, or of one list, decoded one by one."""
    text = "\ufeff \t\r\n"
    blocks = (block for block in _blocks(path, opener, encoding) if block.strip(text))
    first = next(blocks, "").lstrip(text)
    buffer, needed_chars = "", 0
    for piece in itertools.chain([first.removeprefix("[")], blocks, [None]):
        buffer += piece or ""
        # An incomplete value is retried only after much more text: a retry on every block would take quadratic time.
        if piece is not None and len(buffer) < needed_chars:
            continue
        position = 0
        for value, end in _values(buffer):
            position = end
            if isinstance(value, dict):
                yield value
        buffer = buffer[position:]
        needed_chars = len(buffer) * 3 // 2
        if len(buffer) > _LONGEST_LINE_CHARS:
            break
    if buffer.strip(f"{text}],"):
        raise UnreadableError(f"{path} is no JSON from {_excerpt(buffer[:_EXCERPT_CHARS])} on")


def _values(text: str) -> Iterator[tuple[Any, int]]:
    """The complete values at the start of the text, each with the position of its end."""
    decoder, position = json.JSONDecoder(), _skip(text, 0)
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
        except ValueError:
            return
        yield value, position
        position = _skip(text, position)


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n,]":
        position += 1
    return position


def _plain(value: Any) -> Cell:
    """A nested value as JSON text, NaN as null, any other value unchanged."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return None if isinstance(value, float) and math.isnan(value) else value


def _open_arrow(path: Path, magic: bytes, wanted: Sequence[str] | None) -> _OpenTable:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UncheckedError(f"{path} is a Parquet or Arrow file, and pyarrow is not installed to check it") from None
    try:
        if magic.startswith(b"PAR1"):
            parquet = pq.ParquetFile(path)
            names = [name for name in parquet.schema_arrow.names if wanted is None or name in wanted]
            return _OpenTable(
                names, set(names), map(_arrow_chunk, parquet.iter_batches(batch_size=_CHUNK_ROWS, columns=names))
            )
        reader = pa.ipc.open_file(path) if magic.startswith(b"ARROW1") else pa.ipc.open_stream(path)
        batches = (
            (reader.get_batch(at) for at in range(reader.num_record_batches)) if magic[:1] == b"A" else iter(reader)
        )
        names = [name for name in reader.schema.names if wanted is None or name in wanted]
        return _OpenTable(names, set(reader.schema.names), (_arrow_chunk(batch.select(names)) for batch in batches))
    except (pa.ArrowException, OSError) as error:
        raise UnreadableError(f"{path} cannot be read ({error})") from error


def _arrow_chunk(batch: Any) -> _RowChunk:
    return _RowChunk({name: [_plain(cell) for cell in batch.column(name).to_pylist()] for name in batch.schema.names})


# --- all files of a run -----------------------------------------------------------------------------------------------


def check_folder(schemas: Mapping[str, Any], folder: Path) -> list[str]:
    """How the files of a folder violate the schemas of the same names, one sentence each.

    Files of a format that is not checked are reported on stderr.
    """
    flaws: list[str] = []
    for name, schema in schemas.items():
        if (folder / name).exists():
            try:
                flaws += [describe(name, flaw) for flaw in check_table(folder / name, schema)]
            except UncheckedError as error:
                sys.stderr.write(f"{name} is not checked: {error}\n")
            except (UnreadableError, OSError) as error:
                flaws.append(f"{name}: {error}")
    return flaws
