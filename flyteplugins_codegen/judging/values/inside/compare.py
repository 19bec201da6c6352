"""Compares results with expected values: those of pairs, by exact types, and recorded ones, by evalplus's rules.

Part of the program that judges by values; standard library only. It runs inside the sandbox, in the judge.

The tests of a problem of HumanEval+ or MBPP+ are `check = Cases(...).check`: each recorded call of the canonical
solution with its result. Results are compared by the rule of evalplus 0.3.1: equal, or, for floats, within `tolerance`
and a relative 1e-7 (that of `numpy.allclose`), with a rule of its own for each of the few problems that have several
right answers. Unlike there, NaN equals NaN, since otherwise a canonical solution would fail itself.
"""

from __future__ import annotations

import sys
from binascii import a2b_base64
from zlib import decompress

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, TypeAlias

    from flyteplugins_codegen.judging.equality import RECORDED_RESULTS, Tolerance, are_close
    from flyteplugins_codegen.judging.values.inside import plain_data
    from flyteplugins_codegen.judging.values.inside.plain_data import Tree

    Difference: TypeAlias = tuple[str, Any, Any]  # the location, as in "[2]['a']", the part there, the expected part
else:
    import plain_data
    from equality import RECORDED_RESULTS, Tolerance, are_close

FLOAT_TOLERANCE = RECORDED_RESULTS.absolute  # of floats if the problem names none
MAX_CHARS = 300


class Cases:
    """Recorded calls and their results: lines as `plain_data` writes them, compressed."""

    def __init__(self, packed: str, rule: str, tolerance: float) -> None:
        self._packed, self._rule, self._tolerance = packed, RULES[rule], tolerance

    def check(self, candidate: Callable[..., Any]) -> None:
        """Call the candidate with each case. Raises AssertionError for the first that is wrong."""
        lines = decompress(a2b_base64(self._packed)).splitlines()
        cases = zip(lines[::2], lines[1::2], strict=True)
        for number, call in candidate.others(cases):  # type: ignore[attr-defined]  # the judge's stub has it
            is_expected, found = call.result()
            if is_expected:
                continue
            expected = value_of(plain_data.read_text(call.expected))
            if not self._rule(found, expected, call.args(), self._tolerance):
                fail(number, len(lines) // 2, shown(expected))


def fail(number: int, count: int, expected: str) -> NoReturn:
    """Raise the failure of a recorded call."""
    raise AssertionError(f"input {number} of {count}: expected {expected}")


def value_of(tree: Tree) -> Any:
    """A new value; the test may have changed another one made from the same tree."""
    return plain_data.Reader(refuse, []).value(tree)


def refuse(_: Tree) -> Any:
    """Called for an object that is not plain data; no recorded value holds one."""
    raise plain_data.MalformedError("an object among the values of a case")


def shown(value: Any) -> str:
    """A value for a message."""
    try:
        return repr(value)[:MAX_CHARS]
    except ValueError:  # an int of more digits than Python prints
        return f"a very large {type(value).__name__}"


def is_close(found: Any, expected: Any, _: list[Any], tolerance: float) -> bool:
    """Whether the values are equal, or of the same type and within the tolerance."""
    if is_same(found, expected):
        return True
    tolerance = tolerance or (FLOAT_TOLERANCE if holds_floats(expected) else 0.0)
    if not tolerance or type(found) is not type(expected):
        return False
    return are_near(found, expected, Tolerance(RECORDED_RESULTS.relative, tolerance, allclose=True))


def is_same(found: Any, expected: Any) -> bool:
    """Whether `==` holds; values that cannot be compared so, such as arrays, are not equal."""
    try:
        return bool(found == expected)
    except (ValueError, TypeError, RecursionError):
        return False


def holds_floats(value: Any) -> bool:
    """Whether it is a float, or a sequence of nothing else."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(item, float) for item in value)
    return isinstance(value, float)


def are_near(found: Any, expected: Any, tolerance: Tolerance) -> bool:
    """Whether numbers, alone or in sequences of the same length, are as close as they must be."""
    if isinstance(expected, (list, tuple)):
        same_length = isinstance(found, (list, tuple)) and len(found) == len(expected)
        return same_length and all(are_near(*pair, tolerance) for pair in zip(found, expected, strict=True))
    if not isinstance(expected, (int, float, complex)) or not isinstance(found, (int, float, complex)):
        return is_same(found, expected)
    return are_close(found, expected, tolerance)


def is_any(_: Any, __: Any, ___: list[Any], ____: float) -> bool:
    """MBPP 164 has no single right answer."""
    return True


def is_same_or_nothing(found: Any, expected: Any, _: list[Any], __: float) -> bool:
    """MBPP 295 can be read in two ways for a number without divisors."""
    return is_same(found, expected) or is_same(found, 0)


def is_same_set(found: Any, expected: Any, _: list[Any], __: float) -> bool:
    """The order and the number of the elements do not matter."""
    return set(found) == set(expected)


def is_as_present(found: Any, expected: Any, _: list[Any], __: float) -> bool:
    """`expected` says whether the canonical solution returned anything; a bool is compared as it is."""
    return is_same(found, expected) if isinstance(found, bool) else expected is (found is not None)


def number_of(value: Any) -> int | float | None:
    """The built-in number of the same value, or None for other values.

    Calculating with the original would use its arithmetic: numpy's small types round, and wrap around at zero.
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
    except OverflowError:  # too large for a float
        return False
    return bool(abs(value) <= (tolerance or FLOAT_TOLERANCE))


def is_surface(found: Any, expected: Any, given: list[Any], tolerance: float) -> bool:
    """MBPP 581: the height of a pyramid may be the slant height, or the height of its top above the base."""
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


# --- values of pairs: by exact types, floats within a tolerance -------------------------------------------------------

MAX_DEPTH = 200
ALIKE = frozenset((bool, int, float, str, bytes))


class PairRule:
    """The tolerance for floats, as for `math.isclose`, and whether the expected values were read from JSON."""

    def __init__(self, relative: float = 0.0, absolute: float = 0.0, *, from_json: bool = False) -> None:
        self.tolerance, self.from_json = Tolerance(relative, absolute), from_json


class Missing:
    """The value of a key that a dict does not have."""

    def __repr__(self) -> str:
        return "nothing"


def difference(found: Any, expected: Any, rule: PairRule, depth: int = 0) -> Difference | None:
    """The first difference of two values: its location and both parts there; None if they are the same."""
    found, expected = _as_python(found), _as_python(expected)
    kind = _kind(expected)
    if _kind(found) != kind and not (rule.from_json and {_kind(found), kind} == {"list", "tuple"}):
        return "", found, expected
    if depth > MAX_DEPTH:
        return f" (more than {MAX_DEPTH} levels deep)", found, expected
    if kind in ("list", "tuple", "collections.deque"):
        return _in_sequences(found, expected, rule, depth + 1)
    if kind == "dict":
        return _in_dicts(found, expected, rule, depth + 1)
    return None if _are_equal(found, expected, kind, rule) else ("", found, expected)


def _as_python(value: Any) -> Any:
    """A scalar of numpy as the built-in value."""
    kind = type(value)
    return value.item() if kind.__module__ == "numpy" and kind.__name__ != "ndarray" else value


def _kind(value: Any) -> str:
    """The kind as which a value is compared."""
    kind = type(value)
    if kind in (int, float, complex):
        return "number"
    for name, base in (("dict", dict), ("tuple", tuple), ("set", (set, frozenset))):
        if isinstance(value, base):
            return name
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _in_sequences(found: Any, expected: Any, rule: PairRule, depth: int) -> Difference | None:
    if len(found) != len(expected):
        return "", found, expected
    if _are_alike(found, expected) and list(found) == list(expected):
        return None
    for index, (one, other) in enumerate(zip(found, expected, strict=True)):
        differing = difference(one, other, rule, depth)
        if differing:
            return f"[{index}]{differing[0]}", *differing[1:]
    return None


def _are_alike(found: Any, expected: Any) -> bool:
    """Whether all parts have one type, whose `==` compares exactly; computed at the speed of C."""
    kinds = set(map(type, found))
    return len(kinds) == 1 and kinds <= ALIKE and kinds == set(map(type, expected))


def _in_dicts(found: Any, expected: Any, rule: PairRule, depth: int) -> Difference | None:
    there = {_key(key): value for key, value in found.items()}
    for key, value in expected.items():
        differing = difference(there.pop(_key(key), Missing()), value, rule, depth)
        if differing:
            return f"[{key!r:.100}]{differing[0]}", *differing[1:]
    return ("", found, expected) if there else None


def _key(value: Any) -> Any:
    """A substitute for a key or an element, equal only to that of a value of the same type."""
    value, kind = _as_python(value), _kind(value)
    if isinstance(value, (tuple, frozenset)):
        return kind, type(value)(map(_key, value)) if kind == "set" else tuple(map(_key, value))
    return kind, "NaN" if kind == "number" and value != value else value  # noqa: PLR0124 - only NaN differs from itself


def _are_equal(found: Any, expected: Any, kind: str, rule: PairRule) -> bool:
    if kind == "number":
        if isinstance(found, int) and isinstance(expected, int):
            return found == expected
        return are_close(found, expected, rule.tolerance)
    if kind == "set":
        return set(map(_key, found)) == set(map(_key, expected))
    if kind == "numpy.ndarray":
        return found.shape == expected.shape and difference(found.tolist(), expected.tolist(), rule) is None
    return bool(found == expected)


# --- numpy's comparisons of empty arrays, which are close to anything -------------------------------------------------

ASSERTIONS = ("assert_allclose", "assert_almost_equal", "assert_array_almost_equal", "assert_array_equal")


def refuse_emptiness() -> None:
    """If numpy or numpy.testing has been imported, make its comparisons treat empty and non-empty as different."""
    numpy: Any = sys.modules.get("numpy")
    testing: Any = sys.modules.get("numpy.testing")
    if numpy is not None and not hasattr(numpy.allclose, "compares_what_is_there"):
        numpy.allclose = _comparing_what_is_there(numpy, numpy.allclose, _say_no)
    if testing is not None and not hasattr(testing.assert_allclose, "compares_what_is_there"):
        for name in ASSERTIONS:
            setattr(testing, name, _comparing_what_is_there(numpy, getattr(testing, name), _fail))


def _comparing_what_is_there(
    numpy: Any, compare: Callable[..., Any], otherwise: Callable[[], Any]
) -> Callable[..., Any]:
    def function(one: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        if (numpy.size(one) == 0) != (numpy.size(other) == 0):
            return otherwise()
        return compare(one, other, *args, **kwargs)

    function.compares_what_is_there = True  # type: ignore[attr-defined]  # a function may have attributes
    return function


def _say_no() -> bool:
    return False


def _fail() -> None:
    raise AssertionError("one of the two is empty, and the other is not")
