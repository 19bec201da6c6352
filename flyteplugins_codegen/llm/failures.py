"""What went wrong, as a model is told it: the smallest failing case in full, the rest by name, bounded in tokens."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from flyteplugins_codegen.models.report import SAMPLES_CASE, Cause, ScriptRun, SuiteReport, TestOutcome, TestReport
from flyteplugins_codegen.models.run import Attempt

FAILURE_TOKENS: Final = 1_500
LEARNT_TOKENS: Final = 500
_CHARACTERS_A_TOKEN: Final = 4
FAILURE_CHARS: Final = FAILURE_TOKENS * _CHARACTERS_A_TOKEN
_STDERR_CHARS: Final = 800
_LINE_CHARS: Final = 160
_MOST_TRIED: Final = 4
_LAUNCHER: Final = "launcher: "  # begins what our launcher says on the script's stderr
_MARKS: Final = re.compile(r"\s+[~^]+$")
_OWN_FILE: Final = re.compile(r'[/"](?:test_)?solution\.py"')


def describe_failure(report: TestReport, smallest: Collection[str] = (), limit: int = FAILURE_CHARS) -> str:
    """Every cause once, most authoritative first, in at most `limit` characters.

    Of a suite's failed tests those that are named `smallest` are told in full, or the first; the others by name.
    """
    parts = [_cause("The environment", report.build_cause)] if report.build_cause else []
    parts += [_run(run) for run in report.runs if run.cause]
    parts += [_suite(suite, smallest) for suite in report.suites if suite.cause]
    parts += [_cause("The data", report.drift_cause)] if report.drift_cause else []
    return _shortened("\n\n".join(parts), limit)


def describe_lineage(attempts: Sequence[Attempt], smallest: Collection[str] = (), look: str = "") -> str:
    """What a repair of the last attempt is told: its failure, where to look, what the ones before it tried in vain.

    `look` is "" where it is for the model to find.
    """
    hints = [f"## Where to look\n{look}"] if look else []
    tried = _tried(attempts)
    if tried:
        hints.append("\n".join(["## Tried before", *tried]))
    told = "\n\n".join(hints)
    failed = describe_failure(attempts[-1].report or TestReport(), smallest, FAILURE_CHARS - len(told))
    return "\n\n".join(filter(None, [failed, told]))


def describe_learnt(attempts: Sequence[Attempt]) -> str:
    """What the author of a fresh solution is told: each failure once, and what was tried against it, newest last."""
    lines = [f"- {attempt.cause.told}" for attempt in attempts if attempt.cause]
    repairs = (attempt for attempt in attempts if attempt.action == "repair" and not attempt.unusable)
    lines += [f"- Tried in vain: {_line(attempt.reason)}" for attempt in repairs]
    return _shortened("\n".join(dict.fromkeys(lines)), LEARNT_TOKENS * _CHARACTERS_A_TOKEN)


def _tried(attempts: Sequence[Attempt]) -> list[str]:
    """A line for each repair that the last attempt has behind it."""
    repairs = [attempt for attempt in attempts if attempt.action == "repair"]
    return [f"- {_what_came_of(attempt)}" for attempt in repairs[-_MOST_TRIED:]]


def _what_came_of(repair: Attempt) -> str:
    if repair.unusable:
        return f"Nothing was changed: {_line(repair.unusable)}"
    failed = _line(repair.cause.told) if repair.cause else "nothing that ran"
    return f"The {repair.blame or 'solution'} was changed: {_line(repair.reason)} It then failed with {failed}"


def _line(text: str) -> str:
    return text.strip().partition("\n")[0][:_LINE_CHARS]


def _cause(where: str, cause: Cause) -> str:
    subject = f" ({cause.subject})" if cause.subject else ""
    return f"## {where}: {cause.kind.replace('_', ' ')}{subject}\n{_own_frames(cause.message.strip())}"


def _run(run: ScriptRun) -> str:
    where = "The script on the samples" if run.case == SAMPLES_CASE else f"The script on the user's {run.case}"
    text = _cause(where, run.cause) if run.cause else where
    if run.cause and run.cause.kind in {"missing_output", "invalid_output"}:
        said = _without_cause(run.stderr.strip(), run.cause)
        text += f"\nIts stderr: {_shortened(said, _STDERR_CHARS)}" if said else ""
    return text + _variables(run.variables)


def _without_cause(stderr: str, cause: Cause) -> str:
    """What the script said, without the launcher's own line, which the cause has."""
    told = {f"{_LAUNCHER}{line}" for line in cause.message.splitlines()}
    return "\n".join(line for line in stderr.splitlines() if line not in told).strip()


def _suite(suite: SuiteReport, smallest: Collection[str]) -> str:
    author = "The user's tests" if suite.origin == "user" else "The generated tests"
    failed = [test for test in suite.tests if test.outcome in {"failed", "error"}]
    if suite.cause and (not failed or suite.cause.kind != "test_failed"):
        # Not the tests' own verdict: a time-out, a crash or tampering says more than the tests that had failed by then.
        return _cause(author, suite.cause)
    shown = [test for test in failed if test.name in smallest] or failed[:1]
    parts = [f"## {author}: {len(failed)} of {len(suite.expected)} failed", *map(_test, shown)]
    others = [test.name for test in failed if test not in shown]
    if others:
        parts.append("Also failed: " + ", ".join(others))
    passed = [test.name for test in suite.tests if test.outcome == "passed"]
    if passed:
        parts.append("Passed: " + ", ".join(passed))
    return "\n".join(parts)


def _test(test: TestOutcome) -> str:
    lines = test.traceback.strip().splitlines()
    own = [line for line in lines if line.startswith("solution.py:")] or lines
    return "\n".join([f"{test.name}: {test.message.strip()}", *own]) + _variables(test.variables)


def _variables(told: str) -> str:
    return f"\nVariables {told}" if told else ""


def _own_frames(text: str) -> str:
    """A traceback without the frames of libraries, and without marks below the lines: each Python marks otherwise."""
    kept, is_own, is_frame = [], True, False
    for line in text.splitlines():
        if line.startswith('  File "'):
            is_own, is_frame = bool(_OWN_FILE.search(line)), True
        elif not line.startswith(" "):
            is_own, is_frame = True, False
        if is_own and not (is_frame and _MARKS.match(line)):
            kept.append(line)
    return "\n".join(kept)


def _shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
