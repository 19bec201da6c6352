"""Whether a value is the one that was expected: by exact types, floats within a tolerance.

One file, standard library only; it runs inside the sandbox, in the judge, where both values are plain data.

Numbers are compared by value, 2 with 2.0 too, but a bool equals only a bool. Ints must be equal, a float may differ by
the tolerance, and NaN equals NaN. Lists and tuples are different things unless what is expected was read from JSON,
which has no tuples. The order of sets and dicts does not matter, their elements and keys must be equal exactly, and
the kinds of dict (`Counter`, `defaultdict`) do not matter. numpy's scalars count as Python's, its arrays are compared
with arrays of the same shape. Anything else must have the same type and be equal.
"""

from __future__ import annotations

import math

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Difference: TypeAlias = tuple[str, Any, Any]  # where, as in "[2]['a']", what was found there, what was expected

MAX_DEPTH = 200


class Rule:
    """How close floats must be, as `math.isclose` has it, and whether what is expected was read from JSON."""

    def __init__(self, relative: float = 0.0, absolute: float = 0.0, *, from_json: bool = False) -> None:
        self.relative, self.absolute, self.from_json = relative, absolute, from_json


class Missing:
    """Stands for what a dict does not have."""

    def __repr__(self) -> str:
        return "nothing"


def difference(found: Any, expected: Any, rule: Rule, depth: int = 0) -> Difference | None:
    """The first place where two values differ, None where they do not."""
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
    """A scalar of numpy as Python's own."""
    kind = type(value)
    return value.item() if kind.__module__ == "numpy" and kind.__name__ != "ndarray" else value


def _kind(value: Any) -> str:
    """What a value is compared as."""
    kind = type(value)
    if kind in (int, float, complex):
        return "number"
    for name, base in (("dict", dict), ("tuple", tuple), ("set", (set, frozenset))):
        if isinstance(value, base):
            return name
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _in_sequences(found: Any, expected: Any, rule: Rule, depth: int) -> Difference | None:
    if len(found) != len(expected):
        return "", found, expected
    for index, (one, other) in enumerate(zip(found, expected, strict=True)):
        differing = difference(one, other, rule, depth)
        if differing:
            return f"[{index}]{differing[0]}", *differing[1:]
    return None


def _in_dicts(found: Any, expected: Any, rule: Rule, depth: int) -> Difference | None:
    there = {_key(key): value for key, value in found.items()}
    for key, value in expected.items():
        differing = difference(there.pop(_key(key), Missing()), value, rule, depth)
        if differing:
            return f"[{key!r:.100}]{differing[0]}", *differing[1:]
    return ("", found, expected) if there else None


def _key(value: Any) -> Any:
    """What stands for a key or an element: equal only for values that are the same by type."""
    value, kind = _as_python(value), _kind(value)
    if isinstance(value, (tuple, frozenset)):
        return kind, type(value)(map(_key, value)) if kind == "set" else tuple(map(_key, value))
    return kind, "NaN" if kind == "number" and value != value else value  # noqa: PLR0124 - only NaN differs from itself


def _are_equal(found: Any, expected: Any, kind: str, rule: Rule) -> bool:
    if kind == "number":
        return _are_close(found, expected, rule)
    if kind == "set":
        return set(map(_key, found)) == set(map(_key, expected))
    if kind == "numpy.ndarray":
        return found.shape == expected.shape and difference(found.tolist(), expected.tolist(), rule) is None
    return bool(found == expected)


def _are_close(found: Any, expected: Any, rule: Rule) -> bool:
    if found == expected:
        return True
    if isinstance(found, complex) or isinstance(expected, complex):
        return _are_close(found.real, expected.real, rule) and _are_close(found.imag, expected.imag, rule)
    if isinstance(found, int) and isinstance(expected, int):
        return False
    if not (rule.relative or rule.absolute):  # `isclose` would round a large int to a float
        return bool(found != found and expected != expected)  # noqa: PLR0124 - only NaN differs from itself
    try:
        both_nan = math.isnan(found) and math.isnan(expected)
        return both_nan or math.isclose(found, expected, rel_tol=rule.relative, abs_tol=rule.absolute)
    except OverflowError:  # an int that is larger than any float
        return False
