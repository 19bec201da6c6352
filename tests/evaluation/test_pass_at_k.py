"""pass@k and pass^k equal their exact values, also for large numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.statistics import estimate_pass_at_k, estimate_pass_hat_k


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int, int]:
    n = draw(st.integers(1, 400))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


@given(counts())
def test_both_estimates_are_the_quotients_of_binomials(numbers: tuple[int, int, int]) -> None:
    n, c, k = numbers
    at_least_one = 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
    every = Fraction(math.comb(c, k), math.comb(n, k))
    assert estimate_pass_at_k(n, c, k) == pytest.approx(float(at_least_one), rel=1e-12, abs=1e-300)
    assert estimate_pass_hat_k(n, c, k) == pytest.approx(float(every), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(("n", "c", "k"), [(10**6, 1, 1), (10**6, 3, 100), (10**6, 999_999, 10), (10**6, 2_000, 1_500)])
def test_a_million_samples_keep_their_digits(n: int, c: int, k: int) -> None:
    exact = 1 - Fraction(math.prod(range(n - c - k + 1, n - c + 1)), math.prod(range(n - k + 1, n + 1)))
    assert estimate_pass_at_k(n, c, k) == pytest.approx(float(exact), rel=1e-12)


def test_the_known_values() -> None:
    assert [estimate_pass_at_k(10, 3, k) for k in (1, 8, 10)] == [pytest.approx(0.3), 1.0, 1.0]
    assert [estimate_pass_at_k(10, c, 5) for c in (0, 10)] == [0.0, 1.0]


def test_fewer_samples_than_k_say_nothing() -> None:
    assert math.isnan(estimate_pass_at_k(9, 9, 10))
    assert math.isnan(estimate_pass_hat_k(0, 0, 1))


@pytest.mark.parametrize(("n", "c", "k", "message"), [(5, 2, 0, "k=0"), (5, 6, 1, "6 of 5"), (5, -1, 1, "-1 of 5")])
def test_impossible_counts_are_refused(n: int, c: int, k: int, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        estimate_pass_at_k(n, c, k)
