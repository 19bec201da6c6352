"""`generate_code`: a question to a model, and the code of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field

from flyteplugins_codegen.autogen.ask import ask_in_turn, chat_messages, fill_template, read_terms, task_messages
from flyteplugins_codegen.autogen.model_config import require_text
from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.llm.budget import total_cost_usd
from flyteplugins_codegen.llm.replies import Reply
from flyteplugins_codegen.models.spending import Message
from flyteplugins_codegen.source.extraction.blocks import extract_code
from flyteplugins_codegen.source.python import read_definition
from flyteplugins_codegen.source.test_edits import useful_assertions
from flyteplugins_codegen.sync import BoundMethod

_CODE_CONTRACT: Final = """\
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
        return chat_messages(messages, context, _CODE_CONTRACT)
    return task_messages(_CODE_CONTRACT, fill_template(prompt, context))


def _code(text: str, pattern: str | None) -> list[tuple[str, str]]:
    found = [(language, code) for language, code in extract_code(text, pattern) if code.strip()]
    if not found or found == [("unknown", text)]:
        raise ValueError("it holds no code; put the code into a fenced block of Markdown")
    return found


# `generate_assertions`: tests for a function from its definition alone, those left out that are worth nothing.

_ASSERTIONS_CONTRACT: Final = """\
Write assertions that any right implementation of the given function passes, and wrong ones fail.
- Each is one Python statement `assert FUNCTION(ARGUMENTS) == VALUE`, with the value worked out by hand; for floats \
`assert abs(FUNCTION(ARGUMENTS) - VALUE) < 1e-6`. It calls the function by its name and needs no import.
- Begin with the examples of the docstring, then the ordinary case, then edges: empty, zero, negative, repeated, large.
- Only what the definition promises: no error that it does not speak of, no case of which it leaves the outcome open."""
_REMEDY: Final = "pass the function's signature with its docstring, as source"


class AssertionsReply(Reply):
    """Assertions about one function."""

    assertions: list[str] = Field(min_length=1, description="One assert statement each, in one line")


@BoundMethod
async def generate_assertions(definition: str, **config: Any) -> tuple[str, float | None]:
    r"""Assertions for the function that is defined, and what they cost. As in AutoGen 0.2; also `.aio`.

    Every one is Python, calls the function and occurs once. Where two expect different values of the same call neither
    is taken. None is run here: they are a model's guess at what is right.

    Args:
        definition: Source of the function, its signature and docstring at least; the last one, if there are several.
        config: Whom to ask, see `read_config`, or `configs` in turn; and a `budget`.

    Returns:
        The assertions, one a line, joined by `\n`; and the cost in USD: 0.0 for an answer that was paid for before,
        None for an unknown price.

    Raises:
        RequestError: the definition is no function, or a value is not possible; nothing was spent.
        ModelError: no model could be reached, or none gave an assertion of use when asked twice.
    """
    text = require_text("the definition", definition, _REMEDY)
    name = read_definition(text).name
    terms = read_terms(config)
    answer = await ask_in_turn(
        AssertionsReply,
        task_messages(_ASSERTIONS_CONTRACT, f"# The function {name}\n```python\n{text.strip()}\n```"),
        terms=terms,
        purpose="assertions",
        check=lambda reply: _chosen(reply, name),
    )
    return "\n".join(_chosen(answer.value, name)), total_cost_usd(answer.calls)


def _chosen(reply: AssertionsReply, name: str) -> tuple[str, ...]:
    chosen = useful_assertions(reply.assertions, name)
    if not chosen:
        raise ValueError(f"none of its assertions is one Python statement that calls {name} and contradicts no other")
    return chosen
