"""What a pair expects, and what is the same as that."""

from __future__ import annotations

import math
import sys
from collections import Counter, OrderedDict, deque, namedtuple
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flyteplugins_codegen import judging
from flyteplugins_codegen.judging.values import inside

# Inside the sandbox its modules import each other by their bare names.
sys.path += [str(Path(package.__file__).parent) for package in (inside, judging)]
from compare import PairRule, difference

NAN = float("nan")
EXACT = PairRule()
CLOSE = PairRule(relative=1e-6, absolute=1e-9)
FROM_JSON = PairRule(from_json=True)


class Equal:
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return True


@pytest.mark.parametrize(
    ("found", "expected", "rule"),
    [
        *((1, 1, EXACT), (2.0, 2, EXACT), (2, 2.0, EXACT), (NAN, math.nan, EXACT), (math.inf, math.inf, EXACT)),
        *((0.1 + 0.2, 0.3, CLOSE), (1 + 1e-9j, 1, CLOSE), (0.0, -0.0, EXACT), (2**100, 2**100, EXACT)),
        *(("a", "a", EXACT), (b"a", b"a", EXACT), (None, None, EXACT), (True, True, EXACT)),
        *(([1, [NAN]], [1, [NAN]], EXACT), ((1, 2), (1, 2), EXACT), ((1, [2]), [1, (2,)], FROM_JSON)),
        *(({"a": 1, "b": 2}, {"b": 2, "a": 1}, EXACT), ({1: NAN}, {1: NAN}, EXACT), ({NAN: 1}, {math.nan: 1}, EXACT)),
        *((Counter("ab"), {"a": 1, "b": 1}, EXACT), (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1), EXACT)),
        *(({1, "a"}, {"a", 1}, EXACT), (frozenset({1}), {1}, EXACT), ({(1, NAN)}, {(1, NAN)}, EXACT)),
        *((namedtuple("P", "x y")(1, 2), (1, 2), EXACT), (deque([1.0000001]), deque([1]), CLOSE)),  # noqa: PYI024 - what solutions write
        *((np.float64(0.5), 0.5, EXACT), (np.int64(3), 3, EXACT), (np.bool_(1), True, EXACT)),
        *((np.array([1.0, NAN]), np.array([1, NAN]), EXACT), (Decimal("1.0"), Decimal(1), EXACT)),
    ],
)
def test_these_are_the_same(found: Any, expected: Any, rule: PairRule) -> None:
    assert difference(found, expected, rule) is None


@pytest.mark.parametrize(
    ("found", "expected", "rule"),
    [
        *((1, 2, EXACT), (True, 1, EXACT), (1, True, EXACT), (0, False, CLOSE), (0.1 + 0.2, 0.3, EXACT)),
        *((1, "1", EXACT), ("a", b"a", EXACT), (None, 0, EXACT), (NAN, 1, CLOSE), (math.inf, 1e308, CLOSE)),
        *((10**400, 1.0, CLOSE), (1, Decimal(1), EXACT), ([1], (1,), EXACT), ([1], (True,), FROM_JSON)),
        *(([1], [1, 2], EXACT), ({"a": 1}, {"a": 1, "b": 2}, EXACT), ({"a": 1, "b": 2}, {"a": 1}, EXACT)),
        *(({1: 2}, {True: 2}, EXACT), ({1}, {True}, EXACT), ({1: 2}, {"1": 2}, FROM_JSON), ({1}, [1], FROM_JSON)),
        *((np.array([1, 2]), [1, 2], EXACT), (np.array([1]), np.array([[1]]), EXACT), (iter([1]), [1], EXACT)),
        *((Equal(), 1, EXACT), ([Equal()], [1], EXACT), ({"a": Equal()}, {"a": 1}, EXACT), ({Equal()}, {1}, EXACT)),
        *((2**53 + 1, float(2**53), EXACT), ("é", "e\u0301", EXACT), (range(3), [0, 1, 2], EXACT)),
    ],
)
def test_these_differ(found: Any, expected: Any, rule: PairRule) -> None:
    assert difference(found, expected, rule) is not None


def test_the_place_of_the_first_difference_is_told() -> None:
    found = difference({"a": [1, {"b": (2, 3)}]}, {"a": [1, {"b": (2, 4)}]}, EXACT)
    assert found == ("['a'][1]['b'][1]", 3, 4)
    assert repr(difference({}, {"a": 1}, EXACT)) == "(\"['a']\", nothing, 1)"


def test_a_cycle_ends() -> None:
    one: list[Any] = []
    one.append(one)
    other: list[Any] = []
    other.append(other)
    assert difference(one, other, EXACT) is not None
