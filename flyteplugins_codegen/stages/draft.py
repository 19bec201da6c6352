"""Stages `write_solution` and `write_tests`: two model calls, side by side, neither seeing the other's reply."""

from __future__ import annotations

import asyncio

from flyteplugins_codegen.errors import BudgetSpentError, ModelError
from flyteplugins_codegen.llm.budgeted import Account
from flyteplugins_codegen.llm.prompts import Brief, solution_messages, suite_messages
from flyteplugins_codegen.llm.replies import SolutionReply, TestsReply
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.candidate import Candidate, CodePlan, CodeSolution
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.profile import DataContext
from flyteplugins_codegen.models.request import Request
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.source.blocks import unfence
from flyteplugins_codegen.stages.asking import ask_within
from flyteplugins_codegen.stages.attempts import with_calls, with_next
from flyteplugins_codegen.stages.privacy import without_keys
from flyteplugins_codegen.stages.progress import stage


class SolutionDraft(Value):
    """What the solution's author proposed, with the calls that it took. `stopped`: the budget allowed no proposal."""

    plan: CodePlan | None = None
    solution: CodeSolution | None = None
    calls: tuple[ModelCall, ...]
    stopped: str = ""


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
    with stage("write solution") as note:
        messages = without_keys(solution_messages(brief_of(run.settings, run.request, run.context)), run.request)
        try:
            answer = await ask_within(account, run.settings, "solution", messages, SolutionReply)
        except BudgetSpentError as error:
            note.detail = str(error)
            return SolutionDraft(calls=error.calls, stopped=str(error))
        reply = answer.value
        note.detail = f"{len(reply.code.splitlines())} lines"
        return SolutionDraft(
            plan=plan_of(reply),
            solution=solution_of(reply),
            calls=answer.calls,
        )


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
            answer = await ask_within(account, run.settings, "tests", messages, TestsReply)
        except BudgetSpentError as error:
            note.detail = str(error)
            return TestsDraft(tests=None, calls=error.calls, stopped=str(error))
        tests = unfence(answer.value.test_code)
        note.detail = f"{len(tests.splitlines())} lines"
        return TestsDraft(tests=tests, calls=answer.calls)


async def write_drafts(run: Run, account: Account) -> tuple[SolutionDraft, TestsDraft]:
    """Both drafts, side by side. Raises ModelError, once both calls have ended: neither's reply is paid for in vain."""
    solution, tests = await asyncio.gather(
        write_solution(run, account), write_tests(run, account), return_exceptions=True
    )
    if isinstance(solution, BaseException):
        raise _with_calls_of(solution, tests)
    if isinstance(tests, BaseException):
        raise _with_calls_of(tests, solution)
    return solution, tests


def _with_calls_of(error: BaseException, other: SolutionDraft | TestsDraft | BaseException) -> BaseException:
    """The error, accounting for what its sibling's calls cost too."""
    if isinstance(error, ModelError):
        error.calls = (*error.calls, *getattr(other, "calls", ()))
    return error


def with_drafts(run: Run, solution: SolutionDraft, tests: TestsDraft) -> Run:
    """The run with the two drafts as its first candidate, and their calls accounted for."""
    stopped = solution.stopped or tests.stopped
    run = with_calls(run, (*solution.calls, *tests.calls)).model_copy(update={"stopped": stopped})
    if solution.plan is None or solution.solution is None:
        return run
    candidate = Candidate(plan=solution.plan, solution=solution.solution, tests=tests.tests)
    return with_next(run, "first_draft", "the first answer", candidate)
