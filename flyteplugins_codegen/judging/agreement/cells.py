"""When two cells, or two numbers or texts, mean the same."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from flyteplugins_codegen.judging.equality import REFERENCE_OUTPUTS, are_close
from flyteplugins_codegen.portable.validator import NULLS

CellKind: TypeAlias = Literal["number", "boolean", "time", "text"]

_NUMBER = re.compile(r"[+-]?(?:\d+\.?(\d*)|\.(\d+))([eE][+-]?\d+)?")
_INFINITIES = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "infinity": math.inf, "-infinity": -math.inf}
_CODE = re.compile(r"[+-]?0\d{2,}|[+-]?0\d(?=\.)")
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:\.(\d{1,9}))?(?: ?(Z|UTC|[+-]\d\d:?\d\d))?)?", re.IGNORECASE
)
_SECONDS = re.compile(r"([+-]?\d+(?:\.\d+)?)s")
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
_WORD_BOOLEANS = frozenset({"true", "false"})
_MANY_DECIMALS = 17
_LARGEST_EXACT = 2**53
_MOST_UNIT_DECIMALS = 9
_TOKENS = re.compile(r"(?<![\w.])[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w]|\.\d)")


@dataclass(frozen=True, slots=True)
class Leniency:
    """What counts as the same number beside the tolerance.

    `rounds`: one side may be the other one, rounded to the decimals that it shows. `last_digit`: they may differ by one
    in the last decimal that is shown, as halves rounded by different rules do.
    """

    rounds: bool = True
    last_digit: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """A number and how many decimals its spelling shows."""

    value: float
    decimals: int


def is_null(cell: Any) -> bool:
    """Whether a cell is a null, in any spelling."""
    if isinstance(cell, str):
        return cell.strip() in NULLS
    return cell is None or cell != cell  # noqa: PLR0124 - NaN and NaT differ from themselves


def read_number(cell: Any) -> Number | None:
    """Return the number that a cell holds. A text with leading zeros, such as `00123`, is a code and none."""
    if isinstance(cell, int) and not isinstance(cell, bool):
        return Number(cell, 0)
    if isinstance(cell, (float, Decimal)):
        cell = repr(float(cell))
    text = cell.strip() if isinstance(cell, str) else ""
    match = _NUMBER.fullmatch(text)
    if match is None or _CODE.fullmatch(text):
        infinite = _INFINITIES.get(text.casefold())
        return None if infinite is None else Number(infinite, 0)
    shown = match[1] or match[2] or ""
    if not shown and not match[3]:
        return Number(int(text), 0) if len(text) < 400 else None  # noqa: PLR2004 - int() of a long text takes long
    return Number(float(text), _MANY_DECIMALS if match[3] else len(shown))


def read_boolean(cell: Any) -> bool | None:
    """Return the boolean that a cell holds; 1 and 0 are some too."""
    return cell if isinstance(cell, bool) else _BOOLEANS.get(str(cell).strip().casefold())


def read_time(cell: Any) -> float | None:
    """Return the instant that a cell holds in ISO 8601, in seconds since 1970; a time without a zone is in UTC."""
    if isinstance(cell, dt.datetime):
        return cell.replace(tzinfo=cell.tzinfo or dt.timezone.utc).timestamp()
    if isinstance(cell, dt.date):
        return dt.datetime(cell.year, cell.month, cell.day, tzinfo=dt.timezone.utc).timestamp()
    match = _TIME.fullmatch(cell.strip()) if isinstance(cell, str) else None
    if match is None:
        return None
    day, clock, seconds, fraction, zone = match.groups()
    offset = "+00:00" if zone is None or zone.upper() in {"Z", "UTC"} else zone
    offset = offset if ":" in offset else f"{offset[:3]}:{offset[3:]}"
    try:
        instant = dt.datetime.fromisoformat(f"{day}T{clock or '00:00'}{seconds or ':00'}{offset}").timestamp()
    except (ValueError, OverflowError):
        return None
    return instant + float(f"0.{fraction or 0}")


def common_kind(cells: Iterable[Any]) -> CellKind:
    """Return what all cells that are no nulls can be read as; the cells are those of both sides."""
    filled = [cell for cell in cells if not is_null(cell)]
    if all(read_number(cell) is not None for cell in filled):
        return "number"
    if all(read_boolean(cell) is not None for cell in filled):
        return "boolean"
    return "time" if all(read_time(cell) is not None for cell in filled) else "text"


def cell_key(cell: Any, kind: CellKind) -> Any:
    """Return a value that is the same for cells that mean the same exactly; None for nulls."""
    if is_null(cell):
        return None
    if kind == "boolean":
        return read_boolean(cell)
    if kind == "time":
        return read_time(cell)
    number = read_number(cell)
    if number is not None:
        return number.value if kind == "number" else float(f"{number.value:.9g}")
    return _text_of(cell)


def _text_of(cell: Any) -> str:
    if isinstance(cell, (dict, list)):
        import json

        return json.dumps(cell, sort_keys=True, default=str)
    return str(cell).strip()


def same_numbers(one: Number, other: Number, leniency: Leniency) -> bool:
    """Whether two numbers are the same within tolerance and leniency. Whole numbers are the same only if equal."""
    first, second = one.value, other.value
    if first == second:
        return True
    if math.isinf(first) or math.isinf(second):
        return False
    if not (_is_whole(first) and _is_whole(second)) and are_close(first, second, REFERENCE_OUTPUTS):
        return True
    distance = abs(first - second)
    fewer, shown = sorted((one.decimals, other.decimals))
    # 2.5 may be 2.4617 rounded; beside 2.46 it is another number of a program that does not round.
    is_rounded = 0 < fewer < (shown - 1 if fewer == 1 else shown)
    if leniency.rounds and is_rounded and distance <= _unit(fewer) / 2:
        return True
    return leniency.last_digit and 0 < shown <= _MOST_UNIT_DECIMALS and distance <= _unit(shown)


def _unit(decimals: int) -> float:
    """Return one in the last decimal, and a little more for the error of binary fractions."""
    return 10.0**-decimals * (1 + 1e-6)


def _is_whole(value: float) -> bool:
    return isinstance(value, int) or (value.is_integer() and abs(value) < _LARGEST_EXACT)


def same_texts(one: str, other: str, leniency: Leniency) -> bool:
    """Whether two texts are the same but for blanks, and for numbers in them that are the same."""
    if one.split() == other.split():
        return True
    texts = [_TOKENS.split(text) for text in (one, other)]
    if [part.split() for part in texts[0]] != [part.split() for part in texts[1]]:
        return False
    numbers = [[read_number(token) for token in _TOKENS.findall(text)] for text in (one, other)]
    return all(a is not None and b is not None and same_numbers(a, b, leniency) for a, b in zip(*numbers, strict=True))


def same_values(one: Any, other: Any, leniency: Leniency) -> bool:
    """Whether two single values mean the same, each of them read as number, time or text."""
    if is_null(one) or is_null(other):
        return is_null(one) and is_null(other)
    numbers = read_number(_without_unit(one)), read_number(_without_unit(other))
    if numbers[0] is not None and numbers[1] is not None:
        return same_numbers(numbers[0], numbers[1], leniency)
    times = read_time(one), read_time(other)
    if times[0] is not None and times[1] is not None:
        return math.isclose(times[0], times[1], rel_tol=0, abs_tol=1e-6)
    if isinstance(one, bool) or isinstance(other, bool):
        return read_boolean(one) is not None and str(one).casefold() == str(other).strip().casefold()
    return same_texts(str(one), str(other), leniency)


def _without_unit(value: Any) -> Any:
    """Return a duration such as `5400s` as its number."""
    match = _SECONDS.fullmatch(value.strip()) if isinstance(value, str) else None
    return match[1] if match else value
