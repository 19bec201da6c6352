"""Stage `repair`: one call that finds the cause and changes the candidate; whether it helped is found by running."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from flyteplugins_codegen.errors import BudgetSpentError, CodegenError, ReplyError
from flyteplugins_codegen.llm.budgeted import Account
from flyteplugins_codegen.llm.failures import describe_lineage
from flyteplugins_codegen.llm.prompts import repair_messages
from flyteplugins_codegen.llm.replies import RepairReply
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.conversation import Message, ModelCall
from flyteplugins_codegen.models.report import TestReport
from flyteplugins_codegen.models.run import Attempt, DroppedTest, Run
from flyteplugins_codegen.stages.actions import Repair
from flyteplugins_codegen.stages.asking import Question, ask_within
from flyteplugins_codegen.stages.attempts import with_calls, with_next, with_unusable
from flyteplugins_codegen.stages.changing import apply_repair, changed_part, tests_left_out
from flyteplugins_codegen.stages.draft import brief_of
from flyteplugins_codegen.stages.lineage import base_attempt, lineage_of
from flyteplugins_codegen.stages.loop import next_action
from flyteplugins_codegen.stages.privacy import without_keys
from flyteplugins_codegen.stages.progress import stage
from flyteplugins_codegen.stages.showing import masked_attempts, shown_tests, smallest_failures

_FILES = {"solution": "solution.py", "tests": "test_solution.py", "environment": "the packages"}


class Repaired(Value):
    """The run with the repair as its next attempt, in vain or not, or stopped; and the calls with their messages."""

    run: Run
    calls: tuple[ModelCall, ...]


async def repair(run: Run, samples: Mapping[str, Path], account: Account) -> Repaired:
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
