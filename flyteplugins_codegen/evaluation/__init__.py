"""Judges samples of solutions by the tests of their problems, each in isolation, and scores them by pass@k."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flyteplugins_codegen.evaluation.eval_framework.callables import CallableSerializer
    from flyteplugins_codegen.evaluation.eval_framework.execution import execute_python_code_with_tests
    from flyteplugins_codegen.evaluation.eval_framework.metric import (
        BaseMetricContext,
        CodeExecutionBaseContext,
        CodeExecutionPassAtOne,
        CodeExecutionPassAtOneContext,
        Completion,
        Error,
        MetricResult,
        RealtimeCodeExectionContext,
        RealtimeCodeExecutionContext,
    )
    from flyteplugins_codegen.evaluation.eval_framework.snippets import (
        ExecutionResult,
        parse_unittest_output,
        unittest_merge_snippets,
    )
    from flyteplugins_codegen.evaluation.evaluation import Evaluation, read_evaluation
    from flyteplugins_codegen.evaluation.problems.load import load_problems
    from flyteplugins_codegen.evaluation.run import evaluate
    from flyteplugins_codegen.evaluation.samples import load_samples
    from flyteplugins_codegen.evaluation.statistics import estimate_pass_at_k
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
    "BaseMetricContext": "eval_framework.metric",
    "CallableSerializer": "eval_framework.callables",
    "CodeExecutionBaseContext": "eval_framework.metric",
    "CodeExecutionPassAtOne": "eval_framework.metric",
    "CodeExecutionPassAtOneContext": "eval_framework.metric",
    "Completion": "eval_framework.metric",
    "Error": "eval_framework.metric",
    "Evaluation": "evaluation",
    "ExecutionResult": "eval_framework.snippets",
    "MetricResult": "eval_framework.metric",
    "Problem": "values",
    "RealtimeCodeExectionContext": "eval_framework.metric",
    "RealtimeCodeExecutionContext": "eval_framework.metric",
    "Sample": "values",
    "SampleResult": "values",
    "estimate_pass_at_k": "statistics",
    "evaluate": "run",
    "execute_python_code_with_tests": "eval_framework.execution",
    "load_problems": "problems.load",
    "load_samples": "samples",
    "parse_unittest_output": "eval_framework.snippets",
    "read_evaluation": "evaluation",
    "unittest_merge_snippets": "eval_framework.snippets",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
