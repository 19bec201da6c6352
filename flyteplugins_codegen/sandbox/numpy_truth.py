"""Keeps numpy from finding nothing close to anything.

A part of the program that judges by values: standard library only, it runs inside the sandbox, in the judge.

`np.allclose([], 3.5)` is true: an empty array and a number are broadcast to nothing, and all of that is close. Checks
such as those of HumanEval+ compare so, and would pass a solution that returns an empty list for every number.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ASSERTIONS = ("assert_allclose", "assert_almost_equal", "assert_array_almost_equal", "assert_array_equal")


def refuse_emptiness() -> None:
    """Where numpy, or its testing, has been imported by now, have something never be like nothing."""
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
