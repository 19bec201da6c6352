"""`PassAssertionFilter` of AutoGen 0.2 and FLAML: whether any response of a model passes the assertions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.llm.prices import add_costs
from flyteplugins_codegen.llm.protocol import ModelReply
from flyteplugins_codegen.source.content import content_str
from flyteplugins_codegen.syncing import BothWays
from flyteplugins_codegen.toolkit.completions import Assertions, eval_function_completions


class PassAssertionFilter:
    """Judges responses by assertions, which are made at the first that is judged where `assertions` makes them.

    `metrics` is what `eval_function_completions` found of the last response, and `responses` its texts, both None
    before the first; `cost` is what making the assertions took, in USD, None where a price is unknown.
    """

    def __init__(self, assertions: Assertions, *, timeout: float | None = 3, use_docker: Any = None) -> None:
        self._assertions = assertions
        self._options = {"timeout": timeout, "use_docker": use_docker}
        self.cost: float | None = 0.0
        self.metrics: dict[str, Any] | None = None
        self.responses: list[str] | None = None

    @BothWays
    async def pass_assertions(self, /, context: Mapping[str, Any], response: Any, **_: Any) -> bool:
        """Whether one of the response's texts passes all assertions; also `await ....pass_assertions.aio(...)`.

        `context` holds the `definition`. `response` is OpenAI's, for chats or for completions, as an object or a dict;
        or a text, or a list of texts. Other keywords are ignored, as AutoGen's are.

        Raises as `eval_function_completions`, and RequestError for a response without texts.
        """
        definition = _field(context, "definition")
        if definition is None:
            raise RequestError("the context holds no definition; pass {'definition': 'def add(a, b): ...'}")
        texts = response_texts(response)
        metrics = await eval_function_completions.aio(texts, definition, assertions=self._assertions, **self._options)
        if callable(self._assertions) and metrics["assertions"] is not None:
            made = metrics["assertions"]
            self._assertions = lambda _: (made, 0.0)  # also where it is empty, so that it is paid for once
        self.cost = add_costs(self.cost, metrics["gen_cost"])
        self.metrics, self.responses = metrics, texts
        return bool(metrics["succeed_assertions"])


def response_texts(response: Any) -> list[str]:
    """The texts of a model's response: one, a list of them, or the choices of OpenAI's response.

    Raises ArgumentTypeError for anything else.
    """
    if isinstance(response, str):
        return [response]
    if isinstance(response, ModelReply):
        return [response.text]
    choices = _field(response, "choices")
    if choices is None and isinstance(response, Sequence) and all(isinstance(text, str) for text in response):
        return list(response)
    if not isinstance(choices, Sequence):
        raise ArgumentTypeError(f"the response is {type(response).__name__}; pass OpenAI's response, or its texts")
    return [_choice_text(choice) for choice in choices]


def _choice_text(choice: Any) -> str:
    text = _field(choice, "text")
    return text if isinstance(text, str) else content_str(_field(_field(choice, "message"), "content"))


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
