"""Holds a solution against recorded calls: what each gives, against what the canonical solution gave.

A part of the program that judges by values: standard library only, it runs inside the sandbox, in the judge. The tests
of a problem of HumanEval+ or MBPP+ are `check = Cases(...).check`. How close values must be is the rule of evalplus
0.3.1: equal, or, for floats, within `tolerance` and a relative 1e-7 (that of `numpy.allclose`), with a rule of its own
for each of the few problems that have several right answers. Unlike there, NaN equals NaN, as otherwise a canonical
solution fails itself.
"""

from __future__ import annotations

from binascii import a2b_base64
from zlib import decompress

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from flyteplugins_codegen.sandbox.values import plain_data
    from flyteplugins_codegen.sandbox.values.plain_data import Tree
else:
    import plain_data

RELATIVE = 1e-7
FLOAT_TOLERANCE = 1e-6  # of floats where the problem names none
MAX_CHARS = 300


class Cases:
    """Calls with what they are to return, each on a line of its own, as `plain_data.write_call` has them."""

    def __init__(self, packed: str, rule: str, tolerance: float) -> None:
        self._packed, self._rule, self._tolerance = packed, RULES[rule], tolerance

    def check(self, candidate: Callable[..., Any]) -> None:
        """Call the candidate with each case. Raises AssertionError for the first that is wrong."""
        lines = decompress(a2b_base64(self._packed)).splitlines()
        cases = zip(lines[::2], lines[1::2], strict=True)
        for number, call in candidate.others(cases):  # type: ignore[attr-defined]  # the judge's stub has it
            is_as_wanted, found = call.result()
            if is_as_wanted:
                continue
            expected = value_of(plain_data.read_text(call.wanted))
            if not self._rule(found, expected, call.args(), self._tolerance):
                fail(number, len(lines) // 2, shown(expected))


def fail(number: int, count: int, expected: str) -> NoReturn:
    """In a function of its own, because the values of its names are told with the failure."""
    raise AssertionError(f"input {number} of {count}: expected {expected}")


def value_of(tree: Tree) -> Any:
    """A value of its own, whatever became of another one of the same tree."""
    return plain_data.Reader(refuse, []).value(tree)


def refuse(_: Tree) -> Any:
    """Called for what is no plain data, which no case holds."""
    raise plain_data.MalformedError("an object among the values of a case")


def shown(value: Any) -> str:
    """A value for a message."""
    try:
        return repr(value)[:MAX_CHARS]
    except ValueError:  # an int of more digits than Python prints
        return f"a very large {type(value).__name__}"


def is_close(found: Any, expected: Any, _: list[Any], tolerance: float) -> bool:
    """Whether it is the same value, or one of the same type that differs by no more than floats may."""
    if is_same(found, expected):
        return True
    tolerance = tolerance or (FLOAT_TOLERANCE if holds_floats(expected) else 0.0)
    return bool(tolerance) and type(found) is type(expected) and are_near(found, expected, tolerance)


def is_same(found: Any, expected: Any) -> bool:
    """Whether Python calls them equal; what it cannot compare, such as arrays, is not."""
    try:
        return bool(found == expected)
    except (ValueError, TypeError, RecursionError):
        return False


def holds_floats(value: Any) -> bool:
    """Whether it is a float, or a sequence of nothing else."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(item, float) for item in value)
    return isinstance(value, float)


def are_near(found: Any, expected: Any, tolerance: float) -> bool:
    """Whether numbers, alone or in sequences of the same length, are as close as they must be."""
    if isinstance(expected, (list, tuple)):
        same_length = isinstance(found, (list, tuple)) and len(found) == len(expected)
        return same_length and all(are_near(*pair, tolerance) for pair in zip(found, expected, strict=True))
    if not isinstance(expected, (int, float, complex)) or not isinstance(found, (int, float, complex)):
        return is_same(found, expected)
    if found == expected or (found != found and expected != expected):  # noqa: PLR0124 - only NaN differs from itself
        return True
    try:
        return abs(found - expected) <= tolerance + RELATIVE * abs(expected) < float("inf")
    except OverflowError:  # an int that is larger than any float
        return False


def is_any(_: Any, __: Any, ___: list[Any], ____: float) -> bool:
    """MBPP 164 asks for what has no one answer."""
    return True


def is_same_or_nothing(found: Any, expected: Any, _: list[Any], __: float) -> bool:
    """MBPP 295 has two readings for a number without divisors."""
    return is_same(found, expected) or is_same(found, 0)


def is_same_set(found: Any, expected: Any, _: list[Any], __: float) -> bool:
    """The order and the number of the elements do not matter."""
    return set(found) == set(expected)


def is_as_present(found: Any, expected: Any, _: list[Any], __: float) -> bool:
    """`expected` is whether the canonical solution found anything; a truth value says the same by itself."""
    return is_same(found, expected) if isinstance(found, bool) else expected is (found is not None)


def number_of(value: Any) -> int | float | None:
    """Python's own number of the same value; None for what is no number.

    To calculate with it as it came would be to let it calculate: numpy's small types round, and wrap around at zero.
    """
    if type(value).__module__ == "numpy" and not getattr(value, "ndim", 1):
        value = value.item()
    return value if isinstance(value, (int, float)) else None


def is_root(found: Any, _: Any, given: list[Any], tolerance: float) -> bool:
    """HumanEval 32: any root of the polynomial with these coefficients."""
    root = number_of(found)
    if root is None:
        return False
    try:
        value = sum(factor * root**power for power, factor in enumerate(given[0]))
    except OverflowError:  # so far from zero that no float holds it
        return False
    return bool(abs(value) <= (tolerance or FLOAT_TOLERANCE))


def is_surface(found: Any, expected: Any, given: list[Any], tolerance: float) -> bool:
    """MBPP 581: the height of a pyramid may be that of its side, or that of its top above the base."""
    if is_close(found, expected, given, tolerance):
        return True
    number, (base, height) = number_of(found), given
    side = ((base / 2) ** 2 + height**2) ** 0.5
    return number is not None and abs(number - round(base**2 + 2 * base * side)) <= tolerance


def is_digit_distance(found: Any, expected: Any, given: list[Any], _: float) -> bool:
    """MBPP 558: numbers of different lengths may be compared from their ends."""
    if is_same(found, expected):
        return True
    one, other = (str(number) for number in given)
    length = max(len(one), len(other))
    pairs = zip(one.zfill(length), other.zfill(length), strict=True)
    return is_same(found, sum(abs(int(left) - int(right)) for left, right in pairs))


RULES = {
    "close": is_close,
    "any": is_any,
    "same_or_nothing": is_same_or_nothing,
    "same_set": is_same_set,
    "present": is_as_present,
    "root": is_root,
    "surface": is_surface,
    "digit_distance": is_digit_distance,
}
