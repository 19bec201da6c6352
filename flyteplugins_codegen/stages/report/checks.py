"""What ran for one candidate: the script on each case, and every test, with how it ended and how long it took."""

from __future__ import annotations

import json
from typing import Final

from pydantic import JsonValue

from flyteplugins_codegen.models.report import SAMPLES_CASE, ScriptRun, SuiteReport, TestOutcome, TestReport
from flyteplugins_codegen.stages.report.markup import Room, bullets, fitting, folded, log, seconds, size, text

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
