"""When two numbers count as equal: one rule, and the tolerances of everyone who applies it.

Standard library only, without imports of this package: the module is also shipped into the sandbox, as part of the
program that judges by values.
"""

from __future__ import annotations

import math

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start inside the sandbox 5 ms
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self


class Tolerance(tuple[float, float, bool, bool]):
    """How far apart two numbers may be and still count as equal. Immutable.

    By default the rule of `math.isclose`: within `relative` of the larger one, or within `absolute`. With `allclose`
    the rule of `numpy.allclose`: within `absolute` plus `relative` of the expected number. `equal_nan`: NaN equals NaN.
    """

    # A tuple rather than a dataclass: importing dataclasses would cost each start inside the sandbox 10 ms.

    __slots__ = ()

    def __new__(
        cls, relative: float = 0.0, absolute: float = 0.0, *, equal_nan: bool = True, allclose: bool = False
    ) -> Self:
        """The tolerance of these figures."""
        return super().__new__(cls, (relative, absolute, equal_nan, allclose))

    @property
    def relative(self) -> float:
        """The tolerance as a share of a number."""
        return self[0]

    @property
    def absolute(self) -> float:
        """The tolerance as a distance."""
        return self[1]

    @property
    def equal_nan(self) -> bool:
        """Whether NaN equals NaN."""
        return self[2]

    @property
    def allclose(self) -> bool:
        """Whether the rule is that of `numpy.allclose`."""
        return self[3]


EXAMPLE_OUTPUTS = Tolerance(1e-9, 1e-12)
"""Outputs of a script beside those that an example expects."""

CANDIDATE_OUTPUTS = Tolerance(1e-9, 1e-12, equal_nan=False)
"""Outputs of two candidates on the same data."""

REFERENCE_OUTPUTS = Tolerance(1e-6, 1e-9)
"""Outputs of a solution and of the reference, which may compute the same in another order."""

REFRESHED_OUTPUTS = Tolerance(1e-9, 1e-12)
"""Outputs of the old and the new solution of a refresh."""

RECORDED_RESULTS = Tolerance(1e-7, 1e-6, allclose=True)
"""Recorded results of HumanEval+ and MBPP+, as evalplus 0.3.1 compares floats; problems may name another `absolute`."""


def printed_numbers(tolerance: float) -> Tolerance:
    """The tolerance for numbers that a program prints, of which a problem states one figure."""
    return Tolerance(tolerance, tolerance, equal_nan=False)


def are_close(found: Any, expected: Any, tolerance: Tolerance) -> bool:
    """Whether two numbers are equal within a tolerance. Complex numbers are equal if both of their parts are.

    Under the rule of `numpy.allclose` a complex number is compared by its distance from the expected one instead, and
    is NaN if either of its parts is.
    """
    if found == expected:
        return True
    relative, absolute, equal_nan, allclose = tolerance
    if not allclose and (isinstance(found, complex) or isinstance(expected, complex)):
        return are_close(found.real, expected.real, tolerance) and are_close(found.imag, expected.imag, tolerance)
    if found != found or expected != expected:  # noqa: PLR0124 - only NaN differs from itself
        return bool(equal_nan and found != found and expected != expected)  # noqa: PLR0124 - the same
    try:
        if allclose:
            return bool(abs(found - expected) <= absolute + relative * abs(expected) < math.inf)
        # Without a tolerance `isclose` would still round a large int to a float.
        return bool(relative or absolute) and math.isclose(found, expected, rel_tol=relative, abs_tol=absolute)
    except OverflowError:  # an int that is larger than any float
        return False
