"""From what a judge inside a sandbox told to a verdict, with the cause that a repair needs."""

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
class Told:
    """Everything that the judge told: `causes` are by the names of the cases that failed, `fault` ended all of them."""

    has_begun: bool = False
    has_ended: bool = False
    calls: int = 0
    cases: tuple[TestOutcome, ...] = ()
    causes: tuple[Cause, ...] = ()
    fault: Cause | None = None
    cpu_s: float = 0.0
    wall_s: float = 0.0


def judge_values(execution: Execution, nonce: str, names: Sequence[str], limits: Limits) -> ValuesReport:
    """The verdict on an execution that was to run the cases of these names. Raises SandboxError."""
    if execution.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it judged by values: {execution.message}")
    told = _read(execution.stdout, nonce)
    _check_environment(told, execution)
    cases = _cases(told, names)
    running = _last_running(told, cases)
    return ValuesReport(
        cases=cases,
        output=decoded(execution.stderr, execution.stderr_cut),
        cause=limit_cause(execution, limits, running) or _cause(told, cases, execution),
        wall_s=execution.wall_s,
        cpu_s=execution.cpu_s,
        isolation=execution.isolation,
    )


def judge_sequence(
    execution: Execution, nonces: Sequence[str], names: Sequence[Sequence[str]]
) -> list[ValuesReport | None]:
    """The verdicts on what was judged in turn; None at and after a judge that was kept from its verdict.

    A report has no `output`, which all share. Raises SandboxError.
    """
    if execution.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it judged by values: {execution.message}")
    told = [_read(execution.stdout, nonce) for nonce in nonces]
    _check_environment(told[0], execution)
    begun = sum(each.has_begun for each in told)
    # A limit that ended the last of them may have been used up by those before it.
    sure = begun if execution.status == "exited" else begun - 1
    return [
        _reported(each, case_names, execution) if each.has_ended and index < sure else None
        for index, (each, case_names) in enumerate(zip(told, names, strict=True))
    ]


def _reported(told: Told, names: Sequence[str], execution: Execution) -> ValuesReport:
    cases = _cases(told, names)
    cause = _cause(told, cases, execution)
    return ValuesReport(cases=cases, cause=cause, wall_s=told.wall_s, cpu_s=told.cpu_s, isolation=execution.isolation)


def _last_running(told: Told, cases: Sequence[TestOutcome]) -> str:
    """The case that was running when a limit ended the solution; "" where the judge was ended too, and told of none."""
    if not told.has_ended and len(cases) > 1:
        return ""
    if told.cases and told.cases[-1].outcome == "failed":
        return told.cases[-1].name
    return next((case.name for case in cases if case.outcome == "missing"), "")


def _cases(told: Told, names: Sequence[str]) -> tuple[TestOutcome, ...]:
    there = {case.name: case for case in told.cases}
    return tuple(there.get(name) or TestOutcome(name=name, outcome="missing") for name in names)


def _read(stdout: bytes, nonce: str) -> Told:
    """What the sealed lines say; anything else on stdout is nobody's word and is left out."""
    told = Told()
    for line in stdout.split(b"\n"):
        seal, _, text = line.partition(b" ")
        if len(seal) != 2 * _SEAL_BYTES:
            continue
        expected = hashlib.blake2b(text, key=bytes.fromhex(nonce), digest_size=_SEAL_BYTES).hexdigest().encode()
        if hmac.compare_digest(seal, expected):
            told = _ended(*read_text(text))
    return told


def _ended(
    kind: str, calls: int = 0, cases: Sequence[Tree] = (), fault: Tree = None, cpu_s: float = 0.0, wall_s: float = 0.0
) -> Told:
    return Told(
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


def _cause(told: Told, cases: Sequence[TestOutcome], execution: Execution) -> Cause | None:
    if not told.has_ended:
        return Cause(kind="untrusted_report", message=f"the judge was kept from its verdict: {_ending(execution)}")
    if told.fault is not None:
        return told.fault
    if told.causes:
        return _first_of(told.causes, [case.name for case in cases if case.outcome != "passed"])
    if not told.calls:
        return Cause(kind="nothing_ran", message="the checks ran, and called nothing of the solution's")
    return None


def _first_of(causes: Sequence[Cause], failed: Sequence[str]) -> Cause:
    """The first failure, or the one that shows what the others are worth, and the names of the others."""
    first = next((cause for cause in causes if cause.kind == "untrusted_report"), causes[0])
    others = f"\n{len(failed) - 1} more did not pass: {', '.join(failed[1:])}" if len(failed) > 1 else ""
    return first.model_copy(update={"message": failure_text(first.message + others)})


def _ending(execution: Execution) -> str:
    if execution.signal is not None:
        return f"its process was ended by {signal_name(execution.signal)}"
    return f"its process ended with status {execution.exit_code}"


def _check_environment(told: Told, execution: Execution) -> None:
    """Tell an interpreter that could not even start the judge from a solution that fails.

    Before the judge has begun nothing of the solution has run. Should a solution have taken that word from its pipe,
    and ended the judge, then by a signal; an interpreter that fails ends with a status.
    """
    if told.has_begun or execution.status == "signaled" or execution.exit_code == 0:
        return
    said = decoded(execution.stderr, execution.stderr_cut)
    raise SandboxError(f"the judge did not start ({execution.status}, status {execution.exit_code}): {said}")
