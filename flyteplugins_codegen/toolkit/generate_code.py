"""`generate_code`: a question to a model, and the code of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.llm.prices import total_cost_usd
from flyteplugins_codegen.llm.replies import Reply
from flyteplugins_codegen.models.conversation import Message
from flyteplugins_codegen.source.blocks import extract_code
from flyteplugins_codegen.syncing import BoundMethod
from flyteplugins_codegen.toolkit.asking import ask_in_turn, read_terms
from flyteplugins_codegen.toolkit.prompting import chat_messages, fill_template, task_messages

_CONTRACT: Final = """\
Answer with code. `text` is the whole answer in Markdown; every piece of code is in a fenced block that names its \
language."""


class CodeReply(Reply):
    """An answer in Markdown."""

    text: str = Field(min_length=1, description="The answer in Markdown, its code in fenced blocks")


@BoundMethod
async def generate_code(pattern: str | None = None, **config: Any) -> tuple[list[tuple[str, str]], float | None]:
    """The code of a model's answer, `[(language, code), ...]`, and what it cost. As in AutoGen 0.2; also `.aio`.

    Args:
        pattern: A regular expression for the code, see `extract_code`; by default the rules of Markdown.
        config: What is asked, `prompt` (with `context`, whose values are filled in for `{name}`) or `messages`; whom,
            see `read_config`, or `configs` in turn; and a `budget`.

    Returns:
        The blocks of code, and the cost in USD: 0.0 for an answer that was paid for before, None for an unknown price.

    Raises:
        RequestError: nothing is asked, or a value is not possible; nothing was spent.
        ModelError: no model could be reached, or none answered with code when asked twice; `calls` tell what was paid.
    """
    asked = dict(config)
    messages = _messages(asked)
    extract_code("", pattern)  # a pattern that is none is told before anything is spent
    terms = read_terms(asked)
    answer = await ask_in_turn(
        CodeReply, messages, terms=terms, purpose="code", check=lambda reply: _code(reply.text, pattern)
    )
    return _code(answer.value.text, pattern), total_cost_usd(answer.calls)


def _messages(config: dict[str, Any]) -> tuple[Message, ...]:
    """What is asked, taken out of the configuration."""
    prompt, messages, context = (config.pop(name, None) for name in ("prompt", "messages", "context"))
    if context is not None and not isinstance(context, Mapping):
        raise ArgumentTypeError(f"context is {type(context).__name__}; pass a dict of the values for the prompt")
    if (prompt is None) == (messages is None):
        raise RequestError("nothing is asked, or twice; pass either prompt='...' or messages=[...]")
    if messages is not None:
        return chat_messages(messages, context, _CONTRACT)
    return task_messages(_CONTRACT, fill_template(prompt, context))


def _code(text: str, pattern: str | None) -> list[tuple[str, str]]:
    found = [(language, code) for language, code in extract_code(text, pattern) if code.strip()]
    if not found or found == [("unknown", text)]:
        raise ValueError("it holds no code; put the code into a fenced block of Markdown")
    return found
