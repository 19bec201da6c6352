"""Every way in which a model is spoken to, by name: the provider, its protocol where it has two, plain or streamed."""

from __future__ import annotations

from collections.abc import Callable

from flyteplugins_codegen.llm.anthropic import Messages
from flyteplugins_codegen.llm.http_model import Dialect, StreamedDialect
from flyteplugins_codegen.llm.openai import ChatCompletions
from flyteplugins_codegen.llm.openai_responses import Responses

_PLAIN: dict[str, Callable[[], Dialect]] = {
    "openai": ChatCompletions,
    "openai-responses": Responses,
    "anthropic": Messages,
}


def _streamed(plain: Callable[[], Dialect]) -> Callable[[], Dialect]:
    return lambda: StreamedDialect(plain())


DIALECTS = {**_PLAIN, **{f"{name}-streamed": _streamed(plain) for name, plain in _PLAIN.items()}}
