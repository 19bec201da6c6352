"""Delta debugging over row numbers: what remains, how often is asked, and when it stops."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.judging.agreement.reduce import fewest_rows

Rows = tuple[int, ...]


class Asked:
    """Programs that differ on a subset of rows if it holds all of some rows; remembers what it was asked about."""

    def __init__(self, differs: Callable[[set[int]], bool]) -> None:
        self._differs = differs
        self.batches: list[list[Rows]] = []

    def __call__(self, subsets: Sequence[Rows]) -> list[bool]:
        self.batches.append(list(subsets))
        return [self._differs(set(subset)) for subset in subsets]

    @property
    def subsets(self) -> list[Rows]:
        return [subset for batch in self.batches for subset in batch]


def later() -> float:
    return time.monotonic() + 60


@given(st.integers(1, 120), st.sets(st.integers(0, 119), min_size=1, max_size=5))
def test_exactly_the_rows_that_are_needed_remain(count: int, needed: set[int]) -> None:
    needed = {row for row in needed if row < count} or {0}
    assert fewest_rows(count, Asked(needed.issubset), until=later()) == tuple(sorted(needed))


@given(st.integers(1, 60), st.integers(1, 30))
def test_no_single_row_can_be_taken_out_where_any_rows_of_a_number_suffice(count: int, fewest: int) -> None:
    fewest = min(count, fewest)
    assert len(fewest_rows(count, Asked(lambda rows: len(rows) >= fewest), until=later())) == fewest


@given(st.integers(2, 80), st.sets(st.sets(st.integers(0, 79), max_size=4).map(frozenset), max_size=20), st.data())
def test_the_result_differs_and_is_minimal_for_any_programs(
    count: int, exceptions: set[frozenset[int]], data: st.DataObject
) -> None:
    needed = data.draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=3))

    def differs(rows: set[int]) -> bool:
        return len(rows) == count or (needed <= rows and frozenset(rows) not in exceptions)

    found = fewest_rows(count, Asked(differs), until=later())
    assert differs(set(found))
    assert len(found) == 1 or not any(differs(set(found) - {row}) for row in found)


def test_subsets_are_asked_about_in_batches_once_and_never_empty() -> None:
    asked = Asked({3, 250, 391}.issubset)
    assert fewest_rows(400, asked, until=later()) == (3, 250, 391)
    assert len(asked.subsets) == len(set(asked.subsets))
    assert all(asked.subsets)
    assert max(map(len, asked.batches)) <= 16
    assert len(asked.batches) <= 30


def test_one_row_needs_no_question() -> None:
    asked = Asked(bool)
    assert fewest_rows(1, asked, until=later()) == (0,)
    assert not asked.batches


def test_the_smallest_subset_so_far_is_returned_when_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked({7, 300}.issubset)
    ticks = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))
    found = fewest_rows(400, asked, until=6)
    assert {7, 300} <= set(found)
    assert 2 < len(found) < 400
