"""What the samples look like: a card for each column, with its distribution. Profiles come masked already."""

from __future__ import annotations

import re
from typing import Final

from pydantic import JsonValue

from flyteplugins_codegen.models.profile import ColumnProfile, MaskingReport, SampleProfile, TextProfile
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.stages.report.histograms import histogram
from flyteplugins_codegen.stages.report.markup import badge, bullets, fitting, folded, log, size, text

_TIME: Final = re.compile(r"\A(\d{4}-\d\d-\d\d)T(?=\d\d:)")
_MOST_SAMPLES: Final = 20
_MOST_CARDS: Final = 200
_CARDS_IN_SIGHT: Final = 12
_MOST_NOTES: Final = 12
_VALUE_CHARS: Final = 80
_TOLD_CHARS: Final = 60_000


def render_data(run: Run) -> str:
    """All samples of a run, and what a model was told of them."""
    samples = list(run.context.samples.values())[:_MOST_SAMPLES]
    if not samples:
        return ""
    cards = _MOST_CARDS // len(samples)
    parts = [_sample(profile, run.context.masking.get(profile.name), cards) for profile in samples]
    hidden = len(run.context.samples) - len(samples)
    parts += [f"<p>{hidden} more samples</p>"] if hidden else []
    return "".join([*parts, folded("What the model was told of the data", log(run.context.text, _TOLD_CHARS))])


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
    found = [f"key: {' or '.join(keys)}"] if keys else []
    found += [f"{profile.duplicate_row_count:,} rows repeat others"] if profile.duplicate_row_count else []
    found += [f"{profile.skipped_row_count:,} rows were not as long as the header"] if profile.skipped_row_count else []
    return [*found, *profile.notes][:_MOST_NOTES]


def _masked(masking: MaskingReport | None) -> str:
    if masking is None or not masking.replaced:
        return ""
    told = [
        f"{column or 'text'}: {', '.join(f'{count:,} of kind {kind}' for kind, count in kinds.items())}"
        for column, kinds in masking.replaced.items()
    ]
    replaced = f"Replaced before a model saw it (privacy {masking.mode}): {'; '.join(told)}"
    return f'<p class="muted">{fitting(replaced, 2_000)}</p>'


def _card(column: ColumnProfile, row_count: int | None) -> str:
    kind = column.arrow_type.replace("timestamp", "time").replace("string", "text")
    lines = "".join(f"<p>{fitting(line, 240)}</p>" for line in _lines(column, row_count))
    return (
        f'<article class="card"><h4>{fitting(column.name, 120)} {badge(kind[:40])}</h4>'
        f"{histogram(column, row_count)}{lines}</article>"
    )


def _lines(column: ColumnProfile, row_count: int | None) -> list[str]:
    """What is worth knowing, the range first."""
    found = [_range(column), _spread(column), _commonest(column.top_values)]
    found += _text_lines(column.text) if column.text else []
    counts = [f"{column.distinct_count:,} distinct"] if column.distinct_count is not None else []
    counts += ["unique"] if column.is_unique else []
    counts += [_share("null", column.null_count, row_count)] if column.null_count else []
    counts += [f"{column.outlier_count:,} far outliers"] if column.outlier_count else []
    return [line for line in [*found, " · ".join(counts)] if line]


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


def _commonest(counted: tuple[tuple[JsonValue, int], ...]) -> str:
    return ", ".join(f"{_value(value)} {count:,}" for value, count in counted[:5])


def _text_lines(found: TextProfile) -> list[str]:
    shapes = ", ".join(f"{shape} {count:,}" for shape, count in found.shapes[:3])
    dates = f"dates {found.date_range[0]} to {found.date_range[1]}" if found.date_range else ""
    odd = [f"{found.empty_count:,} empty"] if found.empty_count else []
    odd += [f"{found.padded_count:,} padded"] if found.padded_count else []
    odd += [f"mixed: {', '.join(kind for kind, _ in found.kinds)}"] if found.is_mixed else []
    length = f"{found.shortest} to {found.longest} characters" if found.longest != found.shortest else ""
    return [f"shapes {shapes}" if shapes else "", dates, " · ".join([length, *odd] if length else odd)]


def _share(name: str, count: int, row_count: int | None) -> str:
    return f"{count:,} {name}" + (f" ({100 * count / row_count:.1f} %)" if row_count else "")


def _value(value: JsonValue) -> str:
    shown = f"{value:.5g}" if isinstance(value, float) else _TIME.sub(r"\1 ", str(value))
    return shown if len(shown) <= _VALUE_CHARS else shown[: _VALUE_CHARS - 1] + "…"
