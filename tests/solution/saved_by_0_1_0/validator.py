"""Checks a file against the schema of its table, chunk by chunk, with the standard library alone.

One file: the package imports it, and a solution's image carries it beside the launcher, so that what passes here
passes there. Delimited text, JSON and JSON Lines (each also as .gz, .bz2, .xz) are read by itself; Parquet and Arrow
files need pyarrow, which a solution that reads such files brings along. What cannot be read raises UnreadableError.

A schema is a mapping (the JSON of `models.rules.TableSchema`, each rule with its `text`). Values in text are read as
pandas reads them: the same words are nulls, blanks around a number do not count. Memory: one chunk of rows, and eight
bytes a row for every column that must be unique, which is told by 64-bit hashes.
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
_SHOWN_ROWS: Final = 5
_SHOWN_CHARS: Final = 60
_MOST_KEYS: Final = 1 << 25
_KEYS_A_PART: Final = 1 << 20
_MOST_REPEATED: Final = 10_000
_HEAD_BYTES: Final = 1 << 16
_LARGEST_EXACT_FLOAT: Final = 2**53
_ABSENT: Final = ...
"""Stands in the cells of a row that is not as long as the header: no check looks at it."""
# fmt: off
NULLS: Final = frozenset({
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
})
# fmt: on
_DELIMITERS: Final = (",", ";", "\t", "|", "^", "~", "\x01")
_BYTE_ORDER_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


class UnreadableError(ValueError):
    """The file cannot be checked: it is damaged, or of a format that nothing here reads."""


class UncheckedError(UnreadableError):
    """The file may well be sound: it is of a format that is not checked here."""


class Flaw(NamedTuple):
    """A check that the table breaks: in how many rows, and the first of them as (row from 1, what it holds)."""

    column: str
    check: str
    row_count: int
    rows: tuple[tuple[int, str], ...] = ()


def check_table(path: Path, schema: Mapping[str, Any]) -> list[Flaw]:
    """Every check of the schema that the file, or the folder of parts, breaks.

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
    flaws = [Flaw(name, _missing(name, table.present), 0) for name in missing]
    flaws += [flaw for check in checks if table.present.issuperset(check.columns) for flaw in check.flaws(path, wanted)]
    return [*lengths.flaws(), *flaws]


def read_cells(path: Path, wanted: Callable[[str], bool]) -> Iterator[Mapping[str, Sequence[Cell]]]:
    """The cells of the wanted columns, chunk by chunk; a null is None. Raises as `check_table`."""
    for chunk in _open(path, None, _RowLengths()).chunks:
        kept = {name: cells for name, cells in chunk.columns.items() if wanted(name)}
        yield {name: [None if cell is _ABSENT else cell for cell in cells] for name, cells in kept.items()}


def describe(name: str, flaw: Flaw) -> str:
    """One sentence: table, column, check, count, first rows."""
    where = f"{name}: column {flaw.column!r}" if flaw.column else name
    if not flaw.rows:
        return f"{where} {flaw.check}"
    shown = ", ".join(f"row {number}: {cell}" for number, cell in flaw.rows)
    plural = "s break" if flaw.row_count != 1 else " breaks"
    return f"{where} must be {flaw.check}: {flaw.row_count:,} row{plural} this ({shown})"


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


def _number(cell: Cell) -> int | float | Decimal | None:
    """The cell as a number, None for what is none."""
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
    """The cell as a time in UTC (a time without a zone counts as UTC); None for what is none."""
    if isinstance(cell, dt.datetime):
        return cell.astimezone(dt.timezone.utc) if cell.tzinfo else cell.replace(tzinfo=dt.timezone.utc)
    if isinstance(cell, dt.date):
        return dt.datetime(cell.year, cell.month, cell.day, tzinfo=dt.timezone.utc)
    found = _TIME.match(cell) if isinstance(cell, str) else None
    if found is None:
        return None
    day, minutes, seconds, fraction, zone = found.groups()
    offset = {None: "+00:00", "Z": "+00:00"}.get(zone) or zone
    offset = offset if ":" in offset else f"{offset[:3]}:{offset[3:]}"
    micros = (fraction or "0")[:6].ljust(6, "0")
    try:
        whole = dt.datetime.fromisoformat(f"{day}T{minutes or '00:00'}{seconds or ':00'}.{micros}{offset}")
        return whole.astimezone(dt.timezone.utc)
    except (ValueError, OverflowError):
        return None


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
        # Python's numbers may have underscores, and truth values are numbers to it.
        return all(map(str.isascii, texts)) and "_" not in "".join(texts) and all(True for _ in map(float, texts))
    except (TypeError, ValueError):
        return False


_ALL_READ_AS: Final[Mapping[str, Callable[[set[Cell]], bool]]] = MappingProxyType(
    {"integer": _all_integers, "number": _all_numbers}
)


def _shown(cell: Cell) -> str:
    text = repr(cell) if isinstance(cell, str) else str(cell)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}... ({len(text)} characters)"


# --- checks -----------------------------------------------------------------------------------------------------------


class _Chunk:
    """Some rows, column by column."""

    def __init__(self, columns: Mapping[str, Sequence[Cell]]) -> None:
        self.columns = columns
        self.row_count = len(next(iter(columns.values()), ()))
        self._different: dict[str, set[Cell]] = {}

    def different(self, column: str) -> set[Cell]:
        """The column's different cells: each is looked at once by every check."""
        if column not in self._different:
            self._different[column] = set(self.columns[column])
        return self._different[column]


class _CellCheck:
    """A condition that every cell of a column holds to or not by itself, or every pair of cells of two columns."""

    def __init__(
        self,
        columns: tuple[str, ...],
        text: str,
        is_bad: Callable[..., bool],
        are_sound: Callable[[set[Cell]], bool] = lambda _: False,
    ) -> None:
        """`are_sound` tells of all different cells at once, and faster, that none is bad; it may leave it open."""
        self.columns = columns
        self._text, self._is_bad, self._are_sound = text, is_bad, are_sound
        self._row_count = 0
        self._rows: list[tuple[int, str]] = []

    def add(self, chunk: _Chunk, rows_before: int) -> None:
        if len(self.columns) == 1:
            different = chunk.different(self.columns[0])
            bad = set() if self._are_sound(different) else set(filter(self._is_bad, different))
            cells: Iterable[Cell] = chunk.columns[self.columns[0]]
        else:
            cells = list(zip(*(chunk.columns[name] for name in self.columns), strict=True))
            bad = {pair for pair in set(cells) if self._is_bad(*pair)}
        if bad:
            self._note((number, cell) for number, cell in enumerate(cells, rows_before + 1) if cell in bad)

    def _note(self, broken: Iterable[tuple[int, Cell]]) -> None:
        for number, cell in broken:
            self._row_count += 1
            if len(self._rows) < _SHOWN_ROWS:
                shown = ", ".join(map(_shown, cell)) if isinstance(cell, tuple) else _shown(cell)
                self._rows.append((number, shown))

    def flaws(self, _path: Path, _wanted: Sequence[str]) -> list[Flaw]:
        return [Flaw(self.columns[0], self._text, self._row_count, tuple(self._rows))] if self._row_count else []


class _UniqueCheck:
    """No value stands twice. Kept of every value is a hash of 64 bits; the rows are looked for only if one repeats."""

    def __init__(self, column: str) -> None:
        self.columns = (column,)
        self._hashes = array("Q")

    def add(self, chunk: _Chunk, _rows_before: int) -> None:
        if len(self._hashes) < _MOST_KEYS:
            cells = chunk.columns[self.columns[0]]
            self._hashes.extend(_hash(cell) for cell in cells if cell is not None and cell is not _ABSENT)

    def flaws(self, path: Path, wanted: Sequence[str]) -> list[Flaw]:
        count, repeated = _repeats(self._hashes)
        if not count:
            return []
        return [
            Flaw(
                self.columns[0],
                "unique",
                count,
                tuple(itertools.islice(self._rows(path, wanted, repeated), _SHOWN_ROWS)),
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
                yield number, f"{_shown(cell)} again, first in row {first[key]}"
            first.setdefault(key, number)


def _hash(cell: Cell) -> int:
    # Of its text: -1 and -2 have the same hash as numbers.
    return hash(str(cell)) & 0xFFFF_FFFF_FFFF_FFFF


def _repeats(hashes: array[int]) -> tuple[int, set[int]]:
    """How many of them stood before, and which; part by part, so that no more than a part is in memory as a set."""
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
            are_sound = _ALL_READ_AS.get(kind, lambda _: False)
            yield _CellCheck((name,), f"of type {kind}", _unless_null(_misreads(kind)), are_sound)
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
        return _CellCheck((rule["column"], rule["other_column"]), rule["text"], _breaks_order(rule["comparison"]))
    return _CellCheck((rule["column"],), rule["text"], _unless_null(_BREAKERS[rule["kind"]](rule)))


def _is_null(cell: Cell) -> bool:
    return cell is None


def _unless_null(is_bad: Callable[[Cell], bool]) -> Callable[[Cell], bool]:
    return lambda cell: cell is not None and cell is not _ABSENT and is_bad(cell)


def _misreads(kind: str) -> Callable[[Cell], bool]:
    reads = _READS_AS[kind]
    return lambda cell: not reads(cell)


def _leaves_range(rule: Mapping[str, Any]) -> Callable[[Cell], bool]:
    low, high = rule["minimum"], rule["maximum"]
    is_time = isinstance(low if low is not None else high, str)
    below, above = (
        _side(low, is_out=rule["excludes_minimum"], sign=1),
        _side(high, is_out=rule["excludes_maximum"], sign=-1),
    )
    read: Callable[[Cell], Any] = _instant if is_time else _number

    def leaves(cell: Cell) -> bool:
        value = read(cell)
        return value is None or below(value) or above(value)

    return leaves


def _side(bound: Any, *, is_out: bool, sign: int) -> Callable[[Any], bool]:
    """Whether a value lies beyond a bound: below it for `sign` 1, above it for -1."""
    if bound is None:
        return lambda _: False
    if not isinstance(bound, str):
        return _beyond(bound, is_out=is_out, sign=sign)
    limit = _instant(bound)
    if len(bound) > len("2020-01-01"):
        return _beyond(limit, is_out=is_out, sign=sign)
    # A bound without a time of day is a whole day.
    beyond = _beyond(limit and limit.date(), is_out=is_out, sign=sign)
    return lambda value: beyond(value.date())


def _beyond(limit: Any, *, is_out: bool, sign: int) -> Callable[[Any], bool]:
    if sign > 0:
        return (lambda value: not value > limit) if is_out else (lambda value: not value >= limit)
    return (lambda value: not value < limit) if is_out else (lambda value: not value <= limit)


def _leaves_length(rule: Mapping[str, Any]) -> Callable[[Cell], bool]:
    leaves = _leaves_range(rule)
    return lambda cell: leaves(len(cell if isinstance(cell, str) else str(cell)))


def _in_values(rule: Mapping[str, Any]) -> Callable[[Cell], bool]:
    texts = frozenset(rule["values"])
    numbers = frozenset(number for text in texts if (number := _number_in(text)) is not None)

    def holds(cell: Cell) -> bool:
        if isinstance(cell, bool):
            return str(cell).lower() in {text.lower() for text in texts}
        return str(cell) in texts or (bool(numbers) and _number(cell) in numbers)

    return holds


def _not_in_values(rule: Mapping[str, Any]) -> Callable[[Cell], bool]:
    holds = _in_values(rule)
    return lambda cell: not holds(cell)


def _mismatches(rule: Mapping[str, Any]) -> Callable[[Cell], bool]:
    pattern = re.compile(rule["pattern"])
    return lambda cell: pattern.fullmatch(cell if isinstance(cell, str) else str(cell)) is None


def _misread_type(rule: Mapping[str, Any]) -> Callable[[Cell], bool]:
    return _misreads(rule["type"])


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


def _breaks_order(sign: str) -> Callable[[Cell, Cell], bool]:
    holds = _HOLDS[sign]

    def breaks(one: Cell, other: Cell) -> bool:
        if one is None or other is None or one is _ABSENT:
            return False
        for read in (_number, _instant):
            values = read(one), read(other)
            if None not in values:
                return not holds(*values)
        if isinstance(one, str) and isinstance(other, str):
            return not holds(one, other)
        return sign != "!="

    return breaks


# --- reading ----------------------------------------------------------------------------------------------------------


class _Table(NamedTuple):
    """`names` are the columns of the chunks; `present`, complete when they have ended, those that are really there."""

    names: list[str]
    present: set[str]
    chunks: Iterator[_Chunk]


class _RowLengths:
    """Rows that are not as long as the header: none of their cells is sure to stand in its column."""

    def __init__(self) -> None:
        self._row_count = 0
        self._rows: list[tuple[int, str]] = []

    def add(self, number: int, row: Sequence[str]) -> None:
        self._row_count += 1
        if len(self._rows) < _SHOWN_ROWS:
            self._rows.append((number, f"{len(row)} cells"))

    def flaws(self) -> list[Flaw]:
        return [Flaw("", "a row as long as the header", self._row_count, tuple(self._rows))] if self._row_count else []


def _open(path: Path, wanted: Sequence[str] | None, lengths: _RowLengths) -> _Table:
    """The columns of the file that are wanted and there, and its rows in chunks; of a folder, of all its parts."""
    if not path.is_dir():
        return _open_file(path, wanted, lengths)
    parts = [part for part in sorted(path.rglob("*")) if part.is_file() and part.name[0] not in "._"]
    if not parts:
        raise UnreadableError(f"{path} is a folder without files")
    tables = [_open_file(part, wanted, lengths) for part in parts]
    names = [name for name in tables[0].names if all(name in table.names for table in tables)]
    return _Table(
        names,
        set.intersection(*(table.present for table in tables)),
        itertools.chain.from_iterable(table.chunks for table in tables),
    )


def _open_file(path: Path, wanted: Sequence[str] | None, lengths: _RowLengths) -> _Table:
    with path.open("rb") as file:
        mark = file.read(8)
    if mark.startswith((b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")):
        return _open_arrow(path, mark, wanted)
    if mark.startswith((b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\xd0\xcf\x11\xe0", b"ORC")):
        raise UncheckedError(f"{path} is of a format that is not checked (Excel, ORC, zstd); pass it as CSV or Parquet")
    opener = _opener(mark)
    head = _head(path, opener)
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableError(f"{path} holds binary data of no known format")
    encoding = _encoding(head)
    start = head.decode(encoding, errors="replace").lstrip("\ufeff \t\r\n")
    lines = _lines(path, opener, encoding)
    # Objects, or a list of them; a header of delimited text may begin with a bracket too.
    if re.match(r'\{\s*["}]|\[\s*[{\]]', start):
        return _open_json(path, opener, encoding, wanted)
    return _open_delimited(lines, start, wanted, lengths)


def _head(path: Path, opener: Callable[[Path], IO[bytes]]) -> bytes:
    with _damage_told(path), opener(path) as raw:
        return raw.read(_HEAD_BYTES)


@contextlib.contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    import lzma
    import zlib

    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise UnreadableError(f"{path} is cut off or damaged ({error})") from error


def _opener(mark: bytes) -> Callable[[Path], IO[bytes]]:
    import bz2
    import gzip
    import lzma

    openers: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
    found = next((opener for start, opener in openers.items() if mark.startswith(start)), None)
    return found or (lambda path: path.open("rb"))


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
    """The lines with their ends, as the csv module wants them. Raises UnreadableError for one without an end."""
    rest = ""
    for block in _blocks(path, opener, encoding):
        # Lines of old that end in a carriage return alone.
        whole = rest + (block if "\n" in block else block.replace("\r", "\n"))
        *lines, rest = whole.split("\n")
        if len(rest) >= _LONGEST_LINE_CHARS:
            raise UnreadableError(f"{path} holds a line of more than {_LONGEST_LINE_CHARS:,} characters")
        yield from (f"{line}\n" for line in lines)
    if rest:
        yield rest


def _blocks(path: Path, opener: Callable[[Path], IO[bytes]], encoding: str) -> Iterator[str]:
    with (
        _damage_told(path),
        opener(path) as raw,
        io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline="") as file,
    ):
        while block := file.read(_READ_CHARS):
            yield block


class _Dialect(NamedTuple):
    """How text is delimited; `comment_lines`, which begin with `#`, come before the header."""

    delimiter: str = ","
    quote: str = '"'
    escape: str | None = None
    comment_lines: int = 0

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """The rows that are not empty, the header first."""
        reader = csv.reader(
            itertools.islice(lines, self.comment_lines, None),
            delimiter=self.delimiter,
            quotechar=self.quote,
            escapechar=self.escape,
            doublequote=self.escape is None,
        )
        return filter(None, reader)


def _open_delimited(lines: Iterator[str], start: str, wanted: Sequence[str] | None, lengths: _RowLengths) -> _Table:
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_LINE_CHARS))
    first = next(lines, "").lstrip("\ufeff")
    rows = _dialect(start, set(wanted or ())).rows(itertools.chain([first], lines))
    header = _unique_names(next(rows, []))
    places = {name: position for position, name in enumerate(header) if wanted is None or name in wanted}
    return _Table(list(places), set(header), _text_chunks(rows, len(header), places, lengths))


def _dialect(start: str, wanted: set[str]) -> _Dialect:
    """The delimiter that parts the header into the most of the wanted names, and then into the most cells."""
    lines = start.splitlines(keepends=True)
    comment_lines = len(list(itertools.takewhile(lambda line: re.match(r"#\s", line), lines)))
    quote, escape = _quoting(start)

    def found(dialect: _Dialect) -> tuple[int, int]:
        header = next(dialect.rows(lines), [])
        return len(wanted & set(_unique_names(header))), len(header)

    return max((_Dialect(delimiter, quote, escape, comment_lines) for delimiter in _DELIMITERS), key=found)


def _quoting(text: str) -> tuple[str, str | None]:
    """The quote, and what stands before one within a text where quotes are not doubled."""
    if '\\"' in text and re.search(r'(?:^|[,;\t|])"', text, re.MULTILINE):
        return '"', "\\"
    single = re.findall(r"(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|\r\n]|$)", text, re.MULTILINE)
    return ("'", None) if '"' not in text and len(single) > 1 else ('"', None)


def _unique_names(names: Sequence[str]) -> list[str]:
    """The names as pandas makes them unique: `a`, `a.1`, `Unnamed: 2`."""
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
    rows: Iterator[list[str]], width: int, places: Mapping[str, int], lengths: _RowLengths
) -> Iterator[_Chunk]:
    number = 0
    absent: list[Any] = [_ABSENT] * width
    while chunk := _rows(rows):
        for offset, row in enumerate(chunk):
            if len(row) != width:
                lengths.add(number + offset + 1, row)
                chunk[offset] = absent  # so that the rows after it keep their numbers
        number += len(chunk)
        columns = list(zip(*chunk, strict=True))
        yield _Chunk({name: _with_nulls(columns[at]) for name, at in places.items()})


def _with_nulls(cells: Sequence[str]) -> Sequence[Cell]:
    return cells if NULLS.isdisjoint(cells) else [None if cell in NULLS else cell for cell in cells]


def _rows(rows: Iterator[list[str]]) -> list[list[str]]:
    try:
        return list(itertools.islice(rows, _CHUNK_ROWS))
    except csv.Error as error:
        raise UnreadableError(f"it cannot be read as delimited text ({error})") from error


def _open_json(path: Path, opener: Callable[[Path], IO[bytes]], encoding: str, wanted: Sequence[str] | None) -> _Table:
    present = set[str]()
    return _Table(list(wanted or ()), present, _json_chunks(_records(path, opener, encoding), wanted, present))


def _json_chunks(
    records: Iterator[dict[str, Any]], wanted: Sequence[str] | None, present: set[str]
) -> Iterator[_Chunk]:
    while chunk := list(itertools.islice(records, _CHUNK_ROWS)):
        present.update(*chunk)
        names = present if wanted is None else wanted
        yield _Chunk({name: _told_apart([_plain(record.get(name)) for record in chunk]) for name in names})


def _told_apart(cells: list[Cell]) -> list[Cell]:
    """The cells with truth values as text where they stand among others: True equals 1."""
    kinds = set(map(type, cells)) - {type(None)}
    return (
        [str(cell) if isinstance(cell, bool) else cell for cell in cells] if bool in kinds and len(kinds) > 1 else cells
    )


def _records(path: Path, opener: Callable[[Path], IO[bytes]], encoding: str) -> Iterator[dict[str, Any]]:
    """The objects of JSON Lines, or of one list, decoded one after the other."""
    text = "\ufeff \t\r\n"
    blocks = (block for block in _blocks(path, opener, encoding) if block.strip(text))
    first = next(blocks, "").lstrip(text)
    buffer, needed_chars = "", 0
    for piece in itertools.chain([first.removeprefix("[")], blocks, [None]):
        buffer += piece or ""
        # A value that is not whole yet is tried again when much has come: each time anew would take for ever.
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
        raise UnreadableError(f"{path} is no JSON from {_shown(buffer[:_SHOWN_CHARS])} on")


def _values(text: str) -> Iterator[tuple[Any, int]]:
    """The whole values that the text begins with, each with the place of its end."""
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
    """A nested value as its text; a number that is none as null."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return None if isinstance(value, float) and math.isnan(value) else value


def _open_arrow(path: Path, mark: bytes, wanted: Sequence[str] | None) -> _Table:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UncheckedError(f"{path} is a Parquet or Arrow file, and pyarrow is not installed to check it") from None
    try:
        if mark.startswith(b"PAR1"):
            parquet = pq.ParquetFile(path)
            names = [name for name in parquet.schema_arrow.names if wanted is None or name in wanted]
            return _Table(
                names, set(names), map(_arrow_chunk, parquet.iter_batches(batch_size=_CHUNK_ROWS, columns=names))
            )
        reader = pa.ipc.open_file(path) if mark.startswith(b"ARROW1") else pa.ipc.open_stream(path)
        batches = (
            (reader.get_batch(at) for at in range(reader.num_record_batches)) if mark[:1] == b"A" else iter(reader)
        )
        names = [name for name in reader.schema.names if wanted is None or name in wanted]
        return _Table(names, set(reader.schema.names), (_arrow_chunk(batch.select(names)) for batch in batches))
    except (pa.ArrowException, OSError) as error:
        raise UnreadableError(f"{path} cannot be read ({error})") from error


def _arrow_chunk(batch: Any) -> _Chunk:
    return _Chunk({name: [_plain(cell) for cell in batch.column(name).to_pylist()] for name in batch.schema.names})


# --- all files of a run -----------------------------------------------------------------------------------------------


def check_folder(schemas: Mapping[str, Any], folder: Path) -> list[str]:
    """What the files of a folder, by the names of their schemas, break: one sentence each.

    On stderr stands what is of a format that is not checked.
    """
    found: list[str] = []
    for name, schema in schemas.items():
        if (folder / name).exists():
            try:
                found += [describe(name, flaw) for flaw in check_table(folder / name, schema)]
            except UncheckedError as error:
                sys.stderr.write(f"{name} is not checked: {error}\n")
            except (UnreadableError, OSError) as error:
                found.append(f"{name}: {error}")
    return found
