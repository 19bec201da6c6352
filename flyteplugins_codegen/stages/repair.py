"""Stage `repair`: one call that finds the cause and changes the candidate; whether it helped is found by running."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from flyteplugins_codegen.errors import BudgetSpentError, CodegenError
from flyteplugins_codegen.llm.budgeted import Account
from flyteplugins_codegen.llm.prompts import describe_failure, repair_messages
from flyteplugins_codegen.llm.replies import RepairReply
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.candidate import Candidate, CodeSolution
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.source.blocks import unfence
from flyteplugins_codegen.source.edits import apply_edits
from flyteplugins_codegen.stages.asking import ask_within
from flyteplugins_codegen.stages.attempts import with_calls, with_next
from flyteplugins_codegen.stages.draft import brief_of
from flyteplugins_codegen.stages.lineage import base_attempt
from flyteplugins_codegen.stages.privacy import masked_failures, masker_for, without_keys
from flyteplugins_codegen.stages.progress import stage


class Repaired(Value):
    """The run with the repaired candidate as its next attempt, and the calls with their messages."""

    run: Run
    calls: tuple[ModelCall, ...]


async def repair(run: Run, samples: Mapping[str, Path], account: Account) -> Repaired:
    """Ask once, and apply the change whole or not at all. Where the budget does not allow it the run is stopped.

    What failed may quote the samples, which are searched for what the model must not see.

    Raises:
        ModelError: see its subclasses; a reply whose edits do not apply is asked for once more, then reported.
    """
    last = base_attempt(run)
    if last.report is None:
        raise CodegenError(f"attempt {last.number} has not run; there is nothing to repair")
    with stage("repair") as note:
        masker = masker_for(run.settings, run.request)
        report = await asyncio.to_thread(masked_failures, last.report, masker, samples)
        brief = brief_of(run.settings, run.request, run.context)
        asked = repair_messages(brief, last.candidate, describe_failure(report))
        messages = without_keys(asked, run.request)
        try:
            answer = await ask_within(
                account, run.settings, "repair", messages, RepairReply, check=lambda reply: apply_repair(last, reply)
            )
        except BudgetSpentError as error:
            note.detail = str(error)
            stopped = with_calls(run, error.calls).model_copy(update={"stopped": str(error)})
            return Repaired(run=stopped, calls=error.calls)
        note.detail = answer.value.cause.partition("\n")[0][:160]
        candidate = apply_repair(last, answer.value)
        repaired = with_next(with_calls(run, answer.calls), "repair", answer.value.cause, candidate, parent=last.number)
        return Repaired(run=repaired, calls=answer.calls)


def apply_repair(attempt: Attempt, reply: RepairReply) -> Candidate:
    """The attempt's candidate with the reply's change, whole.

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
    if repaired == candidate:
        raise ValueError("the reply changes nothing: give edits, code, test_code or packages")
    return repaired


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
