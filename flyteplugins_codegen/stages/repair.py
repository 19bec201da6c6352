"""Stage `repair`: one model call that finds the cause of a failure and changes the candidate.

A reply is applied whole or not at all, and never against a check that is right by definition. Whether it helped is
found by running the changed candidate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from flyteplugins_codegen.errors import BudgetSpentError, CodegenError, ReplyError
from flyteplugins_codegen.llm.budget import BudgetAccount
from flyteplugins_codegen.llm.failures import describe_lineage
from flyteplugins_codegen.llm.prompts import repair_messages
from flyteplugins_codegen.llm.replies import RepairReply
from flyteplugins_codegen.models.job import Candidate, CodeSolution
from flyteplugins_codegen.models.reference import REFERENCE_FILE
from flyteplugins_codegen.models.run import Attempt, Blame, DroppedTest, Run, TestReport
from flyteplugins_codegen.models.spending import Message
from flyteplugins_codegen.source.edits import apply_edits
from flyteplugins_codegen.source.extraction.blocks import unfence
from flyteplugins_codegen.stages.actions import Repair
from flyteplugins_codegen.stages.attempts import StageResult, with_calls, with_next, with_unusable
from flyteplugins_codegen.stages.diagnosis import declared_functions, failed_beyond_blame, flaw_of_tests
from flyteplugins_codegen.stages.lineage import base_attempt, lineage_of
from flyteplugins_codegen.stages.loop import next_action
from flyteplugins_codegen.stages.model_calls import Question, ask_within, brief_of
from flyteplugins_codegen.stages.privacy import without_keys
from flyteplugins_codegen.stages.repair_context import (
    is_only_crash,
    masked_lineage,
    shown_tests,
    smallest_failures,
)
from flyteplugins_codegen.telemetry import stage

_FILES = {
    "solution": "solution.py",
    "tests": "test_solution.py",
    "environment": "the packages",
    "reference": REFERENCE_FILE,
}


async def repair(run: Run, samples: Mapping[str, Path], account: BudgetAccount) -> StageResult:
    """Ask the model once for a repair; return the run with the changed candidate as its next attempt.

    An unusable reply is asked for once more; if the second is unusable too, the attempt has no change. The run is
    stopped if the budget does not allow a call. Failures may quote the samples, so private values of `samples` are
    masked in them.

    Raises:
        ModelError: the model could not be reached; see its subclasses.
    """
    action, last = next_action(run), base_attempt(run)
    if not isinstance(action, Repair):
        raise CodegenError(f"no repair comes next, but {type(action).__name__}")
    with stage("repair") as note:
        question = Question(
            purpose="repair",
            messages=await asyncio.to_thread(_messages, run, last, action, samples),
            reply_type=RepairReply,
            check=lambda reply: _check(run, last, reply),
            keeps_unusable=True,
        )
        try:
            answer = await ask_within(account, run.settings, question)
        except BudgetSpentError as error:
            note.detail = str(error)
            stopped = with_calls(run, error.calls).model_copy(update={"stopped": str(error)})
            return StageResult(run=stopped, calls=error.calls)
        except ReplyError as error:
            note.detail = f"no usable repair: {error}"
            unchanged = with_unusable(with_calls(run, error.calls), "repair", action.reason, [str(error)])
            return StageResult(run=unchanged, calls=error.calls)
        note.detail = answer.value.cause.partition("\n")[0][:160]
        repaired = _with_repair(with_calls(run, answer.calls), last, action, answer.value)
        return StageResult(run=repaired, calls=answer.calls)


def _messages(run: Run, last: Attempt, action: Repair, samples: Mapping[str, Path]) -> tuple[Message, ...]:
    candidate = last.candidate
    smallest = smallest_failures(last.report or TestReport(), run.request, candidate.tests)
    hint = f"{_FILES[action.blame]}: {action.blame_reason}." if action.blame else ""
    failure = describe_lineage(masked_lineage(run, lineage_of(run, last), samples), smallest, hint)
    brief = brief_of(run.settings, run.request, run.context)
    messages = repair_messages(
        brief, candidate, failure, _shown_tests(run, last), shows_reference=_is_reference_shown(last)
    )
    return without_keys(messages, run.request)


def _is_reference_shown(last: Attempt) -> bool:
    return last.report is not None and last.report.reference_cause is not None


def _shown_tests(run: Run, last: Attempt) -> str | None:
    tests, report = last.candidate.tests, last.report or TestReport()
    if not tests:
        return None
    return "" if is_only_crash(report) else shown_tests(tests, smallest_failures(report, run.request, tests))


def _check(run: Run, last: Attempt, reply: RepairReply) -> None:
    """Raise ValueError for a reply that cannot be applied, or that replaces tests which were not shown."""
    repaired = apply_repair(last, reply)
    shown = last.candidate.model_copy(update={"tests": _shown_tests(run, last)})
    lost = set(_removed_tests(last.candidate, shown)) & set(_removed_tests(last.candidate, repaired))
    if lost:
        raise ValueError(
            f"test_code leaves out tests that were not shown ({', '.join(sorted(lost))}); give edits instead"
        )


def _removed_tests(before: Candidate, after: Candidate) -> tuple[str, ...]:
    """The names of test functions that a change removed; empty for tests that are not valid Python."""
    kept = {function.name for function in declared_functions(after.tests)}
    return tuple(function.name for function in declared_functions(before.tests) if function.name not in kept)


def _with_repair(run: Run, last: Attempt, action: Repair, reply: RepairReply) -> Run:
    """The run with the change as its next attempt. Tests that it removes are listed as dropped."""
    candidate = apply_repair(last, reply)
    dropped = [
        DroppedTest(name=name, reason=f"left out by a repair: {reply.cause}", attempt=last.number)
        for name in _removed_tests(last.candidate, candidate)
    ]
    return with_next(
        run.model_copy(update={"dropped_tests": (*run.dropped_tests, *dropped)}),
        "repair",
        reply.cause,
        candidate,
        parent=last.number,
        blame=_changed_part(last.candidate, candidate),
        blame_reason=action.blame_reason or "found by the model",
    )


# --- applying a reply ---


def apply_repair(attempt: Attempt, reply: RepairReply) -> Candidate:
    """Apply the whole reply to the attempt's candidate. Only after drift of the data may it change nothing.

    Raises ValueError if an edit does not apply, if nothing changes, or if the change is in the wrong part.
    """
    candidate = attempt.candidate
    code, tests = candidate.solution.code, candidate.tests
    edits = [(edit.search, edit.replace) for edit in reply.edits]
    test_edits = edits if reply.error_type == "test_error" else []
    reference_edits = edits if reply.error_type == "reference_error" else []
    if tests is not None:  # without tests before, tests in the reply are ignored: nothing would run them
        tests = _changed_text(tests, reply.test_code, test_edits)
    solution = CodeSolution(
        language=candidate.solution.language,
        code=_changed_text(code, reply.code, [] if test_edits or reference_edits else edits),
        packages=_repaired_packages(attempt, candidate.solution.packages, reply.packages),
        system_packages=_repaired_packages(attempt, candidate.solution.system_packages, reply.system_packages),
    )
    reference = candidate.reference
    if reference is not None and _is_reference_shown(attempt):
        reference = _changed_text(reference, reply.reference, reference_edits)
    repaired = candidate.model_copy(update={"solution": solution, "tests": tests, "reference": reference})
    has_drifted = attempt.cause is not None and attempt.cause.kind == "data_drift"
    if repaired == candidate and not has_drifted:
        raise ValueError("the reply changes nothing: give edits, code, test_code or packages")
    failed = failed_beyond_blame(attempt.report)
    if failed and _changed_part(candidate, repaired) in {"tests", "reference"}:
        raise ValueError(
            f"{failed} failed, which is right by definition: change solution.py, not what was generated to judge it"
        )
    flawed = flaw_of_tests(attempt.report)
    if flawed and not failed and repaired.tests == candidate.tests:
        raise ValueError(f"whatever solution.py does, {flawed}: give test_code, or edits with error_type test_error")
    return repaired


def _changed_part(before: Candidate, after: Candidate) -> Blame:
    """The part that a repair changed; the solution if it changed several."""
    if before.solution.code != after.solution.code:
        return "solution"
    if before.tests != after.tests:
        return "tests"
    return "reference" if before.reference != after.reference else "environment"


def _changed_text(text: str, whole: str | None, edits: list[tuple[str, str]]) -> str:
    if whole and whole.strip():
        return unfence(whole)
    return apply_edits(text, edits) if edits else text


def _repaired_packages(attempt: Attempt, listed: tuple[str, ...], requested: list[str]) -> tuple[str, ...]:
    """The listed packages, with those in the reply replacing others of the same name, without an unavailable one.

    In a conflict, no single package is to blame: then those in the reply replace all.
    """
    cause = attempt.cause
    unavailable = cause is not None and cause.kind == "package_unavailable"
    if cause is not None and unavailable and not cause.subject and requested:
        return tuple(dict.fromkeys(requested))
    removed = {_distribution_name(package) for package in requested}
    if cause is not None and unavailable:
        removed.add(_distribution_name(cause.subject))
    return (
        *(package for package in listed if _distribution_name(package) not in removed),
        *dict.fromkeys(requested),
    )


def _distribution_name(requirement: str) -> str:
    """The normalised name in a requirement; an invalid requirement as it is."""
    try:
        return canonicalize_name(Requirement(requirement).name)
    except InvalidRequirement:
        return requirement.strip()
