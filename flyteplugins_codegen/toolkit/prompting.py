"""What the building blocks tell a model: their own words, or a caller's template as in AutoGen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.llm.prompts import ROLE
from flyteplugins_codegen.models.conversation import Message, Role
from flyteplugins_codegen.source.content import content_str
from flyteplugins_codegen.toolkit.texts import require_text

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
