"""How far the solution can be trusted: voices for it, the strength of its tests, where candidates differed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flyteplugins_codegen.models.agreement import Disagreement
from flyteplugins_codegen.models.run import Attempt, DroppedTest
from flyteplugins_codegen.models.strength import TestStrength
from flyteplugins_codegen.stages.report.markup import bullets, facts, fitting, folded, table

_MOST_ROWS: Final = 60
_CHARS: Final = 600


def render_trust(
    chosen: Attempt | None,
    confidence: float | None,
    disagreement: Disagreement | None,
    dropped: Sequence[DroppedTest],
) -> str:
    """All of it; nothing where nothing is known."""
    strength = chosen.strength if chosen else None
    known = facts(
        (
            ("Confidence", _confidence(confidence)),
            ("Test strength", told_strength(strength)),
        )
    )
    return known + _survivors(strength) + _disagreement(disagreement) + _dropped(dropped)


def told_strength(strength: TestStrength | None) -> str:
    """The share of mutants that the tests noticed."""
    if strength is None or strength.share is None:
        return ""
    return (
        f"{strength.share:.2f}: of {strength.total} versions with one small mistake each, {strength.killed} fail a test"
    )


def _confidence(confidence: float | None) -> str:
    if confidence is None:
        return ""
    return f"{confidence:.2f}: how likely one more independent check would agree with it"


def _survivors(strength: TestStrength | None) -> str:
    lines = strength.survivors[:_MOST_ROWS] if strength else ()
    told = bullets(f"<code>{fitting(line, _CHARS)}</code>" for line in lines)
    return folded(f"Mistakes that no test noticed: {len(strength.survivors)}", told) if strength else ""


def _disagreement(found: Disagreement | None) -> str:
    if found is None:
        return ""
    rows = [
        (", ".join(map(str, answer.attempts[:_MOST_ROWS])), f'<pre class="log">{fitting(answer.text, _CHARS)}</pre>')
        for answer in found.answers[:_MOST_ROWS]
    ]
    where = f"{fitting(found.case, _CHARS)}: {fitting(found.input, _CHARS)}"
    return f"<h3>Where candidates differ</h3><p>{where}</p>{table(('attempts', 'answer'), rows)}"


def _dropped(dropped: Sequence[DroppedTest]) -> str:
    told = bullets(
        f"<code>{fitting(test.name, 300)}</code> "
        f'<span class="muted">after attempt {test.attempt}: {fitting(test.reason, _CHARS)}</span>'
        for test in dropped[:_MOST_ROWS]
    )
    return f"<h3>Tests that were dropped</h3>{told}" if told else ""
