"""How the stages ask a model: with answers cached, within the run's budget, and every call priced."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from pydantic import BaseModel

from flyteplugins_codegen.errors import ModelError
from flyteplugins_codegen.llm.ask import ModelAnswer, ask, build_request
from flyteplugins_codegen.llm.budget import BudgetAccount, BudgetedModel, priced
from flyteplugins_codegen.llm.prompts import JobBrief
from flyteplugins_codegen.llm.protocol import Model
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.models.data import DataContext
from flyteplugins_codegen.models.job import Request
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import Message, ModelCall, Purpose, Spending
from flyteplugins_codegen.store import ContentStore

ReplyT = TypeVar("ReplyT", bound=BaseModel)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Question(Generic[ReplyT]):
    """A question, and which answers are accepted: `check` raises ValueError for a reply that cannot be used.

    A question with another `attempt` has an answer of its own in the cache. `keeps_unusable` stores replies that cannot
    be used too: for a run that goes on without an answer, and must go on in the same way when it is resumed. See
    `llm.ask.ask`.
    """

    purpose: Purpose
    messages: tuple[Message, ...]
    reply_type: type[ReplyT]
    check: Callable[[ReplyT], object] = lambda _: None
    attempt: int = 0
    keeps_unusable: bool = False
    left_out: tuple[str, ...] = ()


def open_account(run: Run, *, shares: int = 1, on_call: Callable[[], None] = lambda: None) -> BudgetAccount:
    """Open the account of the run's budget, charged with all calls of the run so far, in any process.

    `shares` is the number of stages that run at the same time in processes of their own; `on_call` is passed to
    `BudgetAccount`.
    """
    spent = sum((_spending(call) for call in run.calls if not call.is_reused), Spending())
    budget = run.settings.budget
    return BudgetAccount(budget.shared(spent, shares) if shares > 1 else budget, spent, on_call)


def _spending(call: ModelCall) -> Spending:
    tokens = call.usage.input_tokens + call.usage.output_tokens
    return Spending(calls=1, tokens=tokens, cost_usd=call.cost_usd, wall_s=call.wall_s)


async def ask_within(account: BudgetAccount, settings: Settings, question: Question[ReplyT]) -> ModelAnswer[ReplyT]:
    """Ask the run's model for a reply that passes the question's check.

    Raises:
        BudgetSpentError: the budget allows no further call.
        ModelError: see its subclasses; the calls in `.calls` are priced.
    """
    model = open_budgeted_model(account, settings)
    request = build_request(
        question.purpose, question.messages, question.reply_type, settings, left_out=question.left_out
    )
    request = request.model_copy(update={"attempt": question.attempt})
    try:
        answer = await ask(model, request, question.reply_type, question.check, keeps_unusable=question.keeps_unusable)
    except ModelError as error:
        error.calls = with_prices(error.calls, settings)
        raise
    return ModelAnswer(answer.value, with_prices(answer.calls, settings))


def open_budgeted_model(account: BudgetAccount, settings: Settings) -> Model:
    """Open the run's model: cached replies cost nothing, every other call is charged to the account."""
    return open_model(settings, store=ContentStore(), wrap=lambda model: BudgetedModel(model, account, settings.prices))


def with_prices(calls: Iterable[ModelCall], settings: Settings) -> tuple[ModelCall, ...]:
    """The calls with their cost in USD, by the prices of the run's model."""
    return priced(calls, settings.model, settings.prices)


def brief_of(settings: Settings, request: Request, context: DataContext) -> JobBrief:
    """What the prompt of every author says about this job."""
    return JobBrief(request=request, context=context, role=settings.system_prompt, installed=settings.base_packages)


def with_sibling_calls(error: BaseException, siblings: Iterable[object]) -> BaseException:
    """Add the calls of stages that ran beside a failed one to its error, so that they are accounted for."""
    if isinstance(error, ModelError):
        others = (call for sibling in siblings if sibling is not error for call in getattr(sibling, "calls", ()))
        error.calls = (*error.calls, *others)
    return error
