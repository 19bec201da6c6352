"""eval-framework's metric: the share of completions that pass their tests, by pass@k."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from flyteplugins_codegen.errors import CodegenError, DecodingError, RequestError
from flyteplugins_codegen.evaluation.metric.callables import CallableSerializer
from flyteplugins_codegen.evaluation.metric.completion import Completion, Error, MetricResult
from flyteplugins_codegen.evaluation.metric.contexts import (
    CodeExecutionPassAtOneContext,
    RealtimeCodeExecutionContext,
    extract_context,
)
from flyteplugins_codegen.evaluation.metric.execution import Testing, execute_all
from flyteplugins_codegen.evaluation.metric.snippets import ExecutionResult
from flyteplugins_codegen.evaluation.pass_at_k import estimate_pass_at_k
from flyteplugins_codegen.sandbox.failure_text import shortened

_MAX_TRACE_CHARS: Final = 20_000


@dataclass(frozen=True, slots=True)
class CodeExecutionPassAtOne:
    """pass@k of one problem: `k=1` is eval-framework's `code-execution-pass@1`.

    `fail_on_error` raises what the machine failed at, instead of recording it. Raises RequestError for k < 1.
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
        """What its results are called: `code-execution-pass@1`, `code-execution-pass@10`."""
        return f"code-execution-pass@{self.k}"

    def calculate(self, response: Completion | Sequence[Completion]) -> list[MetricResult]:
        """One result: of one completion, or of several completions of the same problem.

        A completion that carries an error, or that the machine failed to judge, is no failure of the model's: it is
        not counted, and the result carries its error. Where fewer than k are left the value is None.

        Raises:
            RequestError: there is no completion, one has no context for code execution, or their contexts differ.
            DecodingError: a function of the context cannot be read.
            CodegenError: what the machine failed at, where `fail_on_error` says so.
        """
        responses = [response] if isinstance(response, Completion) else list(response)
        answered = [each for each in responses if each.error is None]
        if not responses:
            raise RequestError(f"{self.name} is asked of no completion; give one or more of the same problem")
        errors = [each.error for each in responses if each.error is not None]
        if not answered:
            return [self._result(None, errors)]
        judged = self._judge(answered)
        failures = [each for each in judged if isinstance(each, CodegenError)]
        if failures and self.fail_on_error:
            raise failures[0]
        errors += map(_as_error, failures)
        return [self._counted([each for each in judged if isinstance(each, ExecutionResult)], errors)]

    def _judge(self, answered: Sequence[Completion]) -> Sequence[ExecutionResult | CodegenError]:
        contexts = [extract_context(each, CodeExecutionPassAtOneContext) for each in answered]
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
            return execute_all([each.completion for each in answered], testing)
        except DecodingError:
            raise
        except CodegenError as error:
            return [error] * len(answered)

    def _counted(self, judged: Sequence[ExecutionResult], errors: Sequence[Error]) -> MetricResult:
        if len(judged) < self.k and not errors:
            message = f"{len(judged)} completions are too few for pass@{self.k}; give {self.k} or more"
            errors = [Error(error_class="RequestError", message=message)]
        passed = sum(each.success for each in judged)
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
    told = "".join(traceback.format_exception(error))
    return Error(error_class=type(error).__name__, message=str(error), traceback=told)


def _trace(judged: Sequence[ExecutionResult]) -> str | None:
    if not judged:
        return None
    outputs = [each.output for each in judged]
    if len(outputs) == 1:
        return outputs[0]
    told = "\n\n".join(f"completion {number}:\n{output}" for number, output in enumerate(outputs, 1))
    return shortened(told, _MAX_TRACE_CHARS)
