"""How an agent asks for its next turn: remembered and within the run's budget as every question, its reply as it is."""

from __future__ import annotations

from flyteplugins_codegen.llm.ask import call_once
from flyteplugins_codegen.llm.budgeted import Account, BudgetedModel
from flyteplugins_codegen.llm.prices import priced
from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.models.conversation import Message, ModelCall
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.stages.agentic.tools import TOOLS
from flyteplugins_codegen.store import ContentStore


async def ask_turn(account: Account, settings: Settings, messages: tuple[Message, ...]) -> tuple[ModelReply, ModelCall]:
    """What the model says next, and the call, priced.

    Raises BudgetSpentError where the budget allows no call more; ModelError: see its subclasses.
    """
    model = open_model(
        settings, store=ContentStore(), watch=lambda asked: BudgetedModel(asked, account, settings.prices)
    )
    request = ModelRequest(
        purpose="agent",
        messages=messages,
        reply_name="AgentAction",
        reply_schema={},
        params=settings.model_params,
        tools=TOOLS,
    )
    reply, call = await call_once(model, request)
    return reply, priced((call,), settings.model, settings.prices)[0]
