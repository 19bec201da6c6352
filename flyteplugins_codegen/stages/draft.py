"""Stages `write_solution` and `write_tests`: model calls made side by side, none seeing another's reply."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterable

from flyteplugins_codegen.errors import BudgetSpentError, ModelError, ReplyError
from flyteplugins_codegen.llm.ask import Answer
from flyteplugins_codegen.llm.budgeted import Account
from flyteplugins_codegen.llm.prompts import Brief, solution_messages, suite_messages
from flyteplugins_codegen.llm.replies import SolutionReply, TestsReply
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.candidate import Candidate, CodePlan, CodeSolution
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.profile import DataContext
from flyteplugins_codegen.models.request import Request
from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.source.blocks import unfence
from flyteplugins_codegen.stages.asking import Question, ask_within
from flyteplugins_codegen.stages.attempts import with_calls, with_round
from flyteplugins_codegen.stages.privacy import without_keys
from flyteplugins_codegen.stages.progress import stage


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


def brief_of(settings: Settings, request: Request, context: DataContext) -> Brief:
    """What every author of this job is told."""
    return Brief(request=request, context=context, role=settings.system_prompt, installed=settings.base_packages)


async def write_solution(run: Run, account: Account) -> SolutionDraft:
    """Plan, script and packages in one call, or why the budget does not allow it.

    Raises:
        ModelError: see its subclasses; the usage of replies that could not be used is in `.calls`.
    """
    return await _drafted(run, account, _question(run))


async def try_solution(run: Run, account: Account, place: int) -> SolutionDraft:
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


async def _drafted(run: Run, account: Account, question: Question[SolutionReply]) -> SolutionDraft:
    with stage("write solution") as note:
        try:
            answer = await ask_within(account, run.settings, question)
        except BudgetSpentError as error:
            note.detail = str(error)
            return SolutionDraft(calls=error.calls, stopped=str(error))
        note.detail = f"{len(answer.value.code.splitlines())} lines"
        return draft_of(answer)


def draft_of(answer: Answer[SolutionReply]) -> SolutionDraft:
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


async def write_tests(run: Run, account: Account) -> TestsDraft:
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


async def write_drafts(run: Run, account: Account, count: int = 1) -> Drafts:
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
