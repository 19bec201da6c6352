"""Problems, samples, and what becomes of them: judged in isolation, counted, pass@k with its uncertainty."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flyteplugins_codegen.evaluation.evaluating import evaluate
    from flyteplugins_codegen.evaluation.evaluation import Evaluation
    from flyteplugins_codegen.evaluation.metric.callables import CallableSerializer
    from flyteplugins_codegen.evaluation.metric.completion import (
        BaseMetricContext,
        Completion,
        Error,
        MetricResult,
    )
    from flyteplugins_codegen.evaluation.metric.contexts import (
        CodeExecutionBaseContext,
        CodeExecutionPassAtOneContext,
        RealtimeCodeExectionContext,
        RealtimeCodeExecutionContext,
    )
    from flyteplugins_codegen.evaluation.metric.execution import execute_python_code_with_tests
    from flyteplugins_codegen.evaluation.metric.pass_at_one import CodeExecutionPassAtOne
    from flyteplugins_codegen.evaluation.metric.snippets import (
        ExecutionResult,
        parse_unittest_output,
        unittest_merge_snippets,
    )
    from flyteplugins_codegen.evaluation.pass_at_k import estimate_pass_at_k
    from flyteplugins_codegen.evaluation.problems.loading import load_problems
    from flyteplugins_codegen.evaluation.results.reading import read_evaluation
    from flyteplugins_codegen.evaluation.samples.loading import load_samples
    from flyteplugins_codegen.evaluation.values import Problem, Sample, SampleResult

__all__ = [
    "BaseMetricContext",
    "CallableSerializer",
    "CodeExecutionBaseContext",
    "CodeExecutionPassAtOne",
    "CodeExecutionPassAtOneContext",
    "Completion",
    "Error",
    "Evaluation",
    "ExecutionResult",
    "MetricResult",
    "Problem",
    "RealtimeCodeExectionContext",
    "RealtimeCodeExecutionContext",
    "Sample",
    "SampleResult",
    "estimate_pass_at_k",
    "evaluate",
    "execute_python_code_with_tests",
    "load_problems",
    "load_samples",
    "parse_unittest_output",
    "read_evaluation",
    "unittest_merge_snippets",
]

_MODULES = {
    "BaseMetricContext": "metric.completion",
    "CallableSerializer": "metric.callables",
    "CodeExecutionBaseContext": "metric.contexts",
    "CodeExecutionPassAtOne": "metric.pass_at_one",
    "CodeExecutionPassAtOneContext": "metric.contexts",
    "Completion": "metric.completion",
    "Error": "metric.completion",
    "Evaluation": "evaluation",
    "ExecutionResult": "metric.snippets",
    "MetricResult": "metric.completion",
    "Problem": "values",
    "RealtimeCodeExectionContext": "metric.contexts",
    "RealtimeCodeExecutionContext": "metric.contexts",
    "Sample": "values",
    "SampleResult": "values",
    "estimate_pass_at_k": "pass_at_k",
    "evaluate": "evaluating",
    "execute_python_code_with_tests": "metric.execution",
    "load_problems": "problems.loading",
    "load_samples": "samples.loading",
    "parse_unittest_output": "metric.snippets",
    "read_evaluation": "results.reading",
    "unittest_merge_snippets": "metric.snippets",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
