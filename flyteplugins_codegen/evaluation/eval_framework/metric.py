"""eval-framework's metric, pass@k of the completions of one problem, with its values and contexts field by field."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SerializeAsAny
from typing_extensions import Self

from flyteplugins_codegen.errors import CodegenError, DecodingError, RequestError
from flyteplugins_codegen.evaluation.eval_framework.callables import CallableSerializer
from flyteplugins_codegen.evaluation.eval_framework.execution import Testing, execute_all
from flyteplugins_codegen.evaluation.eval_framework.snippets import ExecutionResult
from flyteplugins_codegen.evaluation.statistics import estimate_pass_at_k
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.text import shorten_middle

_MAX_TRACE_CHARS: Final = 20_000

# --- values ---


class Error(Value):
    """Why there is no value. `error_class` is the exception's name without its module."""

    error_class: str
    message: str
    traceback: str = ""


class ConcatCompression(NamedTuple):
    """The length of a prompt together with its completion."""

    num_bytes: int
    num_tokens: int


class BaseMetricContext(BaseModel):
    """What a metric needs beside the completion; contexts may have fields of their own."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Completion(Value):
    """A model's answer to one sample of a benchmark; `completion` is judged, `messages` are kept unchanged.

    A completion with an `error` has no answer to judge.
    """

    id: int
    subject: str = ""
    ground_truth: str | list[str] | None = None
    prompt: str
    prompt_sequence_positions: int | None = None
    concat_compression: ConcatCompression | None = None
    messages: list[dict[str, JsonValue]] | None = None
    completion: str
    raw_completion: str = ""
    raw_completion_sequence_positions: int | None = None
    context: list[SerializeAsAny[BaseMetricContext]] | SerializeAsAny[BaseMetricContext] | None = None
    error: Error | None = None

    @property
    def ground_truth_list(self) -> list[str] | list[None]:
        """The correct answers as a list; `[None]` if none is known."""
        if self.ground_truth is None:
            return [None]
        return self.ground_truth if isinstance(self.ground_truth, list) else [self.ground_truth]


class MetricResult(Value):
    """One measured value. `value` is None if nothing could be measured; then `error` says why."""

    metric_name: str
    value: float | None
    higher_is_better: bool
    llm_judge_prompt: str | None = None
    llm_judge_response: str | None = None
    code_execution_trace: str | None = None
    error: Error | None = None


# --- contexts ---

ContextT = TypeVar("ContextT", bound=BaseMetricContext)


class CodeExecutionBaseContext(BaseMetricContext):
    """How a completion is tested, apart from the functions that subclasses have."""

    run_env: str = Field(description="the image that the tests run in; see `execute_python_code_with_tests`")
    code_prompt: str = Field(description="what the model was asked to complete")
    test_code: str = Field(description="the tests")
    benchmark_timeout: int = Field(default=60, description="wall seconds for one run of all the tests")
    package_downloads: dict[str, str | None] = Field(description="import name to requirement on the package index")


class CodeExecutionPassAtOneContext(CodeExecutionBaseContext):
    """A context with its functions as text: it can be written to a file and read again."""

    snippet_merge_fn: str = Field(description="makes one program out of solution and tests, as text")
    output_parse_fn: str = Field(description="reads what the run gave, as text")


class RealtimeCodeExecutionContext(CodeExecutionBaseContext):
    """A context with its functions as Python functions."""

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
    """The response's context of this kind; one that was read from JSON is recognised by its fields.

    Raises RequestError if it has none.
    """
    contexts = response.context if isinstance(response.context, list) else [response.context]
    for context in contexts:
        if isinstance(context, kind):
            return context
    plain = [context for context in contexts if type(context) is BaseMetricContext]
    if not plain:
        raise RequestError(f"response {response.id} has no {kind.__name__}; give it as its context")
    try:
        return kind.model_validate(plain[0].model_dump())
    except ValueError as error:
        raise RequestError(f"the context of response {response.id} is no {kind.__name__}: {error}") from error


# --- the metric ---


@dataclass(frozen=True, slots=True)
class CodeExecutionPassAtOne:
    """pass@k of one problem: `k=1` is eval-framework's `code-execution-pass@1`.

    With `fail_on_error`, a failure of the machine is raised, not recorded. Raises RequestError for k < 1.
    """

    NAME: ClassVar[str] = "code-execution-pass@1"

    k: int = 1
    serializer: CallableSerializer = field(default_factory=CallableSerializer)
    fail_on_error: bool = False

    def __post_init__(self) -> None:
        if self.k < 1:
            raise RequestError(f"pass@k is asked for k={self.k}; k counts samples, give 1 or more")

    @property
    def name(self) -> str:
        """The name of its results: `code-execution-pass@1`, `code-execution-pass@10`."""
        return f"code-execution-pass@{self.k}"

    def calculate(self, response: Completion | Sequence[Completion]) -> list[MetricResult]:
        """One result, for one completion or for several completions of the same problem.

        A completion that has an error, or that the machine failed to judge, is not counted, and the result has its
        error. If fewer than k completions are counted, the value is None.

        Raises:
            RequestError: there is no completion, one has no context for code execution, or their contexts differ.
            DecodingError: a function of the context cannot be read.
            CodegenError: a failure of the machine, with `fail_on_error`.
        """
        responses = [response] if isinstance(response, Completion) else list(response)
        answered = [completion for completion in responses if completion.error is None]
        if not responses:
            raise RequestError(f"{self.name} is asked of no completion; give one or more of the same problem")
        errors = [completion.error for completion in responses if completion.error is not None]
        if not answered:
            return [self._result(None, errors)]
        judged = self._judge(answered)
        failures = [result for result in judged if isinstance(result, CodegenError)]
        if failures and self.fail_on_error:
            raise failures[0]
        errors += map(_as_error, failures)
        return [self._counted([result for result in judged if isinstance(result, ExecutionResult)], errors)]

    def _judge(self, answered: Sequence[Completion]) -> Sequence[ExecutionResult | CodegenError]:
        contexts = [extract_context(completion, CodeExecutionPassAtOneContext) for completion in answered]
        context = contexts[0]
        if any(other != context for other in contexts):
            raise RequestError(f"the {len(answered)} completions have different contexts; give those of one problem")
        realtime = RealtimeCodeExecutionContext.from_context(context, self.serializer)
        testing = Testing(
            test_code=realtime.test_code,
            package_mapping=realtime.package_downloads,
            merge_code_fn=realtime.snippet_merge_fn,
            parse_output_fn=realtime.output_parse_fn,
            image=realtime.run_env,
            timeout=realtime.benchmark_timeout,
        )
        try:
            return execute_all([completion.completion for completion in answered], testing)
        except DecodingError:
            raise
        except CodegenError as error:
            return [error] * len(answered)

    def _counted(self, judged: Sequence[ExecutionResult], errors: Sequence[Error]) -> MetricResult:
        if len(judged) < self.k and not errors:
            message = f"{len(judged)} completions are too few for pass@{self.k}; give {self.k} or more"
            errors = [Error(error_class="RequestError", message=message)]
        passed = sum(result.success for result in judged)
        value = estimate_pass_at_k(len(judged), passed, self.k) if len(judged) >= self.k else None
        return self._result(value, errors, _trace(judged))

    def _result(self, value: float | None, errors: Sequence[Error], trace: str | None = None) -> MetricResult:
        return MetricResult(
            metric_name=self.name,
            value=value,
            higher_is_better=True,
            code_execution_trace=trace,
            error=errors[0] if errors else None,
        )


def _as_error(error: CodegenError) -> Error:
    formatted = "".join(traceback.format_exception(error))
    return Error(error_class=type(error).__name__, message=str(error), traceback=formatted)


def _trace(judged: Sequence[ExecutionResult]) -> str | None:
    if not judged:
        return None
    outputs = [result.output for result in judged]
    if len(outputs) == 1:
        return outputs[0]
    trace = "\n\n".join(f"completion {number}:\n{output}" for number, output in enumerate(outputs, 1))
    return shorten_middle(trace, _MAX_TRACE_CHARS)
