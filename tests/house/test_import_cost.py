"""What `import flyteplugins_codegen` loads: nothing heavy until a name that needs it is used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = (
    "flytekit",
    "pandas",
    "pandera",
    "pyarrow",
    "openai",
    "anthropic",
    "rich",
    "duckdb",
    "numpy",
    "markdown_it",
    "uv",
)


def loaded_after(statement: str) -> set[str]:
    """The heavy libraries that a fresh interpreter has loaded after the statement."""
    program = f"{statement}\nimport json, sys\nprint(json.dumps([n for n in {HEAVY!r} if n in sys.modules]))"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert finished.returncode == 0, finished.stderr
    return set(json.loads(finished.stdout))


@pytest.mark.parametrize(
    "statement",
    [
        "import flyteplugins_codegen",
        "from flyteplugins_codegen import AutoCoderAgent",
        "from flyteplugins_codegen import AutoCoderAgent; AutoCoderAgent(model='openai/gpt-4.1')",
        "from flyteplugins_codegen import CodePlan, CodeSolution, ImageConfig, errors",
        "from flyteplugins_codegen import generate_assertions, generate_code, improve_code, improve_function",
        "from flyteplugins_codegen import content_str, extract_code; extract_code(content_str('```\\nx = 1\\n```'))",
        "from flyteplugins_codegen import CommandLineExecutor, execute_code; execute_code('x = 1')",
    ],
)
def test_nothing_heavy_is_loaded_by(statement: str) -> None:
    assert loaded_after(statement) == set()


def test_the_pure_functions_load_not_even_pydantic() -> None:
    program = "from flyteplugins_codegen import extract_code; extract_code('x = 1'); import sys; print(*sys.modules)"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert "pydantic" not in finished.stdout.split()


def test_a_result_loads_flytekit_but_no_model_sdk() -> None:
    loaded = loaded_after("from flyteplugins_codegen import CodeGenEvalResult")
    assert not loaded & {"openai", "anthropic", "pandera", "duckdb"}


def test_flytekit_finds_nothing_heavy_of_ours_in_its_plugins() -> None:
    # flytekit imports whatever its entry points name: everybody who has this package installed would pay for it.
    loaded = loaded_after("import flytekit")
    assert loaded_after("import flytekit, flyteplugins_codegen") == loaded
    assert not loaded & {"openai", "anthropic", "pandera", "duckdb"}
