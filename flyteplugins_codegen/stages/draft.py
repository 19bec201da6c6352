"""Stages `write_solution`, `write_tests` and `draft_anew`: solutions and tests, none written with sight of another.

The first drafts and the tests are asked for at the same time. `draft_anew` asks for redrafts: solutions that start
again from the description, with a summary of what failed, after repairs did not help.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Final

from pydantic import Field, JsonValue

from flyteplugins_codegen.errors import BudgetSpentError, CodegenError, ReplyError
from flyteplugins_codegen.judging.causes import syntax_cause
from flyteplugins_codegen.llm.ask import ModelAnswer
from flyteplugins_codegen.llm.budget import BudgetAccount
from flyteplugins_codegen.llm.failures import describe_learnt
from flyteplugins_codegen.llm.prompts import (
    open_inputs,
    redraft_messages,
    solution_messages,
    suite_messages,
    third_messages,
)
from flyteplugins_codegen.llm.replies import CaseReply, SolutionReply, TestsReply
from flyteplugins_codegen.models.base import Extended, Value
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution, TestCase
from flyteplugins_codegen.models.reference import REFERENCE_FILE
from flyteplugins_codegen.models.run import ActionName, Attempt, Run
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import ModelCall
from flyteplugins_codegen.source.extraction.blocks import unfence
from flyteplugins_codegen.stages.actions import Redraft
from flyteplugins_codegen.stages.arguments import checked_proposals
from flyteplugins_codegen.stages.attempts import StageResult, with_calls, with_round, with_unusable
from flyteplugins_codegen.stages.lineage import base_attempt
from flyteplugins_codegen.stages.loop import next_action
from flyteplugins_codegen.stages.model_calls import Question, ask_within, brief_of, with_sibling_calls
from flyteplugins_codegen.stages.privacy import masked_attempts, masker_for, without_keys
from flyteplugins_codegen.telemetry import stage
from flyteplugins_codegen.text import shorten_end

_MOST_LISTED: Final = 12
_LISTED_CHARS: Final = 300


class SolutionDraft(Value):
    """A proposed solution, with the calls that it took, and values for inputs that have none.

    Without a proposal, either the budget allowed no call, as `stopped` says, or no reply was usable, as `unusable`
    says.
    """

    plan: CodePlan | None = None
    solution: CodeSolution | None = None
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    calls: tuple[ModelCall, ...]
    stopped: str = ""
    unusable: str = ""


class TestsDraft(Extended):
    """Generated tests, with the cases that they were written from, and the calls that they took.

    `tests` is None if none were asked for, or if `stopped`. `reference` is a second script for the same outputs, None
    if there is none.
    """

    __test__ = False

    tests: str | None
    cases: tuple[TestCase, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    stopped: str = ""
    reference: str | None = None

    later_fields: ClassVar[frozenset[str]] = frozenset({"reference"})


class Drafts(Value):
    """The first drafts of a run."""

    solutions: tuple[SolutionDraft, ...]
    tests: TestsDraft

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """All calls that the drafts took."""
        return (*(call for solution in self.solutions for call in solution.calls), *self.tests.calls)


async def write_drafts(run: Run, account: BudgetAccount, count: int = 1) -> Drafts:
    """Ask for `count` solutions and the tests at the same time.

    Raises:
        ModelError: raised after all calls have ended, so that every reply that was paid for is stored.
    """
    first, *others = (
        [write_solution(run, account)] if count == 1 else [try_solution(run, account, index) for index in range(count)]
    )
    # The tests come second: a budget of two calls then pays for a solution and the tests that judge it.
    results = await asyncio.gather(first, write_tests(run, account), *others, return_exceptions=True)
    _raise_first_error(results)
    return Drafts(
        solutions=tuple(draft for draft in results if isinstance(draft, SolutionDraft)),
        tests=next(draft for draft in results if isinstance(draft, TestsDraft)),
    )


def _raise_first_error(results: Sequence[object]) -> None:
    for error in results:
        if isinstance(error, BaseException):
            raise with_sibling_calls(error, results)


async def write_solution(run: Run, account: BudgetAccount) -> SolutionDraft:
    """Ask for plan, script and packages in one call; `stopped` is set if the budget does not allow it.

    Raises:
        ModelError: see its subclasses; `.calls` has the usage of replies that could not be used.
    """
    return await _draft_solution(run, account, _solution_question(run))


async def try_solution(run: Run, account: BudgetAccount, index: int) -> SolutionDraft:
    """As `write_solution`, for one of several drafts: an unusable reply is recorded in the draft and raises nothing.

    `index` is the position among them: each draft has its own entry in the cache of replies.
    """
    question = dataclasses.replace(_solution_question(run), attempt=index, keeps_unusable=True)
    try:
        return await _draft_solution(run, account, question)
    except ReplyError as error:
        return SolutionDraft(calls=error.calls, unusable=str(error))


def _solution_question(run: Run) -> Question[SolutionReply]:
    messages = without_keys(solution_messages(brief_of(run.settings, run.request, run.context)), run.request)
    left_out = () if open_inputs(run.request) else ("arguments",)
    return Question(purpose="solution", messages=messages, reply_type=SolutionReply, left_out=left_out)


async def _draft_solution(run: Run, account: BudgetAccount, question: Question[SolutionReply]) -> SolutionDraft:
    with stage("write solution") as note:
        try:
            answer = await ask_within(account, run.settings, question)
        except BudgetSpentError as error:
            note.detail = str(error)
            return SolutionDraft(calls=error.calls, stopped=str(error))
        note.detail = f"{len(answer.value.code.splitlines())} lines"
        return _draft_from(run, answer)


def _draft_from(run: Run, answer: ModelAnswer[SolutionReply]) -> SolutionDraft:
    """The draft in a reply, without the text that the reply puts around the code."""
    reply = answer.value
    assumptions = tuple(shorten_end(text, _LISTED_CHARS) for text in reply.assumptions[:_MOST_LISTED])
    return SolutionDraft(
        plan=CodePlan(description=reply.description, approach=reply.approach, assumptions=assumptions),
        solution=CodeSolution(
            code=unfence(reply.code), packages=tuple(reply.packages), system_packages=tuple(reply.system_packages)
        ),
        arguments=checked_proposals(run.request, {proposal.name: proposal.value for proposal in reply.arguments}),
        calls=answer.calls,
    )


async def write_tests(run: Run, account: BudgetAccount) -> TestsDraft:
    """Ask for tests from the request and the data, without the code; none with `skip_tests`.

    Raises:
        ModelError: see its subclasses.
    """
    if run.settings.skip_tests:
        return TestsDraft(tests=None)
    with stage("write tests") as note:
        brief = brief_of(run.settings, run.request, run.context)
        messages = without_keys(suite_messages(brief, with_reference=run.settings.reference), run.request)
        try:
            question = Question(purpose="tests", messages=messages, reply_type=TestsReply)
            answer = await ask_within(account, run.settings, question)
        except BudgetSpentError as error:
            note.detail = str(error)
            return TestsDraft(tests=None, calls=error.calls, stopped=str(error))
        tests = unfence(answer.value.test_code)
        note.detail = f"{len(tests.splitlines())} lines"
        reference = _reference_in(answer.value, run.settings)
        return TestsDraft(tests=tests, cases=_cases_in(answer.value.cases), calls=answer.calls, reference=reference)


def _reference_in(reply: TestsReply, settings: Settings) -> str | None:
    """The reference of a reply; None if none was asked for, or if it is no Python."""
    code = unfence(reply.reference or "").strip()
    if not code or not settings.reference or syntax_cause(code, REFERENCE_FILE) is not None:
        return None
    return f"{code}\n"


def _cases_in(replies: Sequence[CaseReply]) -> tuple[TestCase, ...]:
    texts = ((case.input.strip(), case.expected.strip(), case.why.strip()) for case in replies)
    shortened = (tuple(shorten_end(text, _LISTED_CHARS) for text in case) for case in texts if case[0] or case[1])
    cases = (TestCase(input=given, expected=expected, why=why) for given, expected, why in shortened)
    return tuple(islice(cases, _MOST_LISTED))


def with_drafts(run: Run, drafts: Drafts) -> Run:
    """The run with the drafts as its first candidates, and with their calls."""
    stops = [stopped for stopped in (*(draft.stopped for draft in drafts.solutions), drafts.tests.stopped) if stopped]
    run = with_calls(run, drafts.calls)
    candidates = _candidates(drafts.solutions, drafts.tests)
    unusable = [draft.unusable for draft in drafts.solutions if draft.unusable]
    if not candidates:  # without any candidate, unusable replies stop the run as a spent budget does
        stops += unusable
    reason = "the first answer" if len(candidates) == 1 else f"one of {len(candidates)} first answers"
    reason += f"; of {len(unusable)} more none could be used: {unusable[0]}" if unusable else ""
    run = with_round(run, _attempts(candidates, "first_draft", reason))
    return run.model_copy(update={"stopped": stops[0] if stops else ""})


def _candidates(
    drafts: Sequence[SolutionDraft],
    judges: TestsDraft | Candidate,
    arguments: Mapping[str, JsonValue] = MappingProxyType({}),
) -> list[Candidate]:
    """The drafts that have a proposal, with what judges them; `arguments` are those of earlier candidates."""
    shared = dict(arguments) or next((draft.arguments for draft in drafts if draft.arguments), {})
    return [
        Candidate(
            plan=draft.plan,
            solution=draft.solution,
            tests=judges.tests,
            cases=judges.cases,
            reference=judges.reference,
            arguments=shared,
        )
        for draft in drafts
        if draft.plan is not None and draft.solution is not None
    ]


def _attempts(candidates: Iterable[Candidate], action: ActionName, reason: str) -> list[Attempt]:
    return [Attempt(number=1, action=action, reason=reason, candidate=candidate) for candidate in candidates]


# --- redrafts ---


async def draft_anew(run: Run, samples: Mapping[str, Path], account: BudgetAccount) -> StageResult:
    """Ask for as many redrafts as `next_action` says, at the same time; the tests of earlier attempts stay.

    An unusable reply becomes an attempt without a change. The run is stopped if the budget allows no redraft.

    Raises:
        ModelError: the model could not be reached; replies that were received are stored for the next run.
    """
    with stage("draft anew") as note:
        drafts = await write_anew(run, samples, account, range(requested_redraft(run).count))
        result = with_redrafts(run, drafts)
        count = sum(draft.solution is not None for draft in drafts)
        note.detail = result.run.stopped or f"{count} solution{'s' if count != 1 else ''}"
        return result


def requested_redraft(run: Run) -> Redraft:
    """The redraft that comes next in the run. Raises CodegenError if something else comes next."""
    action = next_action(run)
    if not isinstance(action, Redraft):
        raise CodegenError(f"no fresh drafts come next, but {type(action).__name__}")
    return action


async def write_anew(
    run: Run, samples: Mapping[str, Path], account: BudgetAccount, indexes: Iterable[int]
) -> tuple[SolutionDraft, ...]:
    """Ask for the redrafts at these positions of the round. Raises ModelError after all calls have ended."""
    masker = masker_for(run.settings, run.request)
    attempts = await asyncio.to_thread(masked_attempts, run.attempts, masker, samples)
    learnt = None if requested_redraft(run).is_third else describe_learnt(attempts)
    # The attempt's number is part of the prompt: no cached answer to another redraft is taken for this one.
    asked = [_redraft_solution(run, account, learnt, len(run.attempts) + index + 1) for index in indexes]
    results = await asyncio.gather(*asked, return_exceptions=True)
    _raise_first_error(results)
    return tuple(draft for draft in results if isinstance(draft, SolutionDraft))


async def _redraft_solution(run: Run, account: BudgetAccount, learnt: str | None, number: int) -> SolutionDraft:
    brief = brief_of(run.settings, run.request, run.context)
    asked = third_messages(brief, number) if learnt is None else redraft_messages(brief, learnt, number)
    messages = without_keys(asked, run.request)
    question = dataclasses.replace(_solution_question(run), messages=messages, keeps_unusable=True)
    try:
        return _draft_from(run, await ask_within(account, run.settings, question))
    except BudgetSpentError as error:
        return SolutionDraft(calls=error.calls, stopped=str(error))
    except ReplyError as error:
        return SolutionDraft(calls=error.calls, unusable=str(error))


def with_redrafts(run: Run, drafts: Sequence[SolutionDraft]) -> StageResult:
    """The run with the redrafts as its next round, judged by the tests of the attempts before."""
    requested, base = requested_redraft(run), base_attempt(run).candidate
    action: ActionName = "independent_draft" if requested.is_third else "fresh_draft"
    calls = tuple(call for draft in drafts for call in draft.calls)
    unusable = [draft.unusable for draft in drafts if draft.unusable]
    run = with_unusable(with_calls(run, calls), action, requested.reason, unusable)
    candidates = _candidates(drafts, base, base.arguments)
    if not candidates:
        stopped = next((draft.stopped for draft in drafts if draft.stopped), "")
        return StageResult(run=run.model_copy(update={"stopped": stopped}), calls=calls)
    return StageResult(run=with_round(run, _attempts(candidates, action, requested.reason)), calls=calls)
