"""Problems, samples, and what becomes of them: judged in isolation, counted, pass@k with its uncertainty."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

__all__ = [
    "BaseMetricContext",
    "CallableSerializer",
    "CodeExecutionBaseContext",
    "CodeExecutionPassAtOne",
    "CodeExecutionPassAtOneContext",
    "Completion",
    "Error",
    "ExecutionResult",
    "MetricResult",
    "RealtimeCodeExectionContext",
    "RealtimeCodeExecutionContext",
    "estimate_pass_at_k",
    "execute_python_code_with_tests",
    "parse_unittest_output",
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
    "ExecutionResult": "metric.snippets",
    "MetricResult": "metric.completion",
    "RealtimeCodeExecutionContext": "metric.contexts",
    "RealtimeCodeExectionContext": "metric.contexts",
    "estimate_pass_at_k": "pass_at_k",
    "execute_python_code_with_tests": "metric.execution",
    "parse_unittest_output": "metric.snippets",
    "unittest_merge_snippets": "metric.snippets",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
