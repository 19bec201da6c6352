"""When two numbers count as equal."""

from __future__ import annotations

import cmath
import math

import pytest

from flyteplugins_codegen.judging.equality import (
    CANDIDATE_OUTPUTS,
    EXAMPLE_OUTPUTS,
    RECORDED_RESULTS,
    REFRESHED_OUTPUTS,
    Tolerance,
    are_close,
    printed_numbers,
)

EXACT = Tolerance()
HUGE = 10**400


@pytest.mark.parametrize("tolerance", [EXAMPLE_OUTPUTS, CANDIDATE_OUTPUTS, REFRESHED_OUTPUTS])
def test_outputs_that_differ_by_rounding_are_equal_and_others_are_not(tolerance: Tolerance) -> None:
    assert are_close(0.1 + 0.2, 0.3, tolerance)
    assert are_close(0.0, 5.6e-17, tolerance)
    assert not are_close(0.0, 1e-11, tolerance)
    assert not are_close(1.0, 1.0 + 1e-8, tolerance)
    assert are_close(math.inf, math.inf, tolerance)
    assert not are_close(math.inf, 1e308, tolerance)


def test_without_a_tolerance_only_the_same_number_is_equal() -> None:
    assert are_close(2, 2.0, EXACT)
    assert are_close(math.nan, math.nan, EXACT)
    assert not are_close(0.1 + 0.2, 0.3, EXACT)
    assert not are_close(2**53 + 1, float(2**53), EXACT)


@pytest.mark.parametrize("tolerance", [CANDIDATE_OUTPUTS, printed_numbers(1e-6)])
def test_nan_equals_nan_only_where_the_tolerance_says_so(tolerance: Tolerance) -> None:
    assert are_close(math.nan, math.nan, EXAMPLE_OUTPUTS)
    assert not are_close(math.nan, math.nan, tolerance)
    assert not are_close(math.nan, 1.0, EXAMPLE_OUTPUTS)


def test_recorded_results_are_compared_as_numpy_does() -> None:
    assert are_close(1.0000010999, 1.0, RECORDED_RESULTS)  # both tolerances added up, which `isclose` never does
    assert not are_close(1.0000011001, 1.0, RECORDED_RESULTS)
    assert are_close(0.9999989, 1.0, Tolerance(0.0, 1.1e-6, allclose=True))
    near, far = Tolerance(0.1, 0.0, allclose=True), 1.1000001
    assert not are_close(far, 1.0, near)
    assert are_close(1.0, far, near)  # the relative tolerance is of the expected number alone


def test_complex_numbers_are_compared_by_their_parts_or_as_numpy_does_by_distance() -> None:
    assert are_close(1 + 1e-13j, 1, EXAMPLE_OUTPUTS)
    assert not are_close(1 + 1e-3j, 1, EXAMPLE_OUTPUTS)
    assert are_close(complex(math.nan, 1), complex(math.nan, 1), EXACT)
    assert not are_close(complex(math.nan, 1), complex(math.nan, 2), EXACT)
    assert are_close(1 + 1e-7j, 1, RECORDED_RESULTS)
    assert are_close(complex(math.nan, 1), cmath.nan, RECORDED_RESULTS)


@pytest.mark.parametrize("tolerance", [EXACT, EXAMPLE_OUTPUTS, RECORDED_RESULTS])
def test_an_int_that_no_float_holds_is_equal_to_itself_alone(tolerance: Tolerance) -> None:
    assert are_close(HUGE, HUGE, tolerance)
    assert not are_close(HUGE, 1.0, tolerance)


def test_a_tolerance_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        EXACT.relative = 1.0  # type: ignore[misc]  # which is the point
