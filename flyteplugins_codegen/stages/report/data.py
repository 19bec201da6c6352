"""The section about the data: a card for each column of a sample, with its distribution. Profiles are masked already.

A distribution is inline SVG, drawn from the statistics of the profile alone.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from pydantic import JsonValue

from flyteplugins_codegen.html.kit import badge, bullets, fitting, folded, log, size, text
from flyteplugins_codegen.models.data import ColumnProfile, MaskingReport, SampleProfile, TextProfile
from flyteplugins_codegen.models.run import Run

_WIDTH: Final = 220
_HEIGHT: Final = 44
_LOWEST: Final = 2
_THINNEST: Final = 3
_GAP: Final = 1.5
_MOST_BARS: Final = 12
_MOST_SAMPLES: Final = 20
_MOST_CARDS: Final = 200
_CARDS_IN_SIGHT: Final = 12
_MOST_NOTES: Final = 12
_VALUE_CHARS: Final = 80
_CONTEXT_CHARS: Final = 60_000
_TIME: Final = re.compile(r"\A(\d{4}-\d\d-\d\d)T(?=\d\d:)")


def histogram(column: ColumnProfile, row_count: int | None) -> str:
    """A bar for each of the most common values; without these, four blocks between the quartiles; else nothing."""
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
    label = ", ".join(f"{value}: {count:,}" for value, count in shown) + (f", others: {others:,}" if others else "")
    return _picture(bars, label)


def _blocks(column: ColumnProfile) -> str:
    """A histogram of unequal bins: all blocks have the same area, except those that would be too thin to see."""
    edges = [_number(value) for value in (column.minimum, *(column.quartiles or ()), column.maximum)]
    known = [edge for edge in edges if edge is not None]
    if len(known) < len(edges) or known != sorted(known) or not 0 < known[-1] - known[0] < math.inf:
        return ""
    span = known[-1] - known[0]
    shares = [((low - known[0]) / span, (high - low) / span) for low, high in pairwise(known)]
    spans = [(_WIDTH * left, _WIDTH * width) for left, width in shares]
    densest = max(1 / max(width, _THINNEST) for _, width in spans)
    blocks = [_block(left, width, densest) for left, width in spans]
    return _picture(blocks, f"a quarter of the values each: {_edges_text(column)}")


def _block(left: float, width: float, densest: float) -> str:
    shown = max(width, _THINNEST)
    return _rectangle(min(left, _WIDTH - shown), shown, 1 / shown / densest)


def _edges_text(column: ColumnProfile) -> str:
    return " to ".join(str(value) for value in (column.minimum, *(column.quartiles or ()), column.maximum))


def _number(value: JsonValue) -> float | None:
    """The position on the axis, of a time in seconds; None for a value without one."""
    try:
        number = _seconds(value) if isinstance(value, str) else float(value) if isinstance(value, int | float) else None
    except (ValueError, OverflowError):
        return None
    return number if number is not None and math.isfinite(number) else None


def _seconds(text: str) -> float:
    """A date or time in seconds. Raises ValueError for other text."""
    # The local time without its zone: the hour that a zone skips in spring is no gap in the data.
    return dt.datetime.fromisoformat(text.replace("Z", "+00:00")).replace(tzinfo=dt.timezone.utc).timestamp()


def _rectangle(left: float, width: float, share: float, kind: str = "") -> str:
    height = max(_LOWEST, share * _HEIGHT)
    position = f'x="{left:.1f}" y="{_HEIGHT - height:.1f}" width="{max(1.0, width - _GAP):.1f}" height="{height:.1f}"'
    return f'<rect class="{kind}" {position}/>' if kind else f"<rect {position}/>"


def _picture(shapes: Sequence[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{text(label[:400])}">'
        f"{''.join(shapes)}</svg>"
    )


def render_data(run: Run) -> str:
    """All samples of a run, and the description of them in the prompts."""
    samples = list(run.context.samples.values())[:_MOST_SAMPLES]
    if not samples:
        return ""
    cards = _MOST_CARDS // len(samples)
    parts = [_sample(profile, run.context.masking.get(profile.name), cards) for profile in samples]
    hidden = len(run.context.samples) - len(samples)
    parts += [f"<p>{hidden} more samples</p>"] if hidden else []
    return "".join([*parts, folded("What the model was told of the data", log(run.context.text, _CONTEXT_CHARS))])


def _sample(profile: SampleProfile, masking: MaskingReport | None, most_cards: int) -> str:
    columns = list(profile.columns.values())
    cards = [_card(column, profile.row_count) for column in columns[:most_cards]]
    first, rest = "".join(cards[:_CARDS_IN_SIGHT]), "".join(cards[_CARDS_IN_SIGHT:])
    more = len(columns) - _CARDS_IN_SIGHT
    return (
        f'<h3>{fitting(profile.name, 200)} <span class="muted">{fitting(profile.file_name, 200)}</span></h3>'
        f'<p class="muted">{text(" · ".join(_facts(profile)))}</p>'
        f"{bullets(fitting(note, 300) for note in _notes(profile))}"
        f'<div class="cards">{first}</div>'
        f"{folded(f'{more} more columns', rest and f'<div class=cards>{rest}</div>')}{_masked(masking)}"
    )


def _facts(profile: SampleProfile) -> list[str]:
    known = [profile.format, size(profile.size_bytes)]
    if profile.row_count is not None:
        known.append(f"{profile.row_count:,} rows" if profile.columns else f"{profile.row_count:,} lines")
    if profile.columns:
        known.append(f"{len(profile.columns)} columns")
    if profile.compression:
        known.append(f"packed with {profile.compression}")
    return known


def _notes(profile: SampleProfile) -> list[str]:
    keys = [" + ".join(key) for key in profile.candidate_keys[:3]]
    notes = [f"key: {' or '.join(keys)}"] if keys else []
    notes += [f"{profile.duplicate_row_count:,} rows repeat others"] if profile.duplicate_row_count else []
    notes += [f"{profile.skipped_row_count:,} rows were not as long as the header"] if profile.skipped_row_count else []
    return [*notes, *profile.notes][:_MOST_NOTES]


def _masked(masking: MaskingReport | None) -> str:
    if masking is None or not masking.replaced:
        return ""
    counts = [
        f"{column or 'text'}: {', '.join(f'{count:,} of kind {kind}' for kind, count in kinds.items())}"
        for column, kinds in masking.replaced.items()
    ]
    replaced = f"Replaced before a model saw it (privacy {masking.mode}): {'; '.join(counts)}"
    return f'<p class="muted">{fitting(replaced, 2_000)}</p>'


def _card(column: ColumnProfile, row_count: int | None) -> str:
    kind = column.arrow_type.replace("timestamp", "time").replace("string", "text")
    lines = "".join(f"<p>{fitting(line, 240)}</p>" for line in _lines(column, row_count))
    return (
        f'<article class="card"><h4>{fitting(column.name, 120)} {badge(kind[:40])}</h4>'
        f"{histogram(column, row_count)}{lines}</article>"
    )


def _lines(column: ColumnProfile, row_count: int | None) -> list[str]:
    """The facts on a card, the range first."""
    lines = [_range(column), _spread(column), _most_common(column.top_values)]
    lines += _text_lines(column.text) if column.text else []
    counts = [f"{column.distinct_count:,} distinct"] if column.distinct_count is not None else []
    counts += ["unique"] if column.is_unique else []
    counts += [_share("null", column.null_count, row_count)] if column.null_count else []
    counts += [f"{column.outlier_count:,} far outliers"] if column.outlier_count else []
    return [line for line in [*lines, " · ".join(counts)] if line]


def _range(column: ColumnProfile) -> str:
    if column.minimum is None or column.top_values:
        return ""
    low, high = _value(column.minimum), _value(column.maximum)
    median = f", median {_value(column.quartiles[1])}" if column.quartiles else ""
    return f"{low} to {high}{median}" if low != high else f"always {low}"


def _spread(column: ColumnProfile) -> str:
    if column.mean is None:
        return ""
    return f"mean {_value(column.mean)}" + (f" ± {_value(column.deviation)}" if column.deviation is not None else "")


def _most_common(counted: tuple[tuple[JsonValue, int], ...]) -> str:
    return ", ".join(f"{_value(value)} {count:,}" for value, count in counted[:5])


def _text_lines(profile: TextProfile) -> list[str]:
    shapes = ", ".join(f"{shape} {count:,}" for shape, count in profile.shapes[:3])
    dates = f"dates {profile.date_range[0]} to {profile.date_range[1]}" if profile.date_range else ""
    odd = [f"{profile.empty_count:,} empty"] if profile.empty_count else []
    odd += [f"{profile.padded_count:,} padded"] if profile.padded_count else []
    odd += [f"mixed: {', '.join(kind for kind, _ in profile.kinds)}"] if profile.is_mixed else []
    length = f"{profile.shortest} to {profile.longest} characters" if profile.longest != profile.shortest else ""
    return [f"shapes {shapes}" if shapes else "", dates, " · ".join([length, *odd] if length else odd)]


def _share(name: str, count: int, row_count: int | None) -> str:
    return f"{count:,} {name}" + (f" ({100 * count / row_count:.1f} %)" if row_count else "")


def _value(value: JsonValue) -> str:
    shown = f"{value:.5g}" if isinstance(value, float) else _TIME.sub(r"\1 ", str(value))
    return shown if len(shown) <= _VALUE_CHARS else shown[: _VALUE_CHARS - 1] + "…"
