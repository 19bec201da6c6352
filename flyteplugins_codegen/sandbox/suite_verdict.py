"""The verdict on a suite: what was told, held against what the source declares and how the processes ended.

A suite passes where every declared test reported and passed, nothing else failed, and the end that pytest told agrees
with the end that its parent saw. Anything less has a cause. A test that was skipped did not pass: in the user's own
tests a skip that their text speaks of is the user's choice and is allowed beside at least one test that passed; in
generated tests it is a failure, or a suite could pass by omission.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from flyteplugins_codegen.models.report import Cause, SuiteOrigin, TestOutcome
from flyteplugins_codegen.sandbox.failure_text import shortened
from flyteplugins_codegen.sandbox.python_errors import missing_module_cause
from flyteplugins_codegen.sandbox.signal_names import signal_name
from flyteplugins_codegen.sandbox.suite_evidence import Evidence, Failure

_ALL_PASSED: Final = 0
_SOME_FAILED: Final = 1
_NOTHING_COLLECTED: Final = 5
_FIXTURE_MISSING: Final = "FixtureLookupError"
_NAMES_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Charge:
    """What there is to judge. `expected` are the tests that the source declares; `may_skip`: it speaks of skips."""

    evidence: Evidence
    expected: tuple[str, ...]
    origin: SuiteOrigin
    may_skip: bool


def judge_suite(charge: Charge) -> Cause | None:
    """The first cause for which the suite did not pass, None where it did."""
    return next((cause for judge in _JUDGES if (cause := judge(charge)) is not None), None)


def missing_tests(evidence: Evidence, expected: Sequence[str]) -> tuple[TestOutcome, ...]:
    """An outcome `missing` for each declared test that did not report; cases of one test are told by their number."""
    reported = Counter(_base(test.name) for test in evidence.tests)
    declared: dict[str, list[str]] = {}
    for name in expected:
        declared.setdefault(_base(name), []).append(name)
    absent = [name for base, names in declared.items() for name in names[reported[base] :]]
    return tuple(TestOutcome(name=name, outcome="missing", message="it did not report") for name in absent)


def _base(name: str) -> str:
    return name.partition("[")[0]


def _untrusted(message: str, subject: str = "") -> Cause:
    return Cause(kind="untrusted_report", subject=subject, message=message)


def _parent_ended(charge: Charge) -> Cause | None:
    if charge.evidence.exit_status is not None:
        return None
    where = f" while {charge.evidence.running} was running" if charge.evidence.running else ""
    return _untrusted(
        f"the process that watches the tests was ended from within{where}; the solution must not end other processes",
        charge.evidence.running,
    )


def _tampered(charge: Charge) -> Cause | None:
    if not charge.evidence.suspicions:
        return None
    found = "; ".join(charge.evidence.suspicions)
    return _untrusted(
        f"the tests cannot be trusted: {found}; the solution must leave the tests, the test libraries and the frames "
        "of its callers alone (traceback.format_exc() gives the text of an exception)"
    )


def _import_failed(charge: Charge) -> Cause | None:
    failure = charge.evidence.import_failure
    if failure is None:
        return None
    if failure.type in {"SystemExit", "KeyboardInterrupt"}:
        message = (
            f"importing solution.py ended the process ({failure.message}); keep what runs the script behind "
            "`if __name__ == '__main__':`, so that tests can import its functions"
        )
        return Cause(kind="exception", subject=failure.type, message=_with_lines(message, failure))
    message = _with_lines(f"importing solution.py failed: {failure.message}", failure)
    return missing_module_cause(failure.missing, message) or Cause(
        kind="exception", subject=failure.type, message=message
    )


def _collect_failed(charge: Charge) -> Cause | None:
    failure = charge.evidence.collect_failure
    if failure is None:
        return None
    message = _with_lines(f"importing test_solution.py failed: {failure.message}", failure)
    found = missing_module_cause(failure.missing, message)
    if found is not None:
        return found
    # Names that the user's own tests import are part of what was asked for; those of generated tests were guessed.
    lacks_name = failure.type == "ImportError" and "from 'solution'" in failure.message
    if lacks_name and charge.origin == "user":
        return Cause(kind="exception", subject="ImportError", message=message)
    return Cause(kind="broken_tests", subject=failure.type, message=message)


def _ended_early(charge: Charge) -> Cause | None:
    evidence = charge.evidence
    if evidence.ended is not None and evidence.ended == evidence.exit_status:
        return None
    where = f"while {evidence.running} was running" if evidence.running else "before the tests had ended"
    if evidence.exit_status is not None and evidence.exit_status < 0:
        ended = f"the process was ended by {signal_name(-evidence.exit_status)} {where}"
        return Cause(kind="exception", subject=evidence.running, message=f"{ended}\n{evidence.output[-500:]}".strip())
    if evidence.ended is None:
        return _untrusted(
            f"the process ended with status {evidence.exit_status} {where}, without reporting; "
            f"the solution must not end the process itself\n{evidence.broken}".strip(),
            evidence.running,
        )
    return _untrusted(f"the tests ended with status {evidence.ended}, their process with {evidence.exit_status}")


def _unconfirmed(charge: Charge) -> Cause | None:
    if not charge.evidence.unconfirmed:
        return None
    first = charge.evidence.unconfirmed[0]
    names = ", ".join(charge.evidence.unconfirmed[:_NAMES_SHOWN])
    return _untrusted(f"reported as passed, though their bodies never came to their ends: {names}", first)


def _nothing_ran(charge: Charge) -> Cause | None:
    ran = [test for test in charge.evidence.tests if test.outcome not in {"skipped", "missing"}]
    if ran:
        return None
    skipped = [test.message for test in charge.evidence.tests if test.outcome == "skipped"]
    why = f"every test was skipped: {skipped[0]}" if skipped else "no test of test_solution.py ran"
    return Cause(kind="nothing_ran", message=why)


def _some_failed(charge: Charge) -> Cause | None:
    accepted = {"passed", "skipped"} if charge.origin == "user" and charge.may_skip else {"passed"}
    failed = [test for test in charge.evidence.tests if test.outcome not in accepted]
    if not failed:
        return None
    first = failed[0]
    failure = charge.evidence.failures.get(first.name, Failure())
    message = _with_lines(f"{first.name}: {first.message or first.outcome}", failure)
    others = ", ".join(test.name for test in failed[1 : _NAMES_SHOWN + 1])
    if others:
        message += f"\n{len(failed) - 1} more did not pass: {others}"
    if failure.type == _FIXTURE_MISSING:
        return Cause(kind="broken_tests", subject=first.name, message=message)
    missing = [test for test in failed if charge.evidence.failures.get(test.name, Failure()).missing]
    found = missing_module_cause(charge.evidence.failures[missing[0].name].missing, message) if missing else None
    return found or Cause(kind="test_failed", subject=first.name, message=message)


def _not_all_reported(charge: Charge) -> Cause | None:
    absent = missing_tests(charge.evidence, charge.expected)
    if not absent:
        return None
    names = ", ".join(test.name for test in absent[:_NAMES_SHOWN])
    return _untrusted(
        f"{len(absent)} of {len(charge.expected)} declared tests did not report: {names}; "
        "a test must not be removed, replaced or hidden by a condition",
        absent[0].name,
    )


def _status_disagrees(charge: Charge) -> Cause | None:
    if charge.evidence.exit_status == _ALL_PASSED:
        return None
    return _untrusted(f"every test is reported as passed, and yet the tests ended with {charge.evidence.exit_status}")


def _with_lines(message: str, failure: Failure) -> str:
    return shortened(f"{message}\n{failure.traceback}" if failure.traceback else message)


_JUDGES: Final[tuple[Callable[[Charge], Cause | None], ...]] = (
    _parent_ended,
    _tampered,
    _import_failed,
    _collect_failed,
    _ended_early,
    _unconfirmed,
    _nothing_ran,
    _some_failed,
    _not_all_reported,
    _status_disagrees,
)
