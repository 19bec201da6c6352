"""`generate_code` and `generate_assertions`: the code of a model's answer, and tests for a function it has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field

from flyteplugins_codegen.autogen.arguments import require_text
from flyteplugins_codegen.autogen.ask import ask_in_turn, chat_messages, fill_template, read_ask_settings, task_messages
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
_ASSERTIONS_CONTRACT: Final = """\
Write assertions that any right implementation of the given function passes, and wrong ones fail.
- Each is one Python statement `assert FUNCTION(ARGUMENTS) == VALUE`, with the value worked out by hand; for floats \
`assert abs(FUNCTION(ARGUMENTS) - VALUE) < 1e-6`. It calls the function by its name and needs no import.
- Begin with the examples of the docstring, then the ordinary case, then edges: empty, zero, negative, repeated, large.
- Only what the definition promises: no error that it does not speak of, no case of which it leaves the outcome open."""
_REMEDY: Final = "pass the function's signature with its docstring, as source"


class CodeReply(Reply):
    """An answer in Markdown."""

    text: str = Field(min_length=1, description="The answer in Markdown, its code in fenced blocks")


@BoundMethod
async def generate_code(pattern: str | None = None, **config: Any) -> tuple[list[tuple[str, str]], float | None]:
    """The code of a model's answer, `[(language, code), ...]`, and its cost. As in AutoGen 0.2; also `.aio`.

    Args:
        pattern: A regular expression for the code, see `extract_code`; by default the rules of Markdown.
        config: The question as `prompt` (with `context`, whose values replace `{name}`) or `messages`; the model, see
            `read_config`, or `configs` to ask in turn; and a `budget`.

    Returns:
        The blocks of code, and the cost in USD: 0.0 for a cached answer, None for an unknown price.

    Raises:
        RequestError: there is no question, or a value is not possible; nothing was spent.
        ModelError: no model could be reached, or none answered with code when asked twice; `calls` has the cost.
    """
    rest = dict(config)
    messages = _messages(rest)
    extract_code("", pattern)  # raises for an invalid pattern before anything is spent
    settings = read_ask_settings(rest)
    answer = await ask_in_turn(
        CodeReply, messages, settings=settings, purpose="code", check=lambda reply: _code(reply.text, pattern)
    )
    return _code(answer.value.text, pattern), total_cost_usd(answer.calls)


def _messages(config: dict[str, Any]) -> tuple[Message, ...]:
    """The messages of the question, whose keywords are removed from the configuration."""
    prompt, messages, context = (config.pop(name, None) for name in ("prompt", "messages", "context"))
    if context is not None and not isinstance(context, Mapping):
        raise ArgumentTypeError(f"context is {type(context).__name__}; pass a dict of the values for the prompt")
    if (prompt is None) == (messages is None):
        raise RequestError("nothing is asked, or twice; pass either prompt='...' or messages=[...]")
    if messages is not None:
        return chat_messages(messages, context, _CODE_CONTRACT)
    return task_messages(_CODE_CONTRACT, fill_template(prompt, context))


def _code(text: str, pattern: str | None) -> list[tuple[str, str]]:
    blocks = [(language, code) for language, code in extract_code(text, pattern) if code.strip()]
    if not blocks or blocks == [("unknown", text)]:
        raise ValueError("it holds no code; put the code into a fenced block of Markdown")
    return blocks


class AssertionsReply(Reply):
    """Assertions about one function."""

    assertions: list[str] = Field(min_length=1, description="One assert statement each, in one line")


@BoundMethod
async def generate_assertions(definition: str, **config: Any) -> tuple[str, float | None]:
    r"""Assertions for the defined function, and their cost. As in AutoGen 0.2; also `.aio`.

    Each one is Python, calls the function and occurs once. Two that expect different values of the same call are both
    left out. None is run here: they are a model's guess at the right values.

    Args:
        definition: Source of the function, at least its signature and docstring; of several functions the last counts.
        config: The model, see `read_config`, or `configs` to ask in turn; and a `budget`.

    Returns:
        The assertions, one a line, joined by `\n`; and the cost in USD: 0.0 for a cached answer, None for an unknown
        price.

    Raises:
        RequestError: the definition is no function, or a value is not possible; nothing was spent.
        ModelError: no model could be reached, or none gave a usable assertion when asked twice.
    """
    text = require_text("the definition", definition, _REMEDY)
    name = read_definition(text).name
    settings = read_ask_settings(config)
    answer = await ask_in_turn(
        AssertionsReply,
        task_messages(_ASSERTIONS_CONTRACT, f"# The function {name}\n```python\n{text.strip()}\n```"),
        settings=settings,
        purpose="assertions",
        check=lambda reply: _useful(reply, name),
    )
    return "\n".join(_useful(answer.value, name)), total_cost_usd(answer.calls)


def _useful(reply: AssertionsReply, name: str) -> tuple[str, ...]:
    assertions = useful_assertions(reply.assertions, name)
    if not assertions:
        raise ValueError(f"none of its assertions is one Python statement that calls {name} and contradicts no other")
    return assertions
