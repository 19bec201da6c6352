"""The sections about the attempts: what each one did, changed and ran, and how far the final one can be trusted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from flyteplugins_codegen.html.code import FileChange, changes, plain_code, render_change
from flyteplugins_codegen.html.kit import Room, badge, bullets, facts, fitting, folded, log, seconds, size, table, text
from flyteplugins_codegen.models.job import Candidate
from flyteplugins_codegen.models.reference import REFERENCE_FILE, ReferenceReport
from flyteplugins_codegen.models.run import (
    SAMPLES_CASE,
    Answer,
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

_HEAD_LINES: Final = 5
_NAME_CHARS: Final = 300
_OUTPUT_CHARS: Final = 600
_CHARS: Final = 600
_MOST_ROWS: Final = 60
# A page of fifty attempts stays below two megabytes: each attempt gets the largest room in which it fits.
_ALL_STEPS_CHARS: Final = 900_000
_ROOMS: Final = (Room(4_000, 60), Room(1_200, 24), Room(400, 8), Room(80, 2))
_TOO_LONG: Final = "<p>Too long to be shown here; <code>result.json</code> has it.</p>"

# --- checks ---


def render_checks(report: TestReport, room: Room) -> str:
    """Every case and test that ran for one candidate, how it ended and how long it took, as far as there is room."""
    parts = [log(report.build_cause.message, room.chars)] if report.build_cause else []
    parts.append(_runs(report.runs, room))
    parts += [_suite(suite, room) for suite in report.suites]
    parts += [_reference(report.reference, room)] if report.reference else []
    if report.isolation:
        parts.append(folded("Isolation", f'<p class="muted">{fitting(", ".join(report.isolation), 2_000)}</p>'))
    return "".join(parts)


def _runs(runs: tuple[ScriptRun, ...], room: Room) -> str:
    # If there are too many, the failed ones come first.
    shown = runs if len(runs) <= room.rows else sorted(runs, key=lambda run: run.passed)[: room.rows]
    hidden = [f"{len(runs) - len(shown)} more, with the same outcome or better"] if len(runs) > len(shown) else []
    return bullets([*(_run(run, room) for run in shown), *hidden], "checks")


def _run(run: ScriptRun, room: Room) -> str:
    case = f"The script on the samples{run.arguments_text}" if run.case == SAMPLES_CASE else f"The script on {run.case}"
    head = _mark(is_passed=run.passed) + f"{fitting(case, min(room.chars, _NAME_CHARS))} {_took(run.wall_s)}"
    message = log(run.cause.message, room.chars) if run.cause else ""
    outputs = bullets((_output(*item, room) for item in list(run.outputs.items())[: room.rows]), "outputs")
    streams = folded("stdout", log(run.stdout, room.chars)) + folded("stderr", log(run.stderr, room.chars))
    return head + message + outputs + streams + _variables(run.variables, room)


def _output(name: str, value: JsonValue, room: Room) -> str:
    """A simple output by its value, a file by its size and first lines, a folder by its files."""
    chars = min(room.chars, _OUTPUT_CHARS)
    if not isinstance(value, dict):
        return f"<code>{text(name)}</code> = {fitting(json.dumps(value, ensure_ascii=False), chars)}"
    if "files" in value:
        return f"<code>{text(name)}</code>: {fitting(json.dumps(value['files'], ensure_ascii=False), chars)}"
    head = "\n".join(str(value.get("head", "")).splitlines()[:_HEAD_LINES])
    size_bytes = value.get("size_bytes")
    size_text = size(size_bytes) if isinstance(size_bytes, int | float) else fitting(str(size_bytes), 40)
    return f"<code>{text(name)}</code>: {size_text}{log(head, chars)}"


def _suite(suite: SuiteReport, room: Room) -> str:
    passed = sum(test.outcome == "passed" for test in suite.tests)
    whose = "Your tests" if suite.origin == "user" else "Generated tests"
    head = f"{_mark(is_passed=suite.passed)}{whose}: {passed} of {len(suite.expected)} passed {_took(suite.wall_s)}"
    failed = [test for test in suite.tests if test.outcome != "passed"]
    message = log(suite.cause.message, room.chars) if suite.cause is not None and not failed else ""
    listed = bullets(_tests(suite.tests, room), "tests")
    return bullets([head + message + listed + folded("Output of the tests", log(suite.output, room.chars))], "checks")


def _reference(reference: ReferenceReport, room: Room) -> str:
    """The comparison with the second computation: the cases with the same outputs, and the one that differs."""
    if reference.dropped:
        return bullets([f"The reference was not used: {fitting(reference.dropped, room.chars)}"], "checks")
    head = _mark(is_passed=reference.difference is None) + f"The reference: {_agreed(reference)}"
    found = reference.difference
    shown = log("\n".join(filter(None, [found.summary, found.rows])), room.chars) if found else ""
    left_open = bullets((fitting(each.summary, room.chars) for each in reference.unsettled[: room.rows]), "outputs")
    return bullets([head + shown + folded("Differences that the description leaves open", left_open)], "checks")


def _agreed(reference: ReferenceReport) -> str:
    count = len(reference.agreed)
    named = text(", ".join(reference.agreed))
    return f"same outputs on {count} case{'s' if count != 1 else ''}{f' ({named})' if named else ''}"


def _tests(tests: tuple[TestOutcome, ...], room: Room) -> list[str]:
    """The tests, the failed ones first, as many as there is room for."""
    ordered = sorted(tests, key=lambda test: test.outcome == "passed")
    rows = [_test(test, room) for test in ordered[: room.rows]]
    hidden = len(tests) - room.rows
    return [*rows, f"{hidden} more"] if hidden > 0 else rows


def _test(test: TestOutcome, room: Room) -> str:
    is_passed = test.outcome == "passed"
    outcome = "" if is_passed or test.outcome == "failed" else f" ({text(test.outcome)})"
    name = fitting(test.name, min(room.chars, _NAME_CHARS))
    head = f"{_mark(is_passed=is_passed)}<code>{name}</code>{outcome} {_took(test.duration_s)}"
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


# --- trust ---


def render_trust(
    chosen: Attempt | None,
    confidence: float | None,
    disagreement: Disagreement | None,
    dropped: Sequence[DroppedTest],
) -> str:
    """The confidence, the strength of the tests, where candidates differed, and the dropped tests."""
    strength = chosen.strength if chosen else None
    known = facts(
        (
            ("Confidence", _confidence(confidence)),
            ("Test strength", _strength(strength)),
            ("Second computation", _second_computation(chosen)),
        )
    )
    return known + _survivors(strength) + _disagreement(disagreement) + _dropped(dropped)


def _second_computation(chosen: Attempt | None) -> str:
    reference = chosen.report.reference if chosen and chosen.report else None
    if reference is None:
        return ""
    if reference.dropped:
        return f"not used: {fitting(reference.dropped, _CHARS)}"
    differs = f"; differs {fitting(reference.difference.summary, _CHARS)}" if reference.difference else ""
    return f"written from the description alone: {_agreed(reference)}{differs}"


def _strength(strength: TestStrength | None) -> str:
    if strength is None or strength.share is None:
        return ""
    found = f"of {strength.total} versions with one small mistake each, {strength.killed} fail a test"
    return f"{strength.share:.2f}: " + (f"{fitting(strength.reason, _CHARS)}; {found}" if strength.reason else found)


def _confidence(confidence: float | None) -> str:
    if confidence is None:
        return ""
    return f"{confidence:.2f}: how likely it is right, by this evidence"


def _survivors(strength: TestStrength | None) -> str:
    lines = strength.survivors[:_MOST_ROWS] if strength else ()
    listed = bullets(f"<code>{fitting(line, _CHARS)}</code>" for line in lines)
    return folded(f"Mistakes that no test noticed: {len(strength.survivors)}", listed) if strength else ""


def _disagreement(disagreement: Disagreement | None) -> str:
    if disagreement is None:
        return ""
    rows = [
        (_whose(answer), f'<pre class="log">{fitting(answer.text, _CHARS)}</pre>')
        for answer in disagreement.answers[:_MOST_ROWS]
    ]
    case = f"{fitting(disagreement.case, _CHARS)}: {fitting(disagreement.input, _CHARS)}"
    return f"<h3>Where candidates differ</h3><p>{case}</p>{table(('attempts', 'answer'), rows)}"


def _whose(answer: Answer) -> str:
    return ", ".join(map(str, answer.attempts[:_MOST_ROWS])) or REFERENCE_FILE


def _dropped(dropped: Sequence[DroppedTest]) -> str:
    listed = bullets(
        f"<code>{fitting(test.name, 300)}</code> "
        f'<span class="muted">after attempt {test.attempt}: {fitting(test.reason, _CHARS)}</span>'
        for test in dropped[:_MOST_ROWS]
    )
    return f"<h3>Tests that were dropped</h3>{listed}" if listed else ""


# --- timeline ---


def render_timeline(attempts: Sequence[Attempt], chosen: Attempt | None) -> str:
    """A list of steps, one for each attempt; the final attempt is unfolded."""
    if not attempts:
        return '<p class="muted">No candidate was made.</p>'
    by_number = {attempt.number: attempt for attempt in attempts}
    made_at_once = Counter(attempt.round_number for attempt in attempts)
    most_chars = _ALL_STEPS_CHARS // len(attempts)
    steps = []
    for attempt in attempts:
        body = _origin(attempt, made_at_once[attempt.round_number])
        body += _outcome(attempt, by_number.get(attempt.parent or 0), most_chars)
        steps.append(_step(attempt, body, is_open=attempt is chosen))
    return f'<ol class="timeline">{"".join(steps)}</ol>'


def _step(attempt: Attempt, body: str, *, is_open: bool) -> str:
    kind = _kind(attempt)
    head = (
        f'<span class="number">{attempt.number}</span><b>{text(_words(attempt.action))}</b> '
        f"{badge(_verdict(attempt), kind)} {_first_line(attempt)}"
    )
    return f'<li class="{kind}">{folded(head, body, is_open=is_open)}</li>'


def _origin(attempt: Attempt, at_once: int) -> str:
    return facts(
        (
            ("Why", fitting(attempt.reason, 600)),
            ("Nothing changed", fitting(attempt.unusable, 600)),
            ("Made from", f"attempt {attempt.parent}" if attempt.parent else ""),
            ("Side by side", f"{at_once} candidates of round {attempt.round_number}" if at_once > 1 else ""),
            ("Looked for in", _blame(attempt)),
            ("Test strength", _strength(attempt.strength)),
            ("Installed", fitting(", ".join(attempt.environment.packages), 400) if attempt.environment else ""),
        )
    )


def _file_changes(old: Candidate, new: Candidate) -> list[FileChange]:
    solution = ("solution.py", old.solution.code, new.solution.code)
    return changes([solution, ("test_solution.py", old.tests or "", new.tests or "")])


def _outcome(attempt: Attempt, parent: Attempt | None, most_chars: int) -> str:
    """What changed and what ran, in the largest room in which it fits."""
    changed = _file_changes(parent.candidate, attempt.candidate) if parent else []
    bodies = (_code_change(attempt, changed, room) + _checks(attempt, room) for room in _ROOMS)
    return next((body for body in bodies if len(body) <= most_chars), _TOO_LONG)


def _code_change(attempt: Attempt, changed: Sequence[FileChange], room: Room) -> str:
    if changed:
        return "".join(render_change(change, 4 * room.chars) for change in changed)
    return "" if attempt.parent else folded("Its code", plain_code(attempt.candidate.solution.code, 4 * room.chars))


def _checks(attempt: Attempt, room: Room) -> str:
    return render_checks(attempt.report, room) if attempt.report else ""


def _kind(attempt: Attempt) -> str:
    if attempt.report is None:
        return "plain"
    return "good" if attempt.report.passed else "bad"


def _verdict(attempt: Attempt) -> str:
    if attempt.report is None:
        return "not judged"
    if attempt.unusable:
        return "no usable reply"
    passed, expected = count_tests(attempt.report)
    word = "passed" if attempt.report.passed else "failed"
    return f"{word}, {passed} of {expected} tests" if expected else word


def _first_line(attempt: Attempt) -> str:
    """The first line of the cause, which is visible without unfolding the step."""
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
