"""Stage `draft_anew`: solutions from the description again, with what was learnt from those that no repair helped."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from flyteplugins_codegen.errors import BudgetSpentError, CodegenError, ModelError, ReplyError
from flyteplugins_codegen.llm.ask import Answer
from flyteplugins_codegen.llm.budgeted import Account
from flyteplugins_codegen.llm.prompts import describe_learnt, fresh_messages
from flyteplugins_codegen.llm.replies import SolutionReply
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.candidate import Candidate
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.stages.asking import ask_within
from flyteplugins_codegen.stages.attempts import with_calls, with_round
from flyteplugins_codegen.stages.draft import brief_of, plan_of, solution_of
from flyteplugins_codegen.stages.lineage import base_attempt
from flyteplugins_codegen.stages.loop import FreshDrafts, next_action
from flyteplugins_codegen.stages.privacy import masked_failures, masker_for, without_keys
from flyteplugins_codegen.stages.progress import stage

_Answered: TypeAlias = Answer[SolutionReply] | BaseException


class Drafted(Value):
    """The run with the fresh candidates as its next attempts, and the calls with their messages."""

    run: Run
    calls: tuple[ModelCall, ...]


class _Failures(Value):
    attempts: tuple[Attempt, ...]


async def draft_anew(run: Run, samples: Mapping[str, Path], account: Account) -> Drafted:
    """Ask for as many solutions as `next_action` says, side by side; the tests stay those of the attempts before.

    A reply that cannot be used leaves the others. Where none is left, for that or for the budget, the run is stopped.

    Raises:
        ModelError: the model could not be reached; replies that came all the same are kept for the next run.
    """
    action = next_action(run)
    if not isinstance(action, FreshDrafts):
        raise CodegenError(f"no fresh drafts come next, but {type(action).__name__}")
    with stage("draft anew") as note:
        masker = masker_for(run.settings, run.request)
        failed = await asyncio.to_thread(masked_failures, _Failures(attempts=run.attempts), masker, samples)
        learnt = describe_learnt(failed.attempts)
        answers = await asyncio.gather(
            # Their numbers make of each a question of its own, which an earlier answer does not stand for.
            *(_ask(run, account, learnt, len(run.attempts) + number + 1) for number in range(action.count)),
            return_exceptions=True,
        )
        drafted = _with_answers(run, action, answers)
        made = len(drafted.run.attempts) - len(run.attempts)
        note.detail = drafted.run.stopped or f"{made} solution{'s' if made > 1 else ''}"
        return drafted


async def _ask(run: Run, account: Account, learnt: str, number: int) -> Answer[SolutionReply]:
    brief = brief_of(run.settings, run.request, run.context)
    messages = without_keys(fresh_messages(brief, learnt, number), run.request)
    return await ask_within(account, run.settings, "solution", messages, SolutionReply)


def _with_answers(run: Run, action: FreshDrafts, answers: Sequence[_Answered]) -> Drafted:
    calls = tuple(call for answer in answers for call in getattr(answer, "calls", ()))
    failures = [answer for answer in answers if isinstance(answer, BaseException)]
    for failure in failures:
        if not isinstance(failure, ReplyError | BudgetSpentError):
            if isinstance(failure, ModelError):
                failure.calls = calls
            raise failure
    run = with_calls(run, calls)
    tests = base_attempt(run).candidate.tests
    drafts = [_attempt(action, answer.value, tests) for answer in answers if isinstance(answer, Answer)]
    if not drafts:
        return Drafted(run=run.model_copy(update={"stopped": str(failures[0])}), calls=calls)
    return Drafted(run=with_round(run, drafts), calls=calls)


def _attempt(action: FreshDrafts, reply: SolutionReply, tests: str | None) -> Attempt:
    candidate = Candidate(plan=plan_of(reply), solution=solution_of(reply), tests=tests)
    return Attempt(number=1, action="fresh_draft", reason=action.reason, candidate=candidate)
