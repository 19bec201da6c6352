"""Describe a job, give sample data, get back tested code that runs as a reusable Flyte task."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flyteplugins_codegen.agent import AutoCoderAgent
    from flyteplugins_codegen.evaluation.evaluating import evaluate
    from flyteplugins_codegen.evaluation.evaluation import Evaluation
    from flyteplugins_codegen.evaluation.metric.pass_at_one import CodeExecutionPassAtOne
    from flyteplugins_codegen.evaluation.problems.loading import load_problems
    from flyteplugins_codegen.evaluation.results.reading import read_evaluation
    from flyteplugins_codegen.evaluation.samples.loading import load_samples
    from flyteplugins_codegen.evaluation.values import Problem, Sample
    from flyteplugins_codegen.flyte.implementing import implement_task
    from flyteplugins_codegen.flyte.registration.launch_plan import LaunchPlanSettings
    from flyteplugins_codegen.flyte.registration.solutions import find_solutions, load_solution
    from flyteplugins_codegen.flyte.registration.values import Provenance, RegisteredSolution
    from flyteplugins_codegen.models.budget import Budget
    from flyteplugins_codegen.models.candidate import CodePlan, CodeSolution
    from flyteplugins_codegen.models.settings import ImageConfig
    from flyteplugins_codegen.result import CodeGenEvalResult
    from flyteplugins_codegen.source.blocks import extract_blocks, extract_code
    from flyteplugins_codegen.source.code_block import CodeBlock
    from flyteplugins_codegen.source.content import content_str
    from flyteplugins_codegen.source.infer_lang import infer_lang
    from flyteplugins_codegen.toolkit.assertion_filter import PassAssertionFilter
    from flyteplugins_codegen.toolkit.command_line import CommandLineCodeResult, CommandLineExecutor
    from flyteplugins_codegen.toolkit.completions import eval_function_completions
    from flyteplugins_codegen.toolkit.execute_code import execute_code
    from flyteplugins_codegen.toolkit.generate_assertions import generate_assertions
    from flyteplugins_codegen.toolkit.generate_code import generate_code
    from flyteplugins_codegen.toolkit.implement import implement
    from flyteplugins_codegen.toolkit.improve_code import improve_code
    from flyteplugins_codegen.toolkit.improve_function import improve_function
    from flyteplugins_codegen.toolkit.model_config import ModelConfig
    from flyteplugins_codegen.toolkit.run_code import run_code
    from flyteplugins_codegen.toolkit.virtual_env import create_virtual_env

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
    "ImageConfig",
    "LaunchPlanSettings",
    "ModelConfig",
    "PassAssertionFilter",
    "Problem",
    "Provenance",
    "RegisteredSolution",
    "Sample",
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
_ROOMS = {
    "AutoCoderAgent": "agent",
    "Budget": "models.budget",
    "CodeBlock": "source.code_block",
    "CodeExecutionPassAtOne": "evaluation.metric.pass_at_one",
    "CodeGenEvalResult": "result",
    "CodePlan": "models.candidate",
    "CodeSolution": "models.candidate",
    "CommandLineCodeResult": "toolkit.command_line",
    "CommandLineExecutor": "toolkit.command_line",
    "Evaluation": "evaluation.evaluation",
    "ImageConfig": "models.settings",
    "LaunchPlanSettings": "flyte.registration.launch_plan",
    "ModelConfig": "toolkit.model_config",
    "PassAssertionFilter": "toolkit.assertion_filter",
    "Problem": "evaluation.values",
    "Provenance": "flyte.registration.values",
    "RegisteredSolution": "flyte.registration.values",
    "Sample": "evaluation.values",
    "content_str": "source.content",
    "create_virtual_env": "toolkit.virtual_env",
    "eval_function_completions": "toolkit.completions",
    "evaluate": "evaluation.evaluating",
    "execute_code": "toolkit.execute_code",
    "extract_blocks": "source.blocks",
    "extract_code": "source.blocks",
    "find_solutions": "flyte.registration.solutions",
    "generate_assertions": "toolkit.generate_assertions",
    "generate_code": "toolkit.generate_code",
    "implement": "toolkit.implement",
    "implement_task": "flyte.implementing",
    "improve_code": "toolkit.improve_code",
    "improve_function": "toolkit.improve_function",
    "infer_lang": "source.infer_lang",
    "load_problems": "evaluation.problems.loading",
    "load_samples": "evaluation.samples.loading",
    "load_solution": "flyte.registration.solutions",
    "read_evaluation": "evaluation.results.reading",
    "run_code": "toolkit.run_code",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
