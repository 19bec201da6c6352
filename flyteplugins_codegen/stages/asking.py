"""How the stages ask a model: remembered, within the run's budget, every call priced."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

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


def open_account(run: Run, *, is_halved: bool = False) -> Account:
    """The account of the run's budget, from what its calls have spent by now, in this process or in others.

    `is_halved` is for a stage that runs beside another one in a process of its own.
    """
    spent = sum((_spending(call) for call in run.calls if not call.is_reused), Spending())
    budget = run.settings.budget
    return Account(budget.halved(spent) if is_halved else budget, spent)


def _spending(call: ModelCall) -> Spending:
    tokens = call.usage.input_tokens + call.usage.output_tokens
    return Spending(calls=1, tokens=tokens, cost_usd=call.cost_usd, wall_s=call.wall_s)


async def ask_within(
    account: Account,
    settings: Settings,
    purpose: Purpose,
    messages: tuple[Message, ...],
    reply_type: type[ReplyT],
    *,
    check: Callable[[ReplyT], object] = lambda _: None,
) -> Answer[ReplyT]:
    """A valid reply of the run's model.

    Raises BudgetSpentError where the budget allows no call more; ModelError: see its subclasses. `calls` are priced.
    """
    model = open_model(
        settings, store=ContentStore(), watch=lambda asked: BudgetedModel(asked, account, settings.prices)
    )
    request = build_request(purpose, messages, reply_type, settings)
    try:
        answer = await ask(model, request, reply_type, check)
    except ModelError as error:
        error.calls = _priced(error.calls, settings)
        raise
    return Answer(answer.value, _priced(answer.calls, settings))


def _priced(calls: Iterable[ModelCall], settings: Settings) -> tuple[ModelCall, ...]:
    return priced(calls, settings.model, settings.prices)
