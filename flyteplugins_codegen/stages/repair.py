"""Stage `repair`: one call that finds the cause and changes the candidate; whether it helped is found by running."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from flyteplugins_codegen.errors import BudgetSpentError, CodegenError, ReplyError
from flyteplugins_codegen.llm.budget import BudgetAccount
from flyteplugins_codegen.llm.prompts import describe_lineage, repair_messages
from flyteplugins_codegen.llm.replies import RepairReply
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.job import Candidate, CodeSolution
from flyteplugins_codegen.models.run import Attempt, Blame, DroppedTest, Run, TestReport
from flyteplugins_codegen.models.spending import Message, ModelCall
from flyteplugins_codegen.source.edits import apply_edits
from flyteplugins_codegen.source.extraction.blocks import unfence
from flyteplugins_codegen.source.tests import find_test_functions
from flyteplugins_codegen.stages.attempts import with_calls, with_next, with_unusable
from flyteplugins_codegen.stages.diagnosis import failed_beyond_blame, flaw_of_tests
from flyteplugins_codegen.stages.draft import Question, ask_within, brief_of
from flyteplugins_codegen.stages.lineage import base_attempt, lineage_of
from flyteplugins_codegen.stages.loop import Repair, next_action
from flyteplugins_codegen.stages.privacy import without_keys
from flyteplugins_codegen.stages.repair_context import masked_attempts, shown_tests, smallest_failures
from flyteplugins_codegen.telemetry import stage

# A repair's reply applied to a candidate: whole or not at all, and never against what is right by definition.


def apply_repair(attempt: Attempt, reply: RepairReply) -> Candidate:
    """The attempt's candidate with the reply's change, whole. Nothing need change where only the data did.

    Raises ValueError where an edit does not apply or nothing changes.
    """
    candidate = attempt.candidate
    code, tests = candidate.solution.code, candidate.tests
    edits = [(edit.search, edit.replace) for edit in reply.edits]
    of_tests = edits if reply.error_type == "test_error" else []
    if tests is not None:  # where none were asked for, none are taken: nothing would run them
        tests = _changed(tests, reply.test_code, of_tests)
    solution = CodeSolution(
        language=candidate.solution.language,
        code=_changed(code, reply.code, [] if of_tests else edits),
        packages=_repaired_names(attempt, candidate.solution.packages, reply.packages),
        system_packages=_repaired_names(attempt, candidate.solution.system_packages, reply.system_packages),
    )
    repaired = candidate.model_copy(update={"solution": solution, "tests": tests})
    if repaired == candidate and not _only_drifted(attempt):
        raise ValueError("the reply changes nothing: give edits, code, test_code or packages")
    failed = failed_beyond_blame(attempt.report)
    if failed and changed_part(candidate, repaired) == "tests":
        raise ValueError(f"{failed} failed, which is right by definition: change solution.py, not the generated tests")
    flawed = flaw_of_tests(attempt.report)
    if flawed and not failed and repaired.tests == candidate.tests:
        raise ValueError(f"whatever solution.py does, {flawed}: give test_code, or edits with error_type test_error")
    return repaired


def _only_drifted(attempt: Attempt) -> bool:
    return attempt.cause is not None and attempt.cause.kind == "data_drift"


def changed_part(before: Candidate, after: Candidate) -> Blame:
    """What a repair took to be wrong, by what it changed: the solution where it changed that among others."""
    if before.solution.code != after.solution.code:
        return "solution"
    return "tests" if before.tests != after.tests else "environment"


def tests_left_out(before: Candidate, after: Candidate) -> tuple[str, ...]:
    """The test functions that a change took away; none of tests that are not Python."""
    kept = _test_names(after.tests)
    return tuple(name for name in _test_names(before.tests) if name not in kept)


def _test_names(tests: str | None) -> tuple[str, ...]:
    try:
        return tuple(function.name for function in find_test_functions(tests or ""))
    except SyntaxError:
        return ()


def _changed(text: str, whole: str | None, edits: list[tuple[str, str]]) -> str:
    if whole and whole.strip():
        return unfence(whole)
    return apply_edits(text, edits) if edits else text


def _repaired_names(attempt: Attempt, have: tuple[str, ...], wanted: list[str]) -> tuple[str, ...]:
    """The packages as the reply has them: a name that it gives replaces the same one, and what was to blame goes.

    Where packages conflict no single one is to blame: then those that the reply gives take the place of all.
    """
    cause = attempt.cause
    unavailable = cause is not None and cause.kind == "package_unavailable"
    if cause is not None and unavailable and not cause.subject and wanted:
        return tuple(dict.fromkeys(wanted))
    gone = {_name(package) for package in wanted}
    if cause is not None and unavailable:
        gone.add(_name(cause.subject))
    return (*(package for package in have if _name(package) not in gone), *dict.fromkeys(wanted))


def _name(requirement: str) -> str:
    """The normalised name of a requirement; what is none stands for itself."""
    try:
        return canonicalize_name(Requirement(requirement).name)
    except InvalidRequirement:
        return requirement.strip()


_FILES = {"solution": "solution.py", "tests": "test_solution.py", "environment": "the packages"}


class Repaired(Value):
    """The run with the repair as its next attempt, in vain or not, or stopped; and the calls with their messages."""

    run: Run
    calls: tuple[ModelCall, ...]


async def repair(run: Run, samples: Mapping[str, Path], account: BudgetAccount) -> Repaired:
    """Ask once, and apply the change whole or not at all.

    A reply that cannot be used is asked for once more; where that one cannot either, this was a repair in vain. The run
    is stopped where the budget does not allow a call. What failed may quote the samples, which are searched for what
    the model must not see.

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
            return Repaired(run=stopped, calls=error.calls)
        except ReplyError as error:
            note.detail = f"no usable repair: {error}"
            in_vain = with_unusable(with_calls(run, error.calls), "repair", action.reason, [str(error)])
            return Repaired(run=in_vain, calls=error.calls)
        note.detail = answer.value.cause.partition("\n")[0][:160]
        made = with_calls(run, answer.calls)
        return Repaired(run=_with_repair(made, last, action, answer.value), calls=answer.calls)


def _check(run: Run, last: Attempt, reply: RepairReply) -> None:
    """Raises ValueError for a reply that cannot be applied, or that replaces tests which it was not shown."""
    repaired = apply_repair(last, reply)
    shown = last.candidate.model_copy(update={"tests": _shown_tests(run, last)})
    lost = set(tests_left_out(last.candidate, shown)) & set(tests_left_out(last.candidate, repaired))
    if lost:
        raise ValueError(
            f"test_code leaves out tests that were not shown ({', '.join(sorted(lost))}); give edits instead"
        )


def _shown_tests(run: Run, last: Attempt) -> str | None:
    tests = last.candidate.tests
    return shown_tests(tests, smallest_failures(last.report or TestReport(), run.request, tests)) if tests else None


def _messages(run: Run, last: Attempt, action: Repair, samples: Mapping[str, Path]) -> tuple[Message, ...]:
    candidate = last.candidate
    smallest = smallest_failures(last.report or TestReport(), run.request, candidate.tests)
    look = f"{_FILES[action.blame]}: {action.blame_reason}." if action.blame else ""
    failure = describe_lineage(masked_attempts(run, lineage_of(run, last), samples), smallest, look)
    brief = brief_of(run.settings, run.request, run.context)
    return without_keys(repair_messages(brief, candidate, failure, _shown_tests(run, last)), run.request)


def _with_repair(run: Run, last: Attempt, action: Repair, reply: RepairReply) -> Run:
    """The run with the change as its next attempt; tests that it leaves out are told as dropped."""
    candidate = apply_repair(last, reply)
    dropped = [
        DroppedTest(name=name, reason=f"left out by a repair: {reply.cause}", attempt=last.number)
        for name in tests_left_out(last.candidate, candidate)
    ]
    return with_next(
        run.model_copy(update={"dropped_tests": (*run.dropped_tests, *dropped)}),
        "repair",
        reply.cause,
        candidate,
        parent=last.number,
        blame=changed_part(last.candidate, candidate),
        blame_reason=action.blame_reason or "found by the model",
    )
