"""A model with a loopback server, as the configuration that the functions take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from model_server import ModelServer, Scripted


class Scene:
    """Starts servers with a script, and returns the configuration for one; every test has its own replies."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.running: list[ModelServer] = []

    def serve(self, reply_name: str, *items: Scripted, **options: Any) -> ModelServer:
        """A server that answers requests for this reply with these items."""
        self.running.append(ModelServer({reply_name: items}, **options).__enter__())
        return self.running[-1]

    def config(self, server: ModelServer, **changes: Any) -> dict[str, Any]:
        """What leads to the server, as `**config`; a thousand tokens cost a dollar."""
        price = {"input_usd": 1000.0, "output_usd": 1000.0}
        return {"model": f"{self.provider}/m", "api_base": server.url, "price": price, **changes}


@pytest.fixture(params=["openai", "anthropic"])
def scene(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    monkeypatch.setenv("FLYTE_CODEGEN_CACHE", str(tmp_path_factory.mktemp("cache")))
    made = Scene(request.param)
    yield made
    for server in made.running:
        server.__exit__(None, None, None)


@pytest.fixture
def files(tmp_path: Any) -> Callable[..., list[Any]]:
    """Writes files by name and text, and returns their paths."""

    def write(**texts: str) -> list[Any]:
        paths = [tmp_path / f"{name}.py" for name in texts]
        for path, text in zip(paths, texts.values(), strict=True):
            path.write_text(text)
        return paths

    return write
