"""How many tokens a text takes, where no provider has counted them."""

from __future__ import annotations

from typing import Final

from flyteplugins_codegen.llm.protocol import ModelRequest
from flyteplugins_codegen.models.conversation import Usage

_CHARACTERS_A_TOKEN: Final = 4
_CALL_OVERHEAD_TOKENS: Final = 200  # the schema, and what providers put around messages


def estimated_input(request: ModelRequest) -> int:
    """The tokens of a question."""
    characters = sum(len(message.text) for message in request.messages)
    characters += sum(len(tool.model_dump_json()) for tool in request.tools)
    return characters // _CHARACTERS_A_TOKEN + _CALL_OVERHEAD_TOKENS


def usage_of_broken(told: Usage, said: str) -> Usage:
    """What a reply that broke off took: what its beginning told, and its output by what came of it."""
    return _estimated(told, output_tokens=max(0, len(said) // _CHARACTERS_A_TOKEN - told.output_tokens))


def with_input(usage: Usage, request: ModelRequest) -> Usage:
    """The usage with its input estimated, where nobody told that."""
    return usage if usage.input_tokens else _estimated(usage, input_tokens=estimated_input(request))


def _estimated(usage: Usage, **tokens: int) -> Usage:
    return usage + Usage(**tokens, estimated_tokens=sum(tokens.values()))
