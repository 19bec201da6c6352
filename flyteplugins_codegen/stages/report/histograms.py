"""The distribution of a column as a small picture: inline SVG, drawn from the statistics of its profile alone."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from pydantic import JsonValue

from flyteplugins_codegen.models.profile import ColumnProfile
from flyteplugins_codegen.stages.report.markup import text

_WIDTH: Final = 220
_HEIGHT: Final = 44
_LOWEST: Final = 2
_THINNEST: Final = 3
_GAP: Final = 1.5
_MOST_BARS: Final = 12


def histogram(column: ColumnProfile, row_count: int | None) -> str:
    """A bar for each of the commonest values, else four blocks that hold a quarter of the values each; else nothing."""
    if column.top_values:
        return _bars(column, row_count)
    return _blocks(column) if column.quartiles else ""


def _bars(column: ColumnProfile, row_count: int | None) -> str:
    shown = column.top_values[:_MOST_BARS]
    counts = [count for _, count in shown]
    others = max(0, (row_count or 0) - column.null_count - sum(counts))
    width = _WIDTH / (len(counts) + bool(others))
    tallest = max([*counts, others])
    bars = [_rectangle(number * width, width, count / tallest) for number, count in enumerate(counts)]
    if others:
        bars.append(_rectangle(len(counts) * width, width, others / tallest, kind="others"))
    told = ", ".join(f"{value}: {count:,}" for value, count in shown) + (f", others: {others:,}" if others else "")
    return _picture(bars, told)


def _blocks(column: ColumnProfile) -> str:
    """A histogram of unequal bins: each block has the same area where it is wide enough to be seen."""
    edges = [_number(value) for value in (column.minimum, *(column.quartiles or ()), column.maximum)]
    known = [edge for edge in edges if edge is not None]
    if len(known) < len(edges) or known != sorted(known) or not 0 < known[-1] - known[0] < math.inf:
        return ""
    span = known[-1] - known[0]
    shares = [((low - known[0]) / span, (high - low) / span) for low, high in pairwise(known)]
    spans = [(_WIDTH * left, _WIDTH * width) for left, width in shares]
    densest = max(1 / max(width, _THINNEST) for _, width in spans)
    blocks = [_block(left, width, densest) for left, width in spans]
    return _picture(blocks, f"a quarter of the values each: {_told(column)}")


def _block(left: float, width: float, densest: float) -> str:
    shown = max(width, _THINNEST)
    return _rectangle(min(left, _WIDTH - shown), shown, 1 / shown / densest)


def _told(column: ColumnProfile) -> str:
    return " to ".join(str(value) for value in (column.minimum, *(column.quartiles or ()), column.maximum))


def _number(value: JsonValue) -> float | None:
    """A place on the axis: of a time the seconds; None for what has none."""
    try:
        found = _seconds(value) if isinstance(value, str) else float(value) if isinstance(value, int | float) else None
    except (ValueError, OverflowError):
        return None
    return found if found is not None and math.isfinite(found) else None


def _seconds(text: str) -> float:
    """Raises ValueError for what is no date or time."""
    # As the clock on the wall has it: an hour that a zone leaves out in spring is no gap in the data.
    return dt.datetime.fromisoformat(text.replace("Z", "+00:00")).replace(tzinfo=dt.timezone.utc).timestamp()


def _rectangle(left: float, width: float, share: float, kind: str = "") -> str:
    height = max(_LOWEST, share * _HEIGHT)
    place = f'x="{left:.1f}" y="{_HEIGHT - height:.1f}" width="{max(1.0, width - _GAP):.1f}" height="{height:.1f}"'
    return f'<rect class="{kind}" {place}/>' if kind else f"<rect {place}/>"


def _picture(shapes: Sequence[str], told: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{text(told[:400])}">'
        f"{''.join(shapes)}</svg>"
    )
