"""The page of a refresh for a Deck: what it found and decided. All text from data or a model is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from flyteplugins_codegen.html.kit import (
    Room,
    badge,
    bullets,
    dollars,
    facts,
    fitting,
    paragraphs,
    render_document,
    table,
)
from flyteplugins_codegen.models.data import Drift
from flyteplugins_codegen.models.refresh import Comparison, Refresh, Renewal
from flyteplugins_codegen.stages.refresh.decide import (
    AskForApproval,
    Compare,
    Keep,
    Refuse,
    Regenerate,
    RepairEarlier,
    Replace,
    Step,
    is_tolerated,
    next_step,
)
from flyteplugins_codegen.stages.report.attempts import render_checks

_CHARS: Final = 2_000
_MOST_ROWS: Final = 200
_ROOM: Final = Room(chars=4_000, rows=50)
_VERDICTS: Final[dict[type[Step], tuple[str, str]]] = {
    Keep: ("kept", "good"),
    Refuse: ("data refused", "bad"),
    RepairEarlier: ("repairing", "plain"),
    Regenerate: ("regenerating", "plain"),
    Compare: ("comparing", "plain"),
    AskForApproval: ("waits for approval", "bad"),
    Replace: ("replaced", "good"),
}


def render_refresh(name: str, refresh: Refresh) -> str:
    """The whole page as text. It has no script, and loads nothing."""
    step = next_step(refresh)
    title = f"Refresh of {fitting(name, 200)}"
    head = f"<header><h1>{title} {_badge(step)}</h1>{_reason(step)}</header>"
    return render_document(title, head, _sections(refresh))


def _badge(step: Step) -> str:
    word, kind = _VERDICTS[type(step)]
    return badge(word, "bad" if isinstance(step, Keep) and not step.fits else kind)


def _reason(step: Step) -> str:
    return "" if isinstance(step, Compare) else paragraphs(step.reason, _CHARS)


def _sections(refresh: Refresh) -> Iterator[tuple[str, str]]:
    examination = refresh.examination
    yield "Drift", _drifts(refresh)
    yield "Broken schemas", bullets(fitting(flaw, _CHARS) for flaw in (*examination.broken, *examination.flaws))
    yield "The solution on the fresh data", render_checks(examination.report, _ROOM)
    yield "Not looked at", bullets(fitting(note, _CHARS) for note in examination.notes)
    yield "What was decided first", paragraphs(_first_decision(refresh), _CHARS) if refresh.renewal else ""
    yield "Renewal", _renewal(refresh.renewal) if refresh.renewal else ""
    yield "Old and new side by side", _comparison(refresh.comparison, refresh) if refresh.comparison else ""


def _drifts(refresh: Refresh) -> str:
    drifts = [(report.sample, drift) for report in refresh.examination.drifts for drift in report.drifts]
    if not drifts:
        return "<p>Nothing drifted.</p>"
    rows = [_drift_row(sample, drift, refresh) for sample, drift in drifts[:_MOST_ROWS]]
    return table(("sample", "column", "what", "from", "to", "", ""), rows)


def _drift_row(sample: str, drift: Drift, refresh: Refresh) -> tuple[str, ...]:
    psi = f" (PSI {drift.psi:.2f})" if drift.psi is not None else ""
    word = "tolerated" if is_tolerated(drift, refresh.rules) else "matters"
    cells = (sample, drift.column, f"{drift.kind}{psi}", drift.old, drift.new, drift.severity)
    return (*(fitting(cell, 300) for cell in cells), badge(word, "plain" if word == "tolerated" else "bad"))


def _first_decision(refresh: Refresh) -> str:
    step = next_step(refresh.model_copy(update={"renewal": None}))
    return f"{_VERDICTS[type(step)][0]}: {'' if isinstance(step, Compare) else step.reason}"


def _renewal(renewal: Renewal) -> str:
    code = "new code" if renewal.has_new_code else "the code is right as it is"
    return facts(
        (
            ("outcome", badge("found", "good") if renewal.is_success else badge("none found", "bad")),
            ("why", fitting(renewal.reason, _CHARS)),
            ("code", code if renewal.is_success else ""),
            ("model calls", str(renewal.model_calls)),
            ("tokens", f"{renewal.tokens:,}"),
            ("cost", dollars(renewal.cost_usd)),
        )
    )


def _comparison(comparison: Comparison, refresh: Refresh) -> str:
    allowed = refresh.rules.allowed_difference
    rows = [
        (
            fitting(entry.data, 200),
            fitting(entry.output, 200),
            f"{entry.difference:.4g}",
            fitting(entry.told, _CHARS),
            badge("allowed", "good") if entry.difference <= allowed else badge("beyond", "bad"),
        )
        for entry in comparison.differences[:_MOST_ROWS]
    ]
    differences = table(("data", "output", "difference", "", f"allowed: {allowed:.4g}"), rows) if rows else ""
    return differences + bullets(fitting(note, _CHARS) for note in comparison.notes)
