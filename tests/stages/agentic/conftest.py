"""A scripted agent behind a loopback server."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer
from row_count_job import OUTPUTS

from flyteplugins_codegen import AutoCoderAgent, CodeGenEvalResult

PROMPT = "Count the rows of the table."


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache for this test only, with the shared environments, which are slow to build."""
    shared, own = Path(os.environ["FLYTE_CODEGEN_CACHE"]), tmp_path / "cache"
    own.mkdir()
    for folder in ("layers", "environments", "locks", "uv"):
        (shared / folder).mkdir(exist_ok=True)
        (own / folder).symlink_to(shared / folder)
    monkeypatch.setenv("FLYTE_CODEGEN_CACHE", str(own))
    return own


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n3,4\n5,6\n")
    return path


@pytest.fixture
def ask(table: Path) -> Callable[..., CodeGenEvalResult]:
    """Run an agent of a server on the job; keywords that are no settings are arguments of `generate`."""

    def generate(server: ModelServer, provider: str = "openai", **arguments: Any) -> CodeGenEvalResult:
        settings = {name: arguments.pop(name) for name in tuple(arguments) if name in AutoCoderAgent.model_fields}
        agent = AutoCoderAgent(**{"model": f"{provider}/m", "api_base": server.url, "backend": "agent", **settings})
        return agent.generate(PROMPT, **{"samples": {"table": table}, "outputs": OUTPUTS, **arguments})

    return generate


@pytest.fixture
def work(ask: Callable[..., CodeGenEvalResult]) -> Callable[..., tuple[CodeGenEvalResult, ModelServer]]:
    """Run an agent by a script of turns; return the result, and the closed server."""

    def run(*turns: Any, rejects: tuple[str, ...] = (), **arguments: Any) -> tuple[CodeGenEvalResult, ModelServer]:
        with ModelServer({"tools": turns, "AgentAction": turns}, rejects=rejects) as server:
            return ask(server, **arguments), server

    return run
