"""Describe a job, give sample data, get back tested code that runs as a reusable Flyte task."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from flyteplugins_codegen import moved

if TYPE_CHECKING:
    from flyteplugins_codegen.agent import AutoCoderAgent
    from flyteplugins_codegen.autogen.command_line import CommandLineCodeResult, CommandLineExecutor
    from flyteplugins_codegen.autogen.completions import PassAssertionFilter, eval_function_completions
    from flyteplugins_codegen.autogen.generate import generate_assertions, generate_code
    from flyteplugins_codegen.autogen.implement import implement
    from flyteplugins_codegen.autogen.improve import improve_code, improve_function
    from flyteplugins_codegen.autogen.model_config import ModelConfig
    from flyteplugins_codegen.autogen.run_code import execute_code, run_code
    from flyteplugins_codegen.autogen.virtual_env import create_virtual_env
    from flyteplugins_codegen.evaluation.eval_framework.metric import CodeExecutionPassAtOne
    from flyteplugins_codegen.evaluation.evaluation import Evaluation, read_evaluation
    from flyteplugins_codegen.evaluation.problems.load import load_problems
    from flyteplugins_codegen.evaluation.run import evaluate
    from flyteplugins_codegen.evaluation.samples import load_samples
    from flyteplugins_codegen.evaluation.values import Problem, Sample
    from flyteplugins_codegen.flyte.by_content import cached_by_content
    from flyteplugins_codegen.flyte.implement import implement_task
    from flyteplugins_codegen.models.job import CodePlan, CodeSolution
    from flyteplugins_codegen.models.settings import ImageConfig, PodSettings, Resources, SecretReference
    from flyteplugins_codegen.models.spending import Budget
    from flyteplugins_codegen.registered import find_solutions, load_solution
    from flyteplugins_codegen.result import CodeGenEvalResult
    from flyteplugins_codegen.solution.execute import ExecutionOptions
    from flyteplugins_codegen.solution.registration.launch_plans import LaunchPlanSettings
    from flyteplugins_codegen.solution.registration.record import Provenance, RegisteredSolution
    from flyteplugins_codegen.solution.task import SandboxTask
    from flyteplugins_codegen.source.extraction.blocks import content_str, extract_blocks, extract_code
    from flyteplugins_codegen.source.extraction.passage import CodeBlock
    from flyteplugins_codegen.source.languages.infer import infer_lang

__all__ = [
    "AutoCoderAgent",
    "Budget",
    "CodeBlock",
    "CodeExecutionPassAtOne",
    "CodeGenEvalResult",
    "CodePlan",
    "CodeSolution",
    "CommandLineCodeResult",
    "CommandLineExecutor",
    "Evaluation",
    "ExecutionOptions",
    "ImageConfig",
    "LaunchPlanSettings",
    "ModelConfig",
    "PassAssertionFilter",
    "PodSettings",
    "Problem",
    "Provenance",
    "RegisteredSolution",
    "Resources",
    "Sample",
    "SandboxTask",
    "SecretReference",
    "cached_by_content",
    "content_str",
    "create_virtual_env",
    "eval_function_completions",
    "evaluate",
    "execute_code",
    "extract_blocks",
    "extract_code",
    "find_solutions",
    "generate_assertions",
    "generate_code",
    "implement",
    "implement_task",
    "improve_code",
    "improve_function",
    "infer_lang",
    "load_problems",
    "load_samples",
    "load_solution",
    "read_evaluation",
    "run_code",
]

# Nothing heavy is imported until a name is used (PEP 562).
_MODULES = {
    "AutoCoderAgent": "agent",
    "Budget": "models.spending",
    "CodeBlock": "source.extraction.passage",
    "CodeExecutionPassAtOne": "evaluation.eval_framework.metric",
    "CodeGenEvalResult": "result",
    "CodePlan": "models.job",
    "CodeSolution": "models.job",
    "CommandLineCodeResult": "autogen.command_line",
    "CommandLineExecutor": "autogen.command_line",
    "Evaluation": "evaluation.evaluation",
    "ExecutionOptions": "solution.execute",
    "ImageConfig": "models.settings",
    "LaunchPlanSettings": "solution.registration.launch_plans",
    "ModelConfig": "autogen.model_config",
    "PassAssertionFilter": "autogen.completions",
    "PodSettings": "models.settings",
    "Problem": "evaluation.values",
    "Provenance": "solution.registration.record",
    "RegisteredSolution": "solution.registration.record",
    "Resources": "models.settings",
    "Sample": "evaluation.values",
    "SandboxTask": "solution.task",
    "SecretReference": "models.settings",
    "cached_by_content": "flyte.by_content",
    "content_str": "source.extraction.blocks",
    "create_virtual_env": "autogen.virtual_env",
    "eval_function_completions": "autogen.completions",
    "evaluate": "evaluation.run",
    "execute_code": "autogen.run_code",
    "extract_blocks": "source.extraction.blocks",
    "extract_code": "source.extraction.blocks",
    "find_solutions": "registered",
    "generate_assertions": "autogen.generate",
    "generate_code": "autogen.generate",
    "implement": "autogen.implement",
    "implement_task": "flyte.implement",
    "improve_code": "autogen.improve",
    "improve_function": "autogen.improve",
    "infer_lang": "source.languages.infer",
    "load_problems": "evaluation.problems.load",
    "load_samples": "evaluation.samples",
    "load_solution": "registered",
    "read_evaluation": "evaluation.evaluation",
    "run_code": "autogen.run_code",
}

moved.install()


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
