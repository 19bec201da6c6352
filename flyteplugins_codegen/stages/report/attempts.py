"""The attempts in their order, each a step: what was done and why, what changed, what ran, what failed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from flyteplugins_codegen.html.code import FileChange, changes, plain_code, render_change
from flyteplugins_codegen.html.kit import Room, badge, bullets, facts, fitting, folded, log, seconds, size, table, text
from flyteplugins_codegen.models.job import Candidate
from flyteplugins_codegen.models.run import (
    SAMPLES_CASE,
    Attempt,
    Disagreement,
    DroppedTest,
    ScriptRun,
    SuiteReport,
    TestOutcome,
    TestReport,
    TestStrength,
)
from flyteplugins_codegen.stages.lineage import count_tests

# What ran for one candidate: the script on each case, and every test, with how it ended and how long it took.

_HEAD_LINES: Final = 5
_NAME_CHARS: Final = 300
_OUTPUT_CHARS: Final = 600


def render_checks(report: TestReport, room: Room) -> str:
    """Everything that ran, as far as there is room."""
    parts = [_build_failure(report, room), _runs(report.runs, room)]
    parts += [_suite(suite, room) for suite in report.suites]
    if report.isolation:
        parts.append(folded("Isolation", f'<p class="muted">{fitting(", ".join(report.isolation), 2_000)}</p>'))
    return "".join(parts)


def _build_failure(report: TestReport, room: Room) -> str:
    return log(report.build_cause.message, room.chars) if report.build_cause else ""


def _runs(runs: tuple[ScriptRun, ...], room: Room) -> str:
    # Those that failed are told first where there are too many to tell all.
    shown = runs if len(runs) <= room.rows else sorted(runs, key=lambda run: run.passed)[: room.rows]
    hidden = [f"{len(runs) - len(shown)} more, with the same outcome or better"] if len(runs) > len(shown) else []
    return bullets([*(_run(run, room) for run in shown), *hidden], "checks")


def _run(run: ScriptRun, room: Room) -> str:
    where = "The script on the samples" if run.case == SAMPLES_CASE else f"The script on {run.case}"
    head = _mark(is_passed=run.passed) + f"{fitting(where, min(room.chars, _NAME_CHARS))} {_took(run.wall_s)}"
    told = log(run.cause.message, room.chars) if run.cause else ""
    outputs = bullets((_output(*item, room) for item in list(run.outputs.items())[: room.rows]), "outputs")
    spoken = folded("stdout", log(run.stdout, room.chars)) + folded("stderr", log(run.stderr, room.chars))
    return head + told + outputs + spoken + _variables(run.variables, room)


def _output(name: str, value: JsonValue, room: Room) -> str:
    """A simple output as it is, a file by its size and its first lines, a folder by its files."""
    chars = min(room.chars, _OUTPUT_CHARS)
    if not isinstance(value, dict):
        return f"<code>{text(name)}</code> = {fitting(json.dumps(value, ensure_ascii=False), chars)}"
    if "files" in value:
        return f"<code>{text(name)}</code>: {fitting(json.dumps(value['files'], ensure_ascii=False), chars)}"
    head = "\n".join(str(value.get("head", "")).splitlines()[:_HEAD_LINES])
    size_bytes = value.get("size_bytes")
    shown = size(size_bytes) if isinstance(size_bytes, int | float) else fitting(str(size_bytes), 40)
    return f"<code>{text(name)}</code>: {shown}{log(head, chars)}"


def _suite(suite: SuiteReport, room: Room) -> str:
    passed = sum(test.outcome == "passed" for test in suite.tests)
    whose = "Your tests" if suite.origin == "user" else "Generated tests"
    head = f"{_mark(is_passed=suite.passed)}{whose}: {passed} of {len(suite.expected)} passed {_took(suite.wall_s)}"
    failed = [test for test in suite.tests if test.outcome != "passed"]
    told = log(suite.cause.message, room.chars) if suite.cause is not None and not failed else ""
    listed = bullets(_tests(suite.tests, room), "tests")
    return bullets([head + told + listed + folded("Output of the tests", log(suite.output, room.chars))], "checks")


def _tests(tests: tuple[TestOutcome, ...], room: Room) -> list[str]:
    """Those that failed first, the first of them with what they said."""
    ordered = sorted(tests, key=lambda test: test.outcome == "passed")
    rows = [_test(test, room) for test in ordered[: room.rows]]
    hidden = len(tests) - room.rows
    return [*rows, f"{hidden} more"] if hidden > 0 else rows


def _test(test: TestOutcome, room: Room) -> str:
    is_passed = test.outcome == "passed"
    ended = "" if is_passed or test.outcome == "failed" else f" ({text(test.outcome)})"
    name = fitting(test.name, min(room.chars, _NAME_CHARS))
    head = f"{_mark(is_passed=is_passed)}<code>{name}</code>{ended} {_took(test.duration_s)}"
    if is_passed:
        return head
    traceback = folded("Traceback", log(test.traceback, room.chars))
    return head + log(test.message, room.chars) + traceback + _variables(test.variables, room)


def _variables(values: str, room: Room) -> str:
    return folded("Variables when it failed", log(values, room.chars))


def _mark(*, is_passed: bool) -> str:
    kind, word, sign = ("good", "passed", "✓") if is_passed else ("bad", "failed", "✗")
    return f'<span class="mark {kind}" role="img" aria-label="{word}">{sign}</span> '


def _took(wall_s: float) -> str:
    return f'<span class="muted">{seconds(wall_s)}</span>'


# How far the solution can be trusted: voices for it, the strength of its tests, where candidates differed.

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


def _files(old: Candidate, new: Candidate) -> list[tuple[str, str, str]]:
    """The files of two candidates, each by its name with both of its texts."""
    return [
        ("solution.py", old.solution.code, new.solution.code),
        ("test_solution.py", old.tests or "", new.tests or ""),
    ]


def _done(attempt: Attempt, parent: Attempt | None, most_chars: int) -> str:
    """What changed and what ran, with as much room as fits."""
    changed = changes(_files(parent.candidate, attempt.candidate)) if parent else []
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
