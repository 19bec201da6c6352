"""Turns the report of a judge inside a sandbox into a verdict, with the cause that a repair needs."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast, get_args

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.judging.causes import limit_cause, missing_module_cause, signal_name
from flyteplugins_codegen.judging.values.inside.plain_data import read_text
from flyteplugins_codegen.models.run import Cause, CauseKind, TestOutcome, ValuesReport
from flyteplugins_codegen.sandbox.contract import Execution, Limits
from flyteplugins_codegen.text import decoded, failure_text

if TYPE_CHECKING:
    from flyteplugins_codegen.judging.values.inside.plain_data import Tree

_SEAL_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """A judge's report. `causes` are those of the failed cases, in their order; `fault` ended all cases."""

    has_begun: bool = False
    has_ended: bool = False
    calls: int = 0
    cases: tuple[TestOutcome, ...] = ()
    causes: tuple[Cause, ...] = ()
    fault: Cause | None = None
    cpu_s: float = 0.0
    wall_s: float = 0.0


def judge_values(execution: Execution, nonce: str, names: Sequence[str], limits: Limits) -> ValuesReport:
    """The verdict on an execution that should have run the cases of these names. Raises SandboxError."""
    if execution.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it judged by values: {execution.message}")
    report = _read(execution.stdout, nonce)
    _check_environment(report, execution)
    cases = _cases(report, names)
    running = _last_running(report, cases)
    return ValuesReport(
        cases=cases,
        output=decoded(execution.stderr, execution.stderr_cut),
        cause=limit_cause(execution, limits, running) or _cause(report, cases, execution),
        wall_s=execution.wall_s,
        cpu_s=execution.cpu_s,
        isolation=execution.isolation,
    )


def judge_sequence(
    execution: Execution, nonces: Sequence[str], names: Sequence[Sequence[str]]
) -> list[ValuesReport | None]:
    """The verdicts on solutions judged in sequence; None from the first judge on that did not finish its report.

    The verdicts have no `output`, since all solutions share one. Raises SandboxError.
    """
    if execution.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it judged by values: {execution.message}")
    reports = [_read(execution.stdout, nonce) for nonce in nonces]
    _check_environment(reports[0], execution)
    begun = sum(report.has_begun for report in reports)
    # If a limit ended the last one, those before it may have used it up.
    certain = begun if execution.status == "exited" else begun - 1
    return [
        _values_report(report, case_names, execution) if report.has_ended and index < certain else None
        for index, (report, case_names) in enumerate(zip(reports, names, strict=True))
    ]


def _values_report(report: JudgeReport, names: Sequence[str], execution: Execution) -> ValuesReport:
    cases = _cases(report, names)
    cause = _cause(report, cases, execution)
    return ValuesReport(
        cases=cases, cause=cause, wall_s=report.wall_s, cpu_s=report.cpu_s, isolation=execution.isolation
    )


def _last_running(report: JudgeReport, cases: Sequence[TestOutcome]) -> str:
    """The case that was running when a limit ended the solution; "" if the judge was ended before it could report."""
    if not report.has_ended and len(cases) > 1:
        return ""
    if report.cases and report.cases[-1].outcome == "failed":
        return report.cases[-1].name
    return next((case.name for case in cases if case.outcome == "missing"), "")


def _cases(report: JudgeReport, names: Sequence[str]) -> tuple[TestOutcome, ...]:
    there = {case.name: case for case in report.cases}
    return tuple(there.get(name) or TestOutcome(name=name, outcome="missing") for name in names)


def _read(stdout: bytes, nonce: str) -> JudgeReport:
    """The last report on lines with a valid seal; all other lines on stdout are ignored."""
    report = JudgeReport()
    for line in stdout.split(b"\n"):
        seal, _, text = line.partition(b" ")
        if len(seal) != 2 * _SEAL_BYTES:
            continue
        expected = hashlib.blake2b(text, key=bytes.fromhex(nonce), digest_size=_SEAL_BYTES).hexdigest().encode()
        if hmac.compare_digest(seal, expected):
            report = _report_of(*read_text(text))
    return report


def _report_of(
    kind: str, calls: int = 0, cases: Sequence[Tree] = (), fault: Tree = None, cpu_s: float = 0.0, wall_s: float = 0.0
) -> JudgeReport:
    return JudgeReport(
        has_begun=True,
        has_ended=kind == "ended",
        calls=calls,
        cases=tuple(_outcome(*case) for case in cases),
        causes=tuple(_failure(kind, subject or name, text) for name, kind, subject, text, *_ in cases if kind),
        fault=_failure(*fault) if fault else None,
        cpu_s=cpu_s,
        wall_s=wall_s,
    )


def _outcome(name: str, kind: str, _: str, message: str, traceback: str, duration_s: float) -> TestOutcome:
    if not kind:
        return TestOutcome(name=name, outcome="passed", duration_s=duration_s)
    return TestOutcome(
        name=name,
        outcome="failed",
        message=failure_text(message),
        traceback=failure_text(traceback),
        duration_s=duration_s,
    )


def _failure(kind: str, subject: str, message: str) -> Cause:
    if kind not in get_args(CauseKind):
        raise SandboxError(
            f"the judge inside told of {kind!r}, which is no cause; it is of another version than we are"
        )
    text = failure_text(message)
    missing = missing_module_cause(subject, text) if kind == "missing_module" else None
    kind = "exception" if kind == "missing_module" else kind
    return missing or Cause(kind=cast("CauseKind", kind), subject=subject, message=text)


def _cause(report: JudgeReport, cases: Sequence[TestOutcome], execution: Execution) -> Cause | None:
    if not report.has_ended:
        return Cause(kind="untrusted_report", message=f"the judge was kept from its verdict: {_ending(execution)}")
    if report.fault is not None:
        return report.fault
    if report.causes:
        return _summary_of_failures(report.causes, [case.name for case in cases if case.outcome != "passed"])
    if not report.calls:
        return Cause(kind="nothing_ran", message="the checks ran, and called nothing of the solution's")
    return None


def _summary_of_failures(causes: Sequence[Cause], failed: Sequence[str]) -> Cause:
    """The first failure, or the first untrusted report, with the names of the other failed cases."""
    first = next((cause for cause in causes if cause.kind == "untrusted_report"), causes[0])
    others = f"\n{len(failed) - 1} more did not pass: {', '.join(failed[1:])}" if len(failed) > 1 else ""
    return first.model_copy(update={"message": failure_text(first.message + others)})


def _ending(execution: Execution) -> str:
    if execution.signal is not None:
        return f"its process was ended by {signal_name(execution.signal)}"
    return f"its process ended with status {execution.exit_code}"


def _check_environment(report: JudgeReport, execution: Execution) -> None:
    """Raise SandboxError if the interpreter could not even start the judge: the solution is not to blame for that.

    Nothing of the solution runs before the judge reports that it has begun. A solution that removed that line and ended
    the judge would have ended it by a signal; an interpreter that fails exits with a status.
    """
    if report.has_begun or execution.status == "signaled" or execution.exit_code == 0:
        return
    said = decoded(execution.stderr, execution.stderr_cut)
    raise SandboxError(f"the judge did not start ({execution.status}, status {execution.exit_code}): {said}")
