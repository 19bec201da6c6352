"""The public face, pinned: a name added or lost here is a decision, never an accident."""

from __future__ import annotations

import flyteplugins_codegen
from flyteplugins_codegen import errors

PUBLIC_NAMES = [
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
SETTINGS = [
    "model",
    "name",
    "system_prompt",
    "api_key",
    "api_base",
    "api",
    "stream",
    "max_concurrent_calls",
    "model_params",
    "base_packages",
    "resources",
    "image_config",
    "max_iterations",
    "candidates",
    "backend",
    "max_turns",
    "budget",
    "prices",
    "max_sample_rows",
    "privacy",
    "private_columns",
    "private_rows",
    "validation",
    "skip_tests",
    "min_test_strength",
    "reference",
    "sandbox_retries",
    "timeout_s",
    "env_vars",
    "secrets",
    "pod",
    "stage_settings",
    "cache",
    "sandbox",
    "record",
]


def test_the_public_names_are_these() -> None:
    assert sorted(flyteplugins_codegen.__all__) == PUBLIC_NAMES


def test_every_public_name_is_there_and_shown_by_dir() -> None:
    for name in PUBLIC_NAMES:
        assert callable(getattr(flyteplugins_codegen, name))
        assert name in dir(flyteplugins_codegen)


def test_the_errors_are_reached_through_the_package() -> None:
    assert issubclass(errors.ReplayMissError, errors.CodegenError)
    assert flyteplugins_codegen.errors is errors


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(flyteplugins_codegen, "NoSuchName")


def test_the_settings_of_an_agent_are_these() -> None:
    assert list(flyteplugins_codegen.AutoCoderAgent.model_fields) == SETTINGS
