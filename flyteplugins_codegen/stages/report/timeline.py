"""The attempts in their order, each a step: what was done and why, what changed, what ran, what failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from flyteplugins_codegen.models.run import Attempt
from flyteplugins_codegen.stages.outcome import count_tests
from flyteplugins_codegen.stages.report.checks import render_checks
from flyteplugins_codegen.stages.report.code import FileChange, changes, plain_code, render_change
from flyteplugins_codegen.stages.report.markup import Room, badge, facts, fitting, folded, text
from flyteplugins_codegen.stages.report.trust import told_strength

# A page of fifty attempts stays below two megabytes, whatever they wrote: each has the most room that it fits into.
_ALL_STEPS_CHARS: Final = 900_000
_ROOMS: Final = (Room(4_000, 60), Room(1_200, 24), Room(400, 8), Room(80, 2))
_TOO_LONG: Final = "<p>Too long to be shown here; <code>result.json</code> has it.</p>"


def render_timeline(attempts: Sequence[Attempt], chosen: Attempt | None) -> str:
    """A list of steps; the one that stands for the run is open."""
    if not attempts:
        return '<p class="muted">No candidate was made.</p>'
    by_number = {attempt.number: attempt for attempt in attempts}
    made_at_once = Counter(attempt.round_number for attempt in attempts)
    most_chars = _ALL_STEPS_CHARS // len(attempts)
    steps = (
        _step(
            attempt,
            _made(attempt, made_at_once[attempt.round_number])
            + _done(attempt, by_number.get(attempt.parent or 0), most_chars),
            is_open=attempt is chosen,
        )
        for attempt in attempts
    )
    return f'<ol class="timeline">{"".join(steps)}</ol>'


def _step(attempt: Attempt, body: str, *, is_open: bool) -> str:
    kind = _kind(attempt)
    head = (
        f'<span class="number">{attempt.number}</span><b>{text(_words(attempt.action))}</b> '
        f"{badge(_ended(attempt), kind)} {_told(attempt)}"
    )
    return f'<li class="{kind}">{folded(head, body, is_open=is_open)}</li>'


def _made(attempt: Attempt, at_once: int) -> str:
    return facts(
        (
            ("Why", fitting(attempt.reason, 600)),
            ("Nothing changed", fitting(attempt.unusable, 600)),
            ("Made from", f"attempt {attempt.parent}" if attempt.parent else ""),
            ("Side by side", f"{at_once} candidates of round {attempt.round_number}" if at_once > 1 else ""),
            ("Looked for in", _blame(attempt)),
            ("Test strength", told_strength(attempt.strength)),
            ("Installed", fitting(", ".join(attempt.environment.packages), 400) if attempt.environment else ""),
        )
    )


def _done(attempt: Attempt, parent: Attempt | None, most_chars: int) -> str:
    """What changed and what ran, with as much room as fits."""
    changed = changes(parent.candidate, attempt.candidate) if parent else []
    tries = (_changed(attempt, changed, room) + _ran(attempt, room) for room in _ROOMS)
    return next((body for body in tries if len(body) <= most_chars), _TOO_LONG)


def _changed(attempt: Attempt, changed: Sequence[FileChange], room: Room) -> str:
    if changed:
        return "".join(render_change(change, 4 * room.chars) for change in changed)
    return "" if attempt.parent else folded("Its code", plain_code(attempt.candidate.solution.code, 4 * room.chars))


def _ran(attempt: Attempt, room: Room) -> str:
    return render_checks(attempt.report, room) if attempt.report else ""


def _kind(attempt: Attempt) -> str:
    if attempt.report is None:
        return "plain"
    return "good" if attempt.report.passed else "bad"


def _ended(attempt: Attempt) -> str:
    if attempt.report is None:
        return "not judged"
    if attempt.unusable:
        return "no usable reply"
    passed, expected = count_tests(attempt.report)
    word = "passed" if attempt.report.passed else "failed"
    return f"{word}, {passed} of {expected} tests" if expected else word


def _told(attempt: Attempt) -> str:
    """What failed it, as its first line: seen without opening the step."""
    if attempt.cause is None or attempt.unusable:
        return ""
    line = attempt.cause.message.strip().partition("\n")[0]
    return f'<span class="cause">{text(_words(attempt.cause.kind))}: {fitting(line, 240)}</span>'


def _blame(attempt: Attempt) -> str:
    if attempt.blame is None:
        return ""
    return text(attempt.blame) + (f": {fitting(attempt.blame_reason, 400)}" if attempt.blame_reason else "")


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()
