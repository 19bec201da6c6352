"""Models with a loopback server, with retries after a few milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dialects import DIALECTS
from model_server import ModelServer
from pydantic import SecretStr

from flyteplugins_codegen.llm.ask import build_request
from flyteplugins_codegen.llm.endpoint import Endpoint
from flyteplugins_codegen.llm.http_model import HttpModel
from flyteplugins_codegen.llm.protocol import ModelRequest
from flyteplugins_codegen.llm.replies import SolutionReply
from flyteplugins_codegen.llm.retries import RetryPolicy
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import Message

SECRET = "sk-never-shown-0123456789"


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def open_at(provider: str) -> Callable[..., HttpModel]:
    """Opens the provider's model at an address."""

    def open_model(address: str, key: str = SECRET, variable: str = "THE_KEY") -> HttpModel:
        name, _, _ = provider.partition("-")
        endpoint = Endpoint(provider=name, model_id="m", address=address, key_variable=variable, key=SecretStr(key))
        return HttpModel(endpoint, DIALECTS[provider](), retries=RetryPolicy(first_delay_s=0.01))

    return open_model


@pytest.fixture
def serve() -> Any:
    """Starts a server with this script for `SolutionReply`; all are stopped at the end of the test."""
    running: list[ModelServer] = []

    def start(*items: Any, **options: Any) -> ModelServer:
        running.append(ModelServer({"SolutionReply": items}, **options).__enter__())
        return running[-1]

    yield start
    for server in running:
        server.__exit__(None, None, None)


@pytest.fixture
def solution_request() -> Callable[..., ModelRequest]:
    """Makes a request for a `SolutionReply`."""

    def make(question: str = "Count the rows.", **changes: Any) -> ModelRequest:
        messages = (Message(role="system", content="You write code."), Message(role="user", content=question))
        made = build_request("solution", messages, SolutionReply, Settings(model="openai/m"))
        return made.model_copy(update={"deadline_s": 10.0, **changes})

    return make
