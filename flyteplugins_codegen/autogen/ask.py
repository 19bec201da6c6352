"""How the functions ask a model: with any configuration, cached, recorded, within a budget, and priced.

Their prompts are our own, or a caller's template as in AutoGen.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from flyteplugins_codegen.autogen.arguments import require_text
from flyteplugins_codegen.autogen.model_config import ModelConfig, read_configs
from flyteplugins_codegen.errors import ArgumentTypeError, BudgetSpentError, ModelError, RequestError, SettingsError
from flyteplugins_codegen.llm.ask import ModelAnswer, ask, build_request
from flyteplugins_codegen.llm.budget import BudgetAccount, BudgetedModel, priced
from flyteplugins_codegen.llm.prompts import ROLE
from flyteplugins_codegen.llm.protocol import Model
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.models.spending import Budget, Message, ModelCall, Purpose, Role
from flyteplugins_codegen.source.extraction.blocks import content_str
from flyteplugins_codegen.store import ContentStore

ReplyT = TypeVar("ReplyT", bound=BaseModel)

_log = logging.getLogger(__name__)
_LISTS: Final = ("configs", "config_list")
_PROMPT_ARGUMENTS: Final = frozenset({"prompt", "messages", "context"})
_ROLES: Final = get_args(Role)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskSettings:
    """The models to ask, in turn, and the account that they share, None without a budget."""

    configs: tuple[ModelConfig, ...]
    account: BudgetAccount | None = None


def read_ask_settings(config: Mapping[str, Any]) -> AskSettings:
    """Read the `**config` of a function: one model's configuration, or `configs` (`config_list`); and a `budget`.

    The keywords beside a list apply to each of its entries. `budget` is a Budget, a dict of its fields, or an open
    BudgetAccount.

    Raises ArgumentTypeError, SettingsError: see `read_config`.
    """
    rest = dict(config)
    prompts = sorted(_PROMPT_ARGUMENTS & rest.keys())
    if prompts:
        raise SettingsError(
            f"{prompts[0]} is not taken by this function, which asks in its own words; see generate_code"
        )
    account = _read_account(rest.pop("budget", None))
    lists = [rest.pop(name) for name in _LISTS if name in rest]
    lists = [entries for entries in lists if entries is not None]
    configs = read_configs(lists[0], rest) if lists else read_configs(rest)
    return AskSettings(configs=configs, account=account)


def _read_account(budget: Any) -> BudgetAccount | None:
    if budget is None or isinstance(budget, BudgetAccount):
        return budget
    try:
        return BudgetAccount(Budget.model_validate(budget))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise SettingsError(f"budget: {where or 'the value'}: {first['msg']}; pass Budget(max_cost_usd=...)") from None


async def ask_for(
    reply_type: type[ReplyT],
    messages: tuple[Message, ...],
    *,
    config: ModelConfig,
    purpose: Purpose,
    check: Callable[[ReplyT], object] = lambda _: None,
    account: BudgetAccount | None = None,
) -> ModelAnswer[ReplyT]:
    """Ask one model for a valid reply, with its calls priced. `check` raises ValueError for an unusable value.

    Raises:
        ModelError: see its subclasses; its `calls` are priced too.
        SettingsError: an address, a key, a parameter or a recording is not possible.
    """
    request = build_request(purpose, messages, reply_type, config.settings)
    request = request.model_copy(update={"deadline_s": config.deadline_s, "attempt": config.attempt})
    model = _opened(config, account)
    try:
        answer = await ask(model, request, reply_type, check)
    except ModelError as error:
        error.calls = priced(error.calls, model.name, config.prices)
        raise
    return ModelAnswer(answer.value, priced(answer.calls, model.name, config.prices))


async def ask_in_turn(
    reply_type: type[ReplyT],
    messages: tuple[Message, ...],
    *,
    settings: AskSettings,
    purpose: Purpose,
    check: Callable[[ReplyT], object] = lambda _: None,
) -> ModelAnswer[ReplyT]:
    """Ask the models in turn until one gives a valid reply. `calls` are those of all models.

    Raises the ModelError of the last model, with the calls of all; BudgetSpentError at once.
    """
    failed: tuple[ModelCall, ...] = ()
    for config in settings.configs:
        outcome = await _outcome(
            ask_for(reply_type, messages, config=config, purpose=purpose, check=check, account=settings.account)
        )
        if isinstance(outcome, ModelAnswer):
            return ModelAnswer(outcome.value, (*failed, *outcome.calls))
        failed += outcome.calls
        outcome.calls = failed
        if config is settings.configs[-1] or isinstance(outcome, BudgetSpentError):
            raise outcome
        _log.warning("%s: %s failed, asking the next: %s", purpose, config.model, outcome)
    raise SettingsError("there is no model to ask; give at least one configuration")


async def _outcome(call: Awaitable[ModelAnswer[ReplyT]]) -> ModelAnswer[ReplyT] | ModelError:
    try:
        return await call
    except ModelError as error:
        return error


def _opened(config: ModelConfig, account: BudgetAccount | None) -> Model:
    def wrap(model: Model) -> Model:
        return model if account is None else BudgetedModel(model, account, config.prices)

    return open_model(config.settings, store=ContentStore(), key=config.api_key, wrap=wrap)


def task_messages(contract: str, task: str) -> tuple[Message, ...]:
    """The messages for a task: the stable part first, so that a provider can cache it, then the task."""
    return (Message(role="system", content=f"{ROLE}\n\n{contract}"), Message(role="user", content=task))


def fill_template(template: Any, context: Mapping[str, Any] | None) -> str:
    """A caller's prompt: text, whose `{name}` fields are filled from the context if there is one; or a function of it.

    Raises ArgumentTypeError, RequestError.
    """
    if callable(template):
        template = template(dict(context or {}))
    elif isinstance(template, str) and context:
        try:
            template = template.format(**context)
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            names = ", ".join(sorted(map(str, context)))
            raise RequestError(f"the prompt cannot be filled in: {error!r}; the context holds {names}") from None
    return require_text("the prompt", template, "pass text, or a function of the context that returns it")


def chat_messages(entries: Any, context: Mapping[str, Any] | None, contract: str) -> tuple[Message, ...]:
    """A caller's `messages` in the form of OpenAI's chat API, with the contract at the end of the system message.

    Raises ArgumentTypeError where it is no list of messages; RequestError for an unknown role or a missing question.
    """
    if isinstance(entries, str) or not isinstance(entries, Sequence) or not entries:
        raise ArgumentTypeError("messages is no list of messages; pass [{'role': 'user', 'content': '...'}]")
    messages = [_message(message, number, context) for number, message in enumerate(entries, 1)]
    system = [message.content for message in messages if message.role == "system"] or [ROLE]
    others = tuple(message for message in messages if message.role != "system")
    if not others or others[-1].role != "user":
        raise RequestError("messages does not end with one of the role 'user'; add what is asked for")
    return (Message(role="system", content="\n\n".join([*system, contract])), *others)


def _message(entry: Any, number: int, context: Mapping[str, Any] | None) -> Message:
    if not isinstance(entry, Mapping) or entry.get("role") not in _ROLES:
        role = entry.get("role") if isinstance(entry, Mapping) else type(entry).__name__
        raise RequestError(f"message {number} is {role!r}; pass a dict whose role is one of {', '.join(_ROLES)}")
    content = entry.get("content")
    text = fill_template(content, context) if isinstance(content, str) or callable(content) else content_str(content)
    require_text(f"message {number}", text, "pass its text as content")
    return Message(role=entry["role"], content=text)
