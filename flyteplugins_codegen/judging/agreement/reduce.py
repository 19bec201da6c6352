"""Delta debugging: the fewest rows on which two programs still differ.

The algorithm is ddmin of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002), asked in
batches: all subsets of a round are tried at once, because starting a sandbox costs more than trying a subset in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

Rows: TypeAlias = tuple[int, ...]
Differs: TypeAlias = Callable[[Sequence[Rows]], Sequence[bool]]

_MOST_OF_A_BATCH = 16


def fewest_rows(count: int, differs: Differs, *, until: float) -> Rows:
    """Return a subset of the row numbers 0 to `count` - 1 that differs and loses that if any one row is taken out.

    `differs` is asked about at most sixteen subsets at once, none of them empty or asked about before, and says of each
    whether the programs differ on it; they are known to differ on all rows. If `time.monotonic()` passes `until`, the
    smallest subset that was found so far is returned.
    """
    rows: Rows = tuple(range(count))
    parts = 2
    known: dict[Rows, bool] = {}
    while len(rows) > 1 and time.monotonic() < until:
        smaller = _first_that_differs(_candidates(rows, parts), differs, known, until)
        if smaller is not None:
            # A part that differs is divided afresh; what is left without a part keeps the size of its parts.
            is_part = len(smaller) * 2 <= len(rows)
            parts = 2 if is_part else max(parts - 1, 2)
            rows = smaller
        elif parts >= len(rows):
            break
        else:
            parts = min(2 * parts, len(rows))
    return rows


def _candidates(rows: Rows, parts: int) -> Iterator[Rows]:
    """Yield the parts of the rows, then the rows without each part."""
    bounds = [len(rows) * number // parts for number in range(parts + 1)]
    spans = list(pairwise(bounds))
    yield from (rows[start:end] for start, end in spans)
    if parts > 2:  # noqa: PLR2004 - of two parts, each is what is left without the other
        yield from (rows[:start] + rows[end:] for start, end in spans)


def _first_that_differs(
    candidates: Iterator[Rows],
    differs: Callable[[Sequence[Rows]], Sequence[bool]],
    known: dict[Rows, bool],
    until: float,
) -> Rows | None:
    """Return the smallest candidate that differs of the first batch that has one; None if none has, or it is late."""
    batch: list[Rows] = []
    for candidate in candidates:
        if candidate not in known:
            batch.append(candidate)
        if len(batch) == _MOST_OF_A_BATCH:
            found = _ask(batch, differs, known)
            if found is not None or time.monotonic() >= until:
                return found
            batch = []
    return _ask(batch, differs, known) if batch else None


def _ask(
    batch: list[Rows], differs: Callable[[Sequence[Rows]], Sequence[bool]], known: dict[Rows, bool]
) -> Rows | None:
    known.update(zip(batch, differs(batch), strict=True))
    return min((subset for subset in batch if known[subset]), key=len, default=None)
