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
    """A cache of the test's own, but for environments, which are slow to make."""
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
    """Has an agent of a server do the job; what is no setting is an argument of `generate`."""

    def generate(server: ModelServer, provider: str = "openai", **given: Any) -> CodeGenEvalResult:
        settings = {name: given.pop(name) for name in tuple(given) if name in AutoCoderAgent.model_fields}
        agent = AutoCoderAgent(**{"model": f"{provider}/m", "api_base": server.url, "backend": "agent", **settings})
        return agent.generate(PROMPT, **{"samples": {"table": table}, "outputs": OUTPUTS, **given})

    return generate


@pytest.fixture
def work(ask: Callable[..., CodeGenEvalResult]) -> Callable[..., tuple[CodeGenEvalResult, ModelServer]]:
    """Has an agent work by a script of turns; the result, and the server, which is closed by then."""

    def run(*turns: Any, rejects: tuple[str, ...] = (), **given: Any) -> tuple[CodeGenEvalResult, ModelServer]:
        with ModelServer({"tools": turns, "AgentAction": turns}, rejects=rejects) as server:
            return ask(server, **given), server

    return run
