"""The contexts of code execution: how a completion is tested, its functions as text or as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pydantic import Field
from typing_extensions import Self

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.metric.callables import CallableSerializer
from flyteplugins_codegen.evaluation.metric.completion import BaseMetricContext, Completion
from flyteplugins_codegen.evaluation.metric.snippets import ExecutionResult

ContextT = TypeVar("ContextT", bound=BaseMetricContext)


class CodeExecutionBaseContext(BaseMetricContext):
    """What every way of executing code needs."""

    run_env: str = Field(description="the image that the tests run in; see `execute_python_code_with_tests`")
    code_prompt: str = Field(description="what the model was asked to complete")
    test_code: str = Field(description="the tests")
    benchmark_timeout: int = Field(default=60, description="wall seconds for one run of all the tests")
    package_downloads: dict[str, str | None] = Field(description="import name to requirement on the package index")


class CodeExecutionPassAtOneContext(CodeExecutionBaseContext):
    """With its functions as text: this one can be written to a file, and read again."""

    snippet_merge_fn: str = Field(description="makes one program out of solution and tests, as text")
    output_parse_fn: str = Field(description="reads what the run gave, as text")


class RealtimeCodeExecutionContext(CodeExecutionBaseContext):
    """With its functions as functions."""

    snippet_merge_fn: Callable[[str, str], str] = Field(description="makes one program out of solution and tests")
    output_parse_fn: Callable[[str], ExecutionResult] = Field(description="reads what the run gave")

    @classmethod
    def from_context(cls, context: CodeExecutionPassAtOneContext, serializer: CallableSerializer | None = None) -> Self:
        """The same context with its functions read. Raises DecodingError as `CallableSerializer.decode` does."""
        reader = serializer or CallableSerializer()
        fields = context.model_dump(exclude={"snippet_merge_fn", "output_parse_fn"})
        return cls(
            **fields,
            snippet_merge_fn=reader.decode(context.snippet_merge_fn),
            output_parse_fn=reader.decode(context.output_parse_fn),
        )


RealtimeCodeExectionContext = RealtimeCodeExecutionContext
"""eval-framework's spelling of the name."""


def extract_context(response: Completion, kind: type[ContextT]) -> ContextT:
    """The response's context of this kind; one that was read from JSON is told by its fields.

    Raises RequestError where it has none.
    """
    given = response.context if isinstance(response.context, list) else [response.context]
    for context in given:
        if isinstance(context, kind):
            return context
    plain = [context for context in given if type(context) is BaseMetricContext]
    if not plain:
        raise RequestError(f"response {response.id} has no {kind.__name__}; give it as its context")
    try:
        return kind.model_validate(plain[0].model_dump())
    except ValueError as error:
        raise RequestError(f"the context of response {response.id} is no {kind.__name__}: {error}") from error
