"""A provider of another distribution; the limit of concurrent calls; a server's capabilities are tried only once."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest
from model_server import ModelServer

from flyteplugins_codegen.errors import SettingsError, UnknownModelError
from flyteplugins_codegen.llm.concurrency import ConcurrencyLimit
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.models.settings import Settings

RIGHT = {"description": "counts", "approach": "loop", "code": "print(1)"}
MODULE = """
from flyteplugins_codegen.llm.endpoint import ProviderAddress
from flyteplugins_codegen.llm.openai import ChatCompletions
from flyteplugins_codegen.llm.registry import Provider

PROVIDER = Provider(
    ProviderAddress(provider="acme", default="{url}", base_variable="ACME_URL", key_variable="ACME_KEY"),
    lambda settings: (ChatCompletions(),),
)
"""


def install(folder: Path, module: str) -> None:
    """Write the files into the folder that an installer writes for a distribution."""
    folder.joinpath("acme_models.py").write_text(module)
    metadata = folder / "acme_models-1.0.dist-info"
    metadata.mkdir()
    metadata.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: acme-models\nVersion: 1.0\n")
    declared = "[flyteplugins_codegen.providers]\nacme = acme_models:PROVIDER [client]\n"
    metadata.joinpath("entry_points.txt").write_text(declared)


async def test_a_provider_of_another_distribution_is_asked(tmp_path, monkeypatch, solution_request):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("ACME_KEY", "sk-acme")
    with pytest.raises(UnknownModelError):
        open_model(Settings(model="acme/large"))
    with ModelServer({"SolutionReply": [RIGHT]}) as server:
        install(tmp_path, MODULE.format(url=server.url))
        model = open_model(Settings(model="acme/large"))
        await model.complete(solution_request())
        assert model.name == "acme/large"
        assert server.calls[0].headers["authorization"] == "Bearer sk-acme"
        assert server.calls[0].body["model"] == "large"


def test_a_provider_whose_extra_is_missing_names_the_command(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "acme_models", raising=False)
    install(tmp_path, "import acme_client_that_is_not_there")
    with pytest.raises(SettingsError, match=r"acme_client_that_is_not_there.*pip install 'acme-models\[client\]'"):
        open_model(Settings(model="acme/large"))


async def test_a_rejected_format_is_not_sent_again_by_the_next_stage(solution_request):
    with ModelServer({"SolutionReply": [RIGHT] * 2}, rejects=("json_schema",)) as server:
        for question in ("one", "two"):
            await open_model(Settings(model="m", api_base=server.url)).complete(solution_request(question))
        assert len(server.calls) == 3


def test_threads_with_loops_of_their_own_share_a_gate():
    limit, inside, most = ConcurrencyLimit(2), [0], [0]
    lock = threading.Lock()

    async def enter() -> None:
        async with limit:
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            await asyncio.sleep(0.01)
            with lock:
                inside[0] -= 1

    async def several() -> None:
        await asyncio.gather(*(enter() for _ in range(5)))

    threads = [threading.Thread(target=lambda: asyncio.run(several())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert (inside, most) == ([0], [2])


async def test_who_is_cancelled_at_the_gate_leaves_it_open():
    limit = ConcurrencyLimit(1)
    async with limit:
        waiting = asyncio.create_task(limit.__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    started = time.monotonic()
    async with limit:
        assert time.monotonic() - started < 1
