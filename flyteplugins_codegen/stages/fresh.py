"""Stage `draft_anew`: solutions from the description again, with what was learnt from those that no repair helped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from flyteplugins_codegen.errors import BudgetSpentError, CodegenError, ReplyError
from flyteplugins_codegen.llm.budgeted import Account
from flyteplugins_codegen.llm.failures import describe_learnt
from flyteplugins_codegen.llm.prompts import fresh_messages
from flyteplugins_codegen.llm.replies import SolutionReply
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.stages.actions import FreshDrafts
from flyteplugins_codegen.stages.asking import Question, ask_within
from flyteplugins_codegen.stages.attempts import with_calls, with_round, with_unusable
from flyteplugins_codegen.stages.draft import SolutionDraft, brief_of, draft_of, with_calls_of
from flyteplugins_codegen.stages.lineage import base_attempt
from flyteplugins_codegen.stages.loop import next_action
from flyteplugins_codegen.stages.privacy import masked_failures, masker_for, without_keys
from flyteplugins_codegen.stages.progress import stage


class Drafted(Value):
    """The run with the fresh candidates as its next attempts, and the calls with their messages."""

    run: Run
    calls: tuple[ModelCall, ...]


class _Failures(Value):
    attempts: tuple[Attempt, ...]


async def draft_anew(run: Run, samples: Mapping[str, Path], account: Account) -> Drafted:
    """Ask for as many solutions as `next_action` says, side by side; the tests stay those of the attempts before.

    A reply that cannot be used leaves the others, and is told as an attempt in vain. Where the budget allows none, the
    run is stopped.

    Raises:
        ModelError: the model could not be reached; replies that came all the same are kept for the next run.
    """
    with stage("draft anew") as note:
        drafts = await write_anew(run, samples, account, range(fresh_drafts(run).count))
        drafted = with_fresh(run, drafts)
        made = sum(draft.solution is not None for draft in drafts)
        note.detail = drafted.run.stopped or f"{made} solution{'s' if made != 1 else ''}"
        return drafted


def fresh_drafts(run: Run) -> FreshDrafts:
    """How many are asked for, and why. Raises CodegenError where something else comes next."""
    action = next_action(run)
    if not isinstance(action, FreshDrafts):
        raise CodegenError(f"no fresh drafts come next, but {type(action).__name__}")
    return action


async def write_anew(
    run: Run, samples: Mapping[str, Path], account: Account, places: Iterable[int]
) -> tuple[SolutionDraft, ...]:
    """The drafts at these places of the round, asked for side by side. Raises ModelError, once all have ended."""
    masker = masker_for(run.settings, run.request)
    failed = await asyncio.to_thread(masked_failures, _Failures(attempts=run.attempts), masker, samples)
    learnt = describe_learnt(failed.attempts)
    # Their numbers make of each a question of its own, which an earlier answer does not stand for.
    asked = [_write(run, account, learnt, len(run.attempts) + place + 1) for place in places]
    made = await asyncio.gather(*asked, return_exceptions=True)
    for error in made:
        if isinstance(error, BaseException):
            raise with_calls_of(error, made)
    return tuple(draft for draft in made if isinstance(draft, SolutionDraft))


async def _write(run: Run, account: Account, learnt: str, number: int) -> SolutionDraft:
    brief = brief_of(run.settings, run.request, run.context)
    messages = without_keys(fresh_messages(brief, learnt, number), run.request)
    question = Question(purpose="solution", messages=messages, reply_type=SolutionReply, keeps_unusable=True)
    try:
        return draft_of(await ask_within(account, run.settings, question))
    except BudgetSpentError as error:
        return SolutionDraft(calls=error.calls, stopped=str(error))
    except ReplyError as error:
        return SolutionDraft(calls=error.calls, unusable=str(error))


def with_fresh(run: Run, drafts: Sequence[SolutionDraft]) -> Drafted:
    """The run with the drafts as its next round, judged by the tests of the attempts before."""
    reason, tests = fresh_drafts(run).reason, base_attempt(run).candidate.tests
    calls = tuple(call for draft in drafts for call in draft.calls)
    unusable = [draft.unusable for draft in drafts if draft.unusable]
    run = with_unusable(with_calls(run, calls), "fresh_draft", reason, unusable)
    candidates = [made for draft in drafts if (made := draft.candidate(tests)) is not None]
    if not candidates:
        stopped = next((draft.stopped for draft in drafts if draft.stopped), "")
        return Drafted(run=run.model_copy(update={"stopped": stopped}), calls=calls)
    attempts = [Attempt(number=1, action="fresh_draft", reason=reason, candidate=each) for each in candidates]
    return Drafted(run=with_round(run, attempts), calls=calls)
