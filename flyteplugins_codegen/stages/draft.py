"""Stages `write_solution` and `write_tests`: model calls made side by side, none seeing another's reply."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel

from flyteplugins_codegen.errors import BudgetSpentError, CodegenError, ModelError, ReplyError
from flyteplugins_codegen.llm.ask import ModelAnswer, ask, build_request
from flyteplugins_codegen.llm.budget import BudgetAccount, BudgetedModel, priced
from flyteplugins_codegen.llm.prompts import (
    JobBrief,
    describe_learnt,
    redraft_messages,
    solution_messages,
    suite_messages,
)
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.llm.replies import SolutionReply, TestsReply
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.data import DataContext
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution, Request
from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import Message, ModelCall, Purpose, Spending
from flyteplugins_codegen.source.extraction.blocks import unfence
from flyteplugins_codegen.stages.attempts import with_calls, with_round, with_unusable
from flyteplugins_codegen.stages.lineage import base_attempt
from flyteplugins_codegen.stages.loop import Redraft, next_action
from flyteplugins_codegen.stages.privacy import masked_failures, masker_for, without_keys
from flyteplugins_codegen.store import ContentStore
from flyteplugins_codegen.telemetry import stage

# How the stages ask a model: remembered, within the run's budget, every call priced.

ReplyT = TypeVar("ReplyT", bound=BaseModel)


def open_account(run: Run, *, shares: int = 1, on_call: Callable[[], None] = lambda: None) -> BudgetAccount:
    """The account of the run's budget, from what its calls have spent by now, in this process or in others.

    `shares` is how many stages run beside each other, each in a process of its own; `on_call` as of `BudgetAccount`.
    """
    spent = sum((_spending(call) for call in run.calls if not call.is_reused), Spending())
    budget = run.settings.budget
    return BudgetAccount(budget.shared(spent, shares) if shares > 1 else budget, spent, on_call)


def _spending(call: ModelCall) -> Spending:
    tokens = call.usage.input_tokens + call.usage.output_tokens
    return Spending(calls=1, tokens=tokens, cost_usd=call.cost_usd, wall_s=call.wall_s)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Question(Generic[ReplyT]):
    """What is asked, and what counts as an answer: `check` raises ValueError for a value that cannot be used.

    Another `attempt` is a question of its own, for one more answer to the same. `keeps_unusable` where the run goes on
    without an answer, and a run that takes it up again must go on alike; see `llm.ask.ask`.
    """

    purpose: Purpose
    messages: tuple[Message, ...]
    reply_type: type[ReplyT]
    check: Callable[[ReplyT], object] = lambda _: None
    attempt: int = 0
    keeps_unusable: bool = False


async def ask_within(account: BudgetAccount, settings: Settings, question: Question[ReplyT]) -> ModelAnswer[ReplyT]:
    """A valid reply of the run's model.

    Raises BudgetSpentError where the budget allows no call more; ModelError: see its subclasses. `calls` are priced.
    """
    model = open_model(
        settings, store=ContentStore(), wrap=lambda asked: BudgetedModel(asked, account, settings.prices)
    )
    request = build_request(question.purpose, question.messages, question.reply_type, settings)
    request = request.model_copy(update={"attempt": question.attempt})
    try:
        answer = await ask(model, request, question.reply_type, question.check, keeps_unusable=question.keeps_unusable)
    except ModelError as error:
        error.calls = _priced(error.calls, settings)
        raise
    return ModelAnswer(answer.value, _priced(answer.calls, settings))


def _priced(calls: Iterable[ModelCall], settings: Settings) -> tuple[ModelCall, ...]:
    return priced(calls, settings.model, settings.prices)


class SolutionDraft(Value):
    """What the solution's author proposed, with the calls that it took.

    Without a proposal either the budget allowed none, as `stopped` says, or no reply was usable, as `unusable` does.
    """

    plan: CodePlan | None = None
    solution: CodeSolution | None = None
    calls: tuple[ModelCall, ...]
    stopped: str = ""
    unusable: str = ""

    def candidate(self, tests: str | None) -> Candidate | None:
        """The proposal with the tests that judge it; None where there is no proposal."""
        if self.plan is None or self.solution is None:
            return None
        return Candidate(plan=self.plan, solution=self.solution, tests=tests)


class TestsDraft(Value):
    """What the tests' author wrote, with the calls that it took. None where no tests were asked for, or `stopped`."""

    __test__ = False

    tests: str | None
    calls: tuple[ModelCall, ...] = ()
    stopped: str = ""


def brief_of(settings: Settings, request: Request, context: DataContext) -> JobBrief:
    """What every author of this job is told."""
    return JobBrief(request=request, context=context, role=settings.system_prompt, installed=settings.base_packages)


async def write_solution(run: Run, account: BudgetAccount) -> SolutionDraft:
    """Plan, script and packages in one call, or why the budget does not allow it.

    Raises:
        ModelError: see its subclasses; the usage of replies that could not be used is in `.calls`.
    """
    return await _drafted(run, account, _question(run))


async def try_solution(run: Run, account: BudgetAccount, place: int) -> SolutionDraft:
    """As `write_solution`, for one of several: a reply that cannot be used is told in the draft, and ends no other.

    `place` is which of them this is, so that an answer to one stands for no other.
    """
    question = dataclasses.replace(_question(run), attempt=place, keeps_unusable=True)
    try:
        return await _drafted(run, account, question)
    except ReplyError as error:
        return SolutionDraft(calls=error.calls, unusable=str(error))


def _question(run: Run) -> Question[SolutionReply]:
    messages = without_keys(solution_messages(brief_of(run.settings, run.request, run.context)), run.request)
    return Question(purpose="solution", messages=messages, reply_type=SolutionReply)


async def _drafted(run: Run, account: BudgetAccount, question: Question[SolutionReply]) -> SolutionDraft:
    with stage("write solution") as note:
        try:
            answer = await ask_within(account, run.settings, question)
        except BudgetSpentError as error:
            note.detail = str(error)
            return SolutionDraft(calls=error.calls, stopped=str(error))
        note.detail = f"{len(answer.value.code.splitlines())} lines"
        return draft_of(answer)


def draft_of(answer: ModelAnswer[SolutionReply]) -> SolutionDraft:
    """The draft that a reply gives."""
    return SolutionDraft(plan=plan_of(answer.value), solution=solution_of(answer.value), calls=answer.calls)


def plan_of(reply: SolutionReply) -> CodePlan:
    """The plan that a reply gives."""
    return CodePlan(description=reply.description, approach=reply.approach)


def solution_of(reply: SolutionReply) -> CodeSolution:
    """The solution that a reply gives, without what it put around the code."""
    return CodeSolution(
        code=unfence(reply.code), packages=tuple(reply.packages), system_packages=tuple(reply.system_packages)
    )


async def write_tests(run: Run, account: BudgetAccount) -> TestsDraft:
    """Tests from the request and the data, not from the code. `skip_tests` asks for none.

    Raises:
        ModelError: see its subclasses.
    """
    if run.settings.skip_tests:
        return TestsDraft(tests=None)
    with stage("write tests") as note:
        messages = without_keys(suite_messages(brief_of(run.settings, run.request, run.context)), run.request)
        try:
            question = Question(purpose="tests", messages=messages, reply_type=TestsReply)
            answer = await ask_within(account, run.settings, question)
        except BudgetSpentError as error:
            note.detail = str(error)
            return TestsDraft(tests=None, calls=error.calls, stopped=str(error))
        tests = unfence(answer.value.test_code)
        note.detail = f"{len(tests.splitlines())} lines"
        return TestsDraft(tests=tests, calls=answer.calls)


class Drafts(Value):
    """The drafts of one run's beginning."""

    solutions: tuple[SolutionDraft, ...]
    tests: TestsDraft

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """All calls that they took."""
        return (*(call for solution in self.solutions for call in solution.calls), *self.tests.calls)


async def write_drafts(run: Run, account: BudgetAccount, count: int = 1) -> Drafts:
    """`count` solutions and the tests, side by side. Raises ModelError.

    It is raised once all calls have ended, so that no reply is paid for in vain.
    """
    first, *others = (
        [write_solution(run, account)] if count == 1 else [try_solution(run, account, place) for place in range(count)]
    )
    # The tests' author comes second: with a budget for two calls, one solution can be judged, and two could not.
    made = await asyncio.gather(first, write_tests(run, account), *others, return_exceptions=True)
    for error in made:
        if isinstance(error, BaseException):
            raise with_calls_of(error, made)
    return Drafts(
        solutions=tuple(draft for draft in made if isinstance(draft, SolutionDraft)),
        tests=next(draft for draft in made if isinstance(draft, TestsDraft)),
    )


def with_calls_of(error: BaseException, made: Iterable[object]) -> BaseException:
    """The error, accounting for what its siblings' calls cost too."""
    if isinstance(error, ModelError):
        others = (call for each in made if each is not error for call in getattr(each, "calls", ()))
        error.calls = (*error.calls, *others)
    return error


def with_drafts(run: Run, drafts: Drafts) -> Run:
    """The run with the drafts as its first candidates, and their calls accounted for."""
    stops = [stopped for stopped in (*(draft.stopped for draft in drafts.solutions), drafts.tests.stopped) if stopped]
    run = with_calls(run, drafts.calls)
    candidates = [made for draft in drafts.solutions if (made := draft.candidate(drafts.tests.tests)) is not None]
    unusable = [draft.unusable for draft in drafts.solutions if draft.unusable]
    if not candidates:  # with nothing to go on from, what no reply was usable for ends the run as a spent budget does
        stops += unusable
    reason = "the first answer" if len(candidates) == 1 else f"one of {len(candidates)} first answers"
    reason += f"; of {len(unusable)} more none could be used: {unusable[0]}" if unusable else ""
    attempts = [Attempt(number=1, action="first_draft", reason=reason, candidate=each) for each in candidates]
    return with_round(run, attempts).model_copy(update={"stopped": stops[0] if stops else ""})


# Stage `draft_anew`: solutions from the description again, with what was learnt from those that no repair helped.


class Drafted(Value):
    """The run with the fresh candidates as its next attempts, and the calls with their messages."""

    run: Run
    calls: tuple[ModelCall, ...]


class _Failures(Value):
    attempts: tuple[Attempt, ...]


async def draft_anew(run: Run, samples: Mapping[str, Path], account: BudgetAccount) -> Drafted:
    """Ask for as many solutions as `next_action` says, side by side; the tests stay those of the attempts before.

    A reply that cannot be used leaves the others, and is told as an attempt in vain. Where the budget allows none, the
    run is stopped.

    Raises:
        ModelError: the model could not be reached; replies that came all the same are kept for the next run.
    """
    with stage("draft anew") as note:
        drafts = await write_anew(run, samples, account, range(requested_redraft(run).count))
        drafted = with_redrafts(run, drafts)
        made = sum(draft.solution is not None for draft in drafts)
        note.detail = drafted.run.stopped or f"{made} solution{'s' if made != 1 else ''}"
        return drafted


def requested_redraft(run: Run) -> Redraft:
    """How many are asked for, and why. Raises CodegenError where something else comes next."""
    action = next_action(run)
    if not isinstance(action, Redraft):
        raise CodegenError(f"no fresh drafts come next, but {type(action).__name__}")
    return action


async def write_anew(
    run: Run, samples: Mapping[str, Path], account: BudgetAccount, places: Iterable[int]
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


async def _write(run: Run, account: BudgetAccount, learnt: str, number: int) -> SolutionDraft:
    brief = brief_of(run.settings, run.request, run.context)
    messages = without_keys(redraft_messages(brief, learnt, number), run.request)
    question = Question(purpose="solution", messages=messages, reply_type=SolutionReply, keeps_unusable=True)
    try:
        return draft_of(await ask_within(account, run.settings, question))
    except BudgetSpentError as error:
        return SolutionDraft(calls=error.calls, stopped=str(error))
    except ReplyError as error:
        return SolutionDraft(calls=error.calls, unusable=str(error))


def with_redrafts(run: Run, drafts: Sequence[SolutionDraft]) -> Drafted:
    """The run with the drafts as its next round, judged by the tests of the attempts before."""
    reason, tests = requested_redraft(run).reason, base_attempt(run).candidate.tests
    calls = tuple(call for draft in drafts for call in draft.calls)
    unusable = [draft.unusable for draft in drafts if draft.unusable]
    run = with_unusable(with_calls(run, calls), "fresh_draft", reason, unusable)
    candidates = [made for draft in drafts if (made := draft.candidate(tests)) is not None]
    if not candidates:
        stopped = next((draft.stopped for draft in drafts if draft.stopped), "")
        return Drafted(run=run.model_copy(update={"stopped": stopped}), calls=calls)
    attempts = [Attempt(number=1, action="fresh_draft", reason=reason, candidate=each) for each in candidates]
    return Drafted(run=with_round(run, attempts), calls=calls)
