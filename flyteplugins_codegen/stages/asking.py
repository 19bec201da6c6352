"""How the stages ask a model: remembered, within the run's budget, every call priced."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from pydantic import BaseModel

from flyteplugins_codegen.errors import ModelError
from flyteplugins_codegen.llm.ask import Answer, ask, build_request
from flyteplugins_codegen.llm.budgeted import Account, BudgetedModel
from flyteplugins_codegen.llm.prices import priced
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.models.budget import Spending
from flyteplugins_codegen.models.conversation import Message, ModelCall, Purpose
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.store import ContentStore

ReplyT = TypeVar("ReplyT", bound=BaseModel)


def open_account(run: Run, *, shares: int = 1, on_call: Callable[[], None] = lambda: None) -> Account:
    """The account of the run's budget, from what its calls have spent by now, in this process or in others.

    `shares` is how many stages run beside each other, each in a process of its own; `on_call` as of `Account`.
    """
    spent = sum((_spending(call) for call in run.calls if not call.is_reused), Spending())
    budget = run.settings.budget
    return Account(budget.shared(spent, shares) if shares > 1 else budget, spent, on_call)


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


async def ask_within(account: Account, settings: Settings, question: Question[ReplyT]) -> Answer[ReplyT]:
    """A valid reply of the run's model.

    Raises BudgetSpentError where the budget allows no call more; ModelError: see its subclasses. `calls` are priced.
    """
    model = open_model(
        settings, store=ContentStore(), watch=lambda asked: BudgetedModel(asked, account, settings.prices)
    )
    request = build_request(question.purpose, question.messages, question.reply_type, settings)
    request = request.model_copy(update={"attempt": question.attempt})
    try:
        answer = await ask(model, request, question.reply_type, question.check, keeps_unusable=question.keeps_unusable)
    except ModelError as error:
        error.calls = _priced(error.calls, settings)
        raise
    return Answer(answer.value, _priced(answer.calls, settings))


def _priced(calls: Iterable[ModelCall], settings: Settings) -> tuple[ModelCall, ...]:
    return priced(calls, settings.model, settings.prices)
