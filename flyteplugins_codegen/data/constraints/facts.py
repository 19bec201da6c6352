"""What the cells of a column tell about it: what they are, how they are written, and which texts occur.

A sentence such as `shipped after 03/04/2024` has a meaning only together with these facts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

from flyteplugins_codegen.models.data import ColumnProfile, SampleProfile
from flyteplugins_codegen.portable.validator import UnreadableError, instant_reader, number_reader, read_cells

Kind: TypeAlias = Literal["number", "time", "clock", "boolean", "text", "unknown"]
_MOST_CELLS = 2_000_000
_MOST_VALUES = 20_000
# The share of a column's texts that a notation must fit: the others are what constraints are there to find.
_FITTING = 0.95
_NUMBER_TYPE = re.compile(r"u?int\d+|double|float|halffloat|decimal.*")
_TIME_TYPE = re.compile(r"timestamp.*|date(?:32|64).*")
_TIMES_OF_DAY = (
    "",
    *(f"{joint}{clock}" for joint in (" ", "T", ", ") for clock in ("%H:%M:%S", "%H:%M", "%I:%M %p", "%I:%M:%S %p")),
)
_DAY_AND_MONTH = (("%d", "%m"), ("%m", "%d"))
_DAYS = (
    *("%d.%m.%Y", "%d.%m.%y", "%Y/%m/%d", "%Y.%m.%d"),
    *(f"{first}{sign}{last}{sign}{year}" for sign in "/-" for first, last in _DAY_AND_MONTH for year in ("%Y", "%y")),
    *("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y"),
)  # fmt: skip
_CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p")
_FIRST_YEAR, _LAST_YEAR = 1500, 2200
_MOST_TRIED = 20
_FIRST_CELLS = 200
_LIKE_A_DATE = re.compile(r"\d{1,4}[./-]\d|\d[ -][A-Za-z]{3}|[A-Za-z]{3} \d")
_ONE_DAY_FORM = re.compile(r"%[dm]([/-])%[dm]\1(%[yY])")
_GROUPS_OF_COMMAS = re.compile(r"\D*[1-9]\d{0,2}(?:,\d{3})+\D*")
_COMMA_DECIMALS = re.compile(r"\D*(?:0,\d{3}|\d+,(?:\d{1,2}|\d{4,}))\D*")


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What is known of a column; of a column without a sample, nothing.

    `notation` is that of a `Rule`; it `is_undecided` if no cell says whether 03/04/2024 is in March or in April.
    `values` are texts that occur, `minimum` and `maximum` the least and the greatest number. `is_delimited` says that
    the file is delimited text, in which every cell is a text.
    """

    kind: Kind = "unknown"
    notation: str = ""
    is_undecided: bool = False
    is_percent: bool = False
    currency: str = ""
    are_whole: bool = False
    minimum: float | None = None
    maximum: float | None = None
    values: frozenset[str] = frozenset()
    arrow_type: str = ""
    is_delimited: bool = False

    @property
    def decimal_mark(self) -> str:
        """The decimal mark of the column's numbers, empty if none of them shows it."""
        if self.notation in {".", ","}:
            return self.notation
        return "." if self.kind == "number" and not self.are_whole else ""

    @property
    def has_years(self) -> bool:
        """Whether the numbers look like years."""
        if self.minimum is None or self.maximum is None or not self.are_whole:
            return False
        return self.minimum >= _FIRST_YEAR and self.maximum <= _LAST_YEAR


def table_facts(profile: SampleProfile, path: Path) -> dict[str, ColumnFacts]:
    """The facts of all columns, from the first rows of the sample's file, or from its profile if no reader knows it."""
    cells = _first_cells(profile, path)
    facts = {name: column_facts(cells.get(name, ()), column.arrow_type) for name, column in profile.columns.items()}
    is_delimited = profile.format == "csv"
    return {name: replace(one, is_delimited=is_delimited) for name, one in _with_shared_order(facts).items()}


def _first_cells(profile: SampleProfile, path: Path) -> Mapping[str, Iterable[Any]]:
    distinct: dict[str, dict[Any, None]] = {name: {} for name in profile.columns}
    cell_count = 0
    try:
        for chunk in read_cells(path, distinct.__contains__):
            for name, cells in chunk.items():
                if len(distinct[name]) < _MOST_VALUES:
                    distinct[name].update(dict.fromkeys(cells))
                cell_count += len(cells)
            if cell_count > _MOST_CELLS:
                break
    except (UnreadableError, OSError):
        return {name: _profiled(column, profile) for name, column in profile.columns.items()}
    return distinct


def _profiled(column: ColumnProfile, profile: SampleProfile) -> list[Any]:
    rows = [row.get(column.name) for row in profile.sample_rows]
    return [*(value for value, _ in column.top_values), column.minimum, column.maximum, *rows]


def column_facts(cells: Iterable[Any], arrow_type: str = "string") -> ColumnFacts:
    """The facts of a column with these cells, which may repeat."""
    valid = dict.fromkeys(cell for cell in cells if cell is not None)
    texts = frozenset(islice((str(cell) for cell in valid), _MOST_VALUES))
    known = ColumnFacts(values=texts, arrow_type=arrow_type)
    if not valid:
        return known
    if arrow_type == "bool":
        return replace(known, kind="boolean")
    if _TIME_TYPE.fullmatch(arrow_type):
        return replace(known, kind="time")
    if arrow_type.startswith("time"):
        return replace(known, kind="clock", notation=_fitting(_CLOCKS, sorted(texts)) if texts else "")
    numbers = _number_facts(known, list(valid))
    if _NUMBER_TYPE.fullmatch(arrow_type):
        return numbers or replace(known, kind="number")
    return (
        numbers or _time_facts(known, [cell for cell in valid if isinstance(cell, str)]) or replace(known, kind="text")
    )


def _number_facts(known: ColumnFacts, cells: list[Any]) -> ColumnFacts | None:
    texts = [cell.strip() for cell in cells if isinstance(cell, str)]
    is_plain = _fits(number_reader(""), cells)
    marks = [] if is_plain else [mark for mark in (".", ",") if _fits(number_reader(mark), cells)]
    if not (is_plain or marks):
        return None
    notation = "" if is_plain else _decimal_mark(marks, texts)
    if notation is None:
        return replace(known, kind="text")
    read = number_reader(notation)
    values = [float(value) for value in map(read, cells) if value is not None and not math.isnan(value)]
    return replace(
        known,
        kind="number",
        notation=notation,
        is_percent=sum(text.endswith("%") for text in texts) > len(cells) / 2,
        currency=_currency(texts),
        are_whole=all(value.is_integer() for value in values),
        minimum=min(values, default=None),
        maximum=max(values, default=None),
    )


def _decimal_mark(marks: list[str], texts: list[str]) -> str | None:
    """The mark that the texts show, None if they may be read both ways: `1,200` and `0,125`."""
    if len(marks) == 1:
        return marks[0]
    with_commas = [text for text in texts if "," in text]
    if not with_commas:
        return "."
    if all(map(_GROUPS_OF_COMMAS.fullmatch, with_commas)):
        return "."
    return "," if any(map(_COMMA_DECIMALS.fullmatch, with_commas)) else None


def _currency(texts: list[str]) -> str:
    signs = {sign for text in texts for sign in re.findall(r"US\$|[$€£¥₹]|[A-Z]{3}", text)}
    return signs.pop() if len(signs) == 1 else ""


def _time_facts(known: ColumnFacts, texts: list[str]) -> ColumnFacts | None:
    if not texts:
        return None
    if _fits(instant_reader(""), texts):
        return replace(known, kind="time")
    clock = _fitting(_CLOCKS, texts)
    if clock:
        return replace(known, kind="clock", notation=clock)
    first = [text for text in texts[:_MOST_TRIED] if _LIKE_A_DATE.search(text)]
    if len(first) < _FITTING * len(texts[:_MOST_TRIED]):
        return None
    formats = [day + time for day in _DAYS for time in _TIMES_OF_DAY if _fitting((day + time,), first)]
    fitting = [form for form in formats if _fitting((form,), texts)]
    if not fitting:
        return None
    is_undecided = any(_day_form(one) == _day_form(two) for one in fitting for two in fitting if one != two)
    return replace(known, kind="time", notation=fitting[0], is_undecided=is_undecided)


def _day_form(notation: str) -> str:
    """The form of a date without the order of its day and month."""
    return _ONE_DAY_FORM.sub(r"n\1n\1\2", notation)


def _fitting(formats: Iterable[str], texts: list[str]) -> str:
    return next((form for form in formats if _fits(_exact_reader(form), texts)), "")


def _exact_reader(form: str) -> Callable[[Any], Any]:
    read = instant_reader(form)
    iso = instant_reader("")
    return lambda text: read(text) if iso(text) is None else None


def _fits(read: Callable[[Any], Any], cells: list[Any]) -> bool:
    """Whether nearly all cells can be read so; the first few decide whether it is worth to look at all."""
    return all(
        sum(read(cell) is not None for cell in some) >= _FITTING * len(some) for some in (cells[:_FIRST_CELLS], cells)
    )


def _with_shared_order(facts: Mapping[str, ColumnFacts]) -> dict[str, ColumnFacts]:
    """The facts, with dates that may be read in two orders read as the others of the table, if these agree."""
    decided = {
        (_day_form(one.notation)[:5], one.notation[:2])
        for one in facts.values()
        if one.kind == "time" and not one.is_undecided and _ONE_DAY_FORM.match(one.notation)
    }
    return {name: _decided(one, decided) if one.is_undecided else one for name, one in facts.items()}


def _decided(facts: ColumnFacts, decided: set[tuple[str, str]]) -> ColumnFacts:
    orders = {first for form, first in decided if form == _day_form(facts.notation)[:5]}
    if len(orders) != 1:
        return facts
    first = orders.pop()
    other = "%m" if first == "%d" else "%d"
    written = _ONE_DAY_FORM.sub(lambda day: f"{first}{day[1]}{other}{day[1]}{day[2]}", facts.notation)
    return replace(facts, notation=written, is_undecided=False)
