"""`generate_assertions`: tests for a function from its definition alone, those left out that are worth nothing."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from flyteplugins_codegen.llm.prices import total_cost_usd
from flyteplugins_codegen.llm.replies import Reply
from flyteplugins_codegen.source.assertions import useful_assertions
from flyteplugins_codegen.source.definitions import read_definition
from flyteplugins_codegen.syncing import BoundMethod
from flyteplugins_codegen.toolkit.asking import ask_in_turn, read_terms
from flyteplugins_codegen.toolkit.prompting import task_messages
from flyteplugins_codegen.toolkit.texts import require_text

_CONTRACT: Final = """\
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
        task_messages(_CONTRACT, f"# The function {name}\n```python\n{text.strip()}\n```"),
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
