"""How the building blocks ask a model: by any configuration, remembered, recorded, within a budget, priced."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from flyteplugins_codegen.autogen.model_config import ModelConfig, read_configs, require_text
from flyteplugins_codegen.errors import ArgumentTypeError, BudgetSpentError, ModelError, RequestError, SettingsError
from flyteplugins_codegen.llm.ask import ModelAnswer, ask, build_request
from flyteplugins_codegen.llm.budget import Account, BudgetedModel, priced
from flyteplugins_codegen.llm.prompts import ROLE
from flyteplugins_codegen.llm.protocol import Model
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.models.spending import Budget, Message, ModelCall, Purpose, Role
from flyteplugins_codegen.source.extraction.blocks import content_str
from flyteplugins_codegen.store import ContentStore

ReplyT = TypeVar("ReplyT", bound=BaseModel)

_log = logging.getLogger(__name__)
_LISTS: Final = ("configs", "config_list")
_OF_QUESTIONS: Final = frozenset({"prompt", "messages", "context"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Whom to ask, in turn, and the account that all of them draw on, None where nothing is bounded."""

    configs: tuple[ModelConfig, ...]
    account: Account | None = None


def read_terms(config: Mapping[str, Any]) -> Terms:
    """The `**config` of a function: one model's configuration, or `configs` (`config_list`) of several; and a `budget`.

    What stands beside a list holds for each of its entries. `budget` is a Budget, a dict of its fields, or an Account
    that is open already.

    Raises ArgumentTypeError, SettingsError: see `read_config`.
    """
    own = dict(config)
    asked = sorted(_OF_QUESTIONS & own.keys())
    if asked:
        raise SettingsError(f"{asked[0]} is not taken by this function, which asks in its own words; see generate_code")
    account = _read_account(own.pop("budget", None))
    lists = [own.pop(name) for name in _LISTS if name in own]
    given = [entries for entries in lists if entries is not None]
    configs = read_configs(given[0], own) if given else read_configs(own)
    return Terms(configs=configs, account=account)


def _read_account(budget: Any) -> Account | None:
    if budget is None or isinstance(budget, Account):
        return budget
    try:
        return Account(Budget.model_validate(budget))
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
    account: Account | None = None,
) -> ModelAnswer[ReplyT]:
    """A valid reply of one model, with its calls priced. `check` raises ValueError for a value that cannot be used.

    Raises:
        ModelError: see its subclasses; `calls` are priced too.
        SettingsError: an address, a key, a parameter or a recording that is not possible.
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
    terms: Terms,
    purpose: Purpose,
    check: Callable[[ReplyT], object] = lambda _: None,
) -> ModelAnswer[ReplyT]:
    """The first valid reply of the models in turn: the next is asked where one fails. `calls` are those of all.

    Raises ModelError, that of the last one asked, with the calls of all; BudgetSpentError at once.
    """
    failed: tuple[ModelCall, ...] = ()
    for config in terms.configs:
        outcome = await _outcome(
            ask_for(reply_type, messages, config=config, purpose=purpose, check=check, account=terms.account)
        )
        if isinstance(outcome, ModelAnswer):
            return ModelAnswer(outcome.value, (*failed, *outcome.calls))
        failed += outcome.calls
        outcome.calls = failed
        if config is terms.configs[-1] or isinstance(outcome, BudgetSpentError):
            raise outcome
        _log.warning("%s: %s failed, asking the next: %s", purpose, config.model, outcome)
    raise SettingsError("there is no model to ask; give at least one configuration")


async def _outcome(asking: Awaitable[ModelAnswer[ReplyT]]) -> ModelAnswer[ReplyT] | ModelError:
    try:
        return await asking
    except ModelError as error:
        return error


def _opened(config: ModelConfig, account: Account | None) -> Model:
    def wrap(model: Model) -> Model:
        return model if account is None else BudgetedModel(model, account, config.prices)

    return open_model(config.settings, store=ContentStore(), key=config.api_key, wrap=wrap)


# What the building blocks tell a model: their own words, or a caller's template as in AutoGen.

_ROLES: Final = get_args(Role)


def task_messages(contract: str, task: str) -> tuple[Message, ...]:
    """The stable part first, so that a provider can cache it; then this call's own."""
    return (Message(role="system", content=f"{ROLE}\n\n{contract}"), Message(role="user", content=task))


def fill_template(template: Any, context: Mapping[str, Any] | None) -> str:
    """A prompt of the caller's: text, in which `{name}` stands for the context's values if one is given; or a function.

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


def chat_messages(given: Any, context: Mapping[str, Any] | None, contract: str) -> tuple[Message, ...]:
    """A caller's `messages`, as OpenAI's chat API has them, after the contract, which the system's own message ends.

    Raises ArgumentTypeError, RequestError: what is no list of messages, or of a role that is not spoken here.
    """
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise ArgumentTypeError("messages is no list of messages; pass [{'role': 'user', 'content': '...'}]")
    messages = [_message(message, number, context) for number, message in enumerate(given, 1)]
    said = [message.content for message in messages if message.role == "system"] or [ROLE]
    others = tuple(message for message in messages if message.role != "system")
    if not others or others[-1].role != "user":
        raise RequestError("messages does not end with one of the role 'user'; add what is asked for")
    return (Message(role="system", content="\n\n".join([*said, contract])), *others)


def _message(given: Any, number: int, context: Mapping[str, Any] | None) -> Message:
    if not isinstance(given, Mapping) or given.get("role") not in _ROLES:
        shown = given.get("role") if isinstance(given, Mapping) else type(given).__name__
        raise RequestError(f"message {number} is {shown!r}; pass a dict whose role is one of {', '.join(_ROLES)}")
    content = given.get("content")
    text = fill_template(content, context) if isinstance(content, str) or callable(content) else content_str(content)
    require_text(f"message {number}", text, "pass its text as content")
    return Message(role=given["role"], content=text)
