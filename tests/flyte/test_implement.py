"""`implement_task`: by `pyflyte run` in a process of its own, and in a workflow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from flytekit import task, workflow
from model_server import ModelServer

from flyteplugins_codegen import implement_task
from flyteplugins_codegen.errors import SettingsError

ROOT = Path(__file__).parents[2]
DEFINITION = 'def triple(x):\n    """Three times x.\n\n    >>> triple(2)\n    6\n    """\n'
SCRIPT = {
    "AssertionsReply": [{"assertions": ["assert triple(2) == 6", "assert triple(0) == 0"]}],
    "FunctionReply": [{"code": "def triple(x):\n    return x * 2"}, {"code": "def triple(x):\n    return x * 3"}],
}


def cascade(server: ModelServer) -> list[dict[str, Any]]:
    return [{"model": model, "base_url": server.url} for model in ("openai/gpt-6-luna", "openai/gpt-6.1-sol")]


@task
def lines_of(code: str) -> int:
    return len(code.splitlines())


@workflow
def implement_then_count(definition: str, configs: list[dict], assertions: str) -> tuple[str, int]:
    code, _, _ = implement_task(definition=definition, configs=configs, assertions=assertions)
    return code, lines_of(code=code)


def test_pyflyte_runs_it_and_the_same_run_again_asks_nobody(pyflyte: Any) -> None:
    with ModelServer(SCRIPT) as server:
        arguments = ("--definition", DEFINITION, "--configs", json.dumps(cascade(server)), "--max_cost_usd", "1")
        runs = [
            pyflyte.run("run", str(ROOT / "workflows" / "implement.py"), "implement_task", *arguments) for _ in "ab"
        ]
        assert [run.returncode for run in runs] == [0, 0], runs[0].stdout + runs[0].stderr
        assert len(server.calls) == 3
    assert all("return x * 3" in run.stdout for run in runs)


def test_it_composes_into_a_workflow() -> None:
    with ModelServer(SCRIPT) as server:
        code, lines = implement_then_count(
            definition=DEFINITION, configs=cascade(server), assertions="assert triple(4) == 12"
        )
        assert [call.name for call in server.calls] == ["FunctionReply", "FunctionReply"]
    assert (code, lines) == ("def triple(x):\n    return x * 3\n", 2)


def test_a_key_is_never_an_input() -> None:
    with pytest.raises(SettingsError, match=r"configuration 2 holds api_key.*api_key_env") as raised:
        implement_task(definition=DEFINITION, configs=[{"model": "gpt-6"}, {"model": "gpt-6", "api_key": "sk-secret"}])
    assert "sk-secret" not in str(raised.value)
