"""What the cells of one column hold, and how a new value is spelled like them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from flyteplugins_codegen.models.data import ColumnProfile

_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?(\d*)|\.(\d+))\s*")
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|[+-]\d\d:?\d\d)?)?")
_KEY_NAME = re.compile(
    r"(?:.*[_\s.-])?(?:id|ids|key|code|no|nr|number|uuid|guid|index|sku|isbn|zip|postcode)", re.IGNORECASE
)
_CAMEL_KEY = re.compile(r".*[a-z](?:Id|ID|Key|Code|Number)")
_MOST_DECIMALS = 6
_NEAR = 0.1


@dataclass(frozen=True)
class Column:
    """One column of the rows that derived files are made of.

    `values` are the cells' values, `numbers` what they amount to: numbers, days since the year 1 for dates, None for
    nulls and in columns of texts. `step` is the smallest difference that the spelling of numbers shows. `is_fixed`:
    its values refer to another column or sample. `has_clock`: its time stamps have a time of day.
    """

    name: str
    position: int
    values: Sequence[Any]
    numbers: Sequence[float | None]
    is_number: bool
    is_time: bool
    has_clock: bool
    is_unique: bool
    is_key: bool
    is_fixed: bool
    decimals: int

    @classmethod
    def describe(
        cls, name: str, position: int, values: Sequence[Any], profile: ColumnProfile, *, is_fixed: bool
    ) -> Column:
        """Describe a column from its values in the rows that were taken and its profile over the whole sample."""
        filled = [value for value in values if value is not None]
        is_number = bool(filled) and all(_number(value) is not None for value in filled)
        days = [] if is_number else [_day(value) for value in filled]
        is_time = bool(days) and None not in days
        read = _number if is_number else _day if is_time else lambda _: None
        numbers = [None if value is None else read(value) for value in values]
        is_whole = is_number and all(_decimals(value) == 0 for value in filled)
        is_named = bool(_KEY_NAME.fullmatch(name) or _CAMEL_KEY.fullmatch(name))
        return cls(
            name=name,
            position=position,
            values=values,
            numbers=numbers,
            is_number=is_number,
            is_time=is_time,
            has_clock=is_time and any(_has_clock(value) for value in filled),
            is_unique=profile.is_unique,
            is_key=is_named or (profile.is_unique and (is_whole or not is_number)),
            is_fixed=is_fixed,
            decimals=max(map(_decimals, filled), default=0) if is_number else 0,
        )

    @property
    def is_free(self) -> bool:
        """Whether a value may be given to another row."""
        return not (self.is_fixed or self.is_unique or self.is_key)

    @property
    def step(self) -> float:
        """The smallest difference that the spelling shows."""
        return float(Decimal(1).scaleb(-min(self.decimals, _MOST_DECIMALS)))

    def is_near(self, number: float) -> bool:
        """Whether a number is within the values, or so near that it could be one of them."""
        held = [value for value in self.numbers if value is not None]
        low, high = min(held), max(held)
        margin = _NEAR * (high - low)
        return low - margin <= number <= high + margin and (number >= 0 or low < 0) and (number <= 0 or high > 0)


def spelled_number(old: Any, value: float, column: Column) -> str | float | None:
    """Return a number in the spelling of the old value: as text with its decimals, or of its type."""
    if isinstance(old, str):
        shown = max(column.decimals if _decimals(old) else 0, 1 if "." in old else 0, _decimals(value))
        return f"{value:.{shown}f}" if old == old.strip() else None
    if isinstance(old, int) and not float(value).is_integer():
        return float(value) if column.decimals else None
    return int(value) if isinstance(old, int) else float(value)


def spelled_date(old: Any, day: dt.date) -> Any:
    """Return a day in the spelling of the old value, which keeps its time of day; None if it has another form."""
    if isinstance(old, str):
        return day.isoformat() + old[10:] if _DAY.fullmatch(old) else None
    if isinstance(old, dt.datetime):
        return old.replace(year=day.year, month=day.month, day=day.day)
    return day if isinstance(old, dt.date) else None


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        is_code = re.match(r"\s*[+-]?0\d", value)
        return float(value) if _NUMBER.fullmatch(value) and not is_code else None
    return float(value) if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) else None


def _decimals(value: Any) -> int:
    """Return how many decimals a number shows; a float that is whole shows none."""
    text = value if isinstance(value, str) else format(Decimal(repr(value) if isinstance(value, float) else value), "f")
    match = _NUMBER.fullmatch(text)
    shown = (match[1] or match[2] or "") if match else ""
    return len(shown) if isinstance(value, str) else len(shown.rstrip("0"))


def _day(value: Any) -> float | None:
    if isinstance(value, dt.date):
        return float(value.toordinal())
    match = _DAY.fullmatch(value) if isinstance(value, str) else None
    try:
        return float(dt.date.fromisoformat(match[1]).toordinal()) if match else None
    except ValueError:
        return None


def _has_clock(value: Any) -> bool:
    if isinstance(value, dt.datetime):
        return value.time() != dt.time()
    match = _DAY.fullmatch(value) if isinstance(value, str) else None
    return bool(match and match[2] and match[2].strip("0:."))
