"""Descriptions of failures for a model: the most authoritative first, the smallest case in full. Pure text."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from flyteplugins_codegen.models.reference import OutputsDiffer
from flyteplugins_codegen.models.run import (
    SAMPLES_CASE,
    Attempt,
    Cause,
    ScriptRun,
    SuiteReport,
    TestOutcome,
    TestReport,
)

FAILURE_TOKENS: Final = 1_500
LEARNT_TOKENS: Final = 500
_CHARACTERS_A_TOKEN: Final = 4
FAILURE_CHARS: Final = FAILURE_TOKENS * _CHARACTERS_A_TOKEN
_STDERR_CHARS: Final = 800
_LINE_CHARS: Final = 160
_MOST_TRIED: Final = 4
_LAUNCHER: Final = "launcher: "  # the prefix of our launcher's lines on the script's stderr
_MARKS: Final = re.compile(r"\s+[~^]+$")
_OWN_FILE: Final = re.compile(r'[/"](?:test_)?solution\.py"')
_SOLUTION_LINE: Final = re.compile(r'(?<!test_)solution\.py(?:", line |:)(\d+)')
_EXCEPTION: Final = re.compile(r"([\w.]+)(?::|$)")


def describe_failure(report: TestReport, smallest: Collection[str] = (), limit: int = FAILURE_CHARS) -> str:
    """Describe every cause once, the most authoritative first, in at most `limit` characters.

    Of a suite's failed tests, those named in `smallest`, or else the first, are described in full; the others by name.
    Of a script that crashed nothing is repeated: tests that failed by the same exception are named at most.
    """
    crashes = crashes_of(report)
    parts = [_cause("The environment", report.build_cause)] if report.build_cause else []
    parts += [_run(run) for run in report.runs if run.cause]
    parts += [_suite(suite, smallest, crashes) for suite in report.suites if suite.cause]
    parts += [_difference(report.reference.difference)] if report.reference and report.reference.difference else []
    parts += [_cause("The data", report.drift_cause)] if report.drift_cause else []
    return _shortened("\n\n".join(parts), limit)


def crashes_of(report: TestReport) -> frozenset[tuple[str, str]]:
    """Where the script raised an exception outside of pytest: its name, and the line of the solution."""
    causes = [run.cause for run in report.runs if run.cause and run.cause.kind == "exception"]
    return frozenset((cause.subject, _line_of(cause.message)) for cause in causes)


def has_crashed_alike(test: TestOutcome, crashes: Collection[tuple[str, str]]) -> bool:
    """Whether a test failed by the exception that ended the script too, in the same line."""
    name = _EXCEPTION.match(test.message.strip())
    return name is not None and (name[1].rpartition(".")[2], _line_of(test.traceback)) in crashes


def _line_of(traceback: str) -> str:
    """The number of the innermost line of the solution in a traceback; "" if there is none."""
    numbers: list[str] = _SOLUTION_LINE.findall(traceback)
    return numbers[-1] if numbers else ""


def describe_lineage(attempts: Sequence[Attempt], smallest: Collection[str] = (), look: str = "") -> str:
    """For a repair of the last attempt: its failure, where to look, and what earlier repairs tried without success.

    `look` is "" where the cause is not known.
    """
    hints = [f"## Where to look\n{look}"] if look else []
    tried = _tried(attempts)
    if tried:
        hints.append("\n".join(["## Tried before", *tried]))
    context = "\n\n".join(hints)
    failure = describe_failure(attempts[-1].report or TestReport(), smallest, FAILURE_CHARS - len(context))
    return "\n\n".join(filter(None, [failure, context]))


def describe_learnt(attempts: Sequence[Attempt]) -> str:
    """For a new solution: each failure once, then the repairs that were tried, the newest last."""
    lines = [f"- {attempt.cause.summary}" for attempt in attempts if attempt.cause]
    repairs = (attempt for attempt in attempts if attempt.action == "repair" and not attempt.unusable)
    lines += [f"- Tried in vain: {_line(attempt.reason)}" for attempt in repairs]
    return _shortened("\n".join(dict.fromkeys(lines)), LEARNT_TOKENS * _CHARACTERS_A_TOKEN)


def _tried(attempts: Sequence[Attempt]) -> list[str]:
    """A line for each of the latest repairs before the last attempt."""
    repairs = [attempt for attempt in attempts if attempt.action == "repair"]
    return [f"- {_repair_outcome(attempt)}" for attempt in repairs[-_MOST_TRIED:]]


def _repair_outcome(repair: Attempt) -> str:
    if repair.unusable:
        return f"Nothing was changed: {_line(repair.unusable)}"
    failure = _line(repair.cause.summary) if repair.cause else "nothing that ran"
    return f"The {repair.blame or 'solution'} was changed: {_line(repair.reason)} It then failed with {failure}"


def _line(text: str) -> str:
    return text.strip().partition("\n")[0][:_LINE_CHARS]


def _cause(where: str, cause: Cause) -> str:
    subject = f" ({cause.subject})" if cause.subject else ""
    return f"## {where}: {cause.kind.replace('_', ' ')}{subject}\n{_own_frames(cause.message.strip())}"


def _run(run: ScriptRun) -> str:
    samples = f"The script on the samples{run.arguments_text}"
    where = samples if run.case == SAMPLES_CASE else f"The script on the user's {run.case}"
    text = _cause(where, run.cause) if run.cause else where
    if run.cause and run.cause.kind in {"missing_output", "invalid_output"}:
        stderr = _without_cause(run.stderr.strip(), run.cause)
        text += f"\nIts stderr: {_shortened(stderr, _STDERR_CHARS)}" if stderr else ""
    return text + _variables(run.variables)


def _without_cause(stderr: str, cause: Cause) -> str:
    """The script's stderr without the launcher's lines that the cause repeats."""
    known = {f"{_LAUNCHER}{line}" for line in cause.message.splitlines()}
    return "\n".join(line for line in stderr.splitlines() if line not in known).strip()


def _suite(suite: SuiteReport, smallest: Collection[str], crashes: Collection[tuple[str, str]]) -> str:
    author = "The user's tests" if suite.origin == "user" else "The generated tests"
    failed = [test for test in suite.tests if test.outcome in {"failed", "error"}]
    if suite.cause and (not failed or suite.cause.kind != "test_failed"):
        # A time-out, a crash or tampering says more than the tests that had failed until then.
        return _cause(author, suite.cause)
    alike = [test for test in failed if has_crashed_alike(test, crashes)]
    others = [test for test in failed if test not in alike]
    in_full = [test for test in others if test.name in smallest] or others[:1]
    parts = [f"## {author}: {len(failed)} of {len(suite.expected)} failed", *map(_test, in_full)]
    named = {
        "Failed by the same exception": alike,
        "Also failed": [test for test in others if test not in in_full],
        "Passed": [test for test in suite.tests if test.outcome == "passed" and not alike],
    }
    parts += [f"{title}: {', '.join(test.name for test in tests)}" for title, tests in named.items() if tests]
    return "\n".join(parts)


def _difference(found: OutputsDiffer) -> str:
    """Both answers, on the fewest rows that show the difference."""
    lines = [f"## reference.py has other outputs on {found.case}"]
    if found.rows:
        lines.append(f"On these {found.row_count} rows of {found.sample}:\n{found.rows.rstrip()}")
    if found.arguments:
        lines.append(f"with {found.arguments}")
    place = f"{found.output_name}, {found.where}" if found.where else found.output_name
    lines.append(f"{place}: solution.py {found.solution_answer}; reference.py {found.reference_answer}")
    return "\n".join(lines)


def _test(test: TestOutcome) -> str:
    lines = test.traceback.strip().splitlines()
    own = [line for line in lines if line.startswith("solution.py:")] or lines
    return "\n".join([f"{test.name}: {test.message.strip()}", *own]) + _variables(test.variables)


def _variables(values: str) -> str:
    return f"\nVariables {values}" if values else ""


def _own_frames(text: str) -> str:
    """A traceback without the frames of libraries and without position markers, which differ between Pythons."""
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
