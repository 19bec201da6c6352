"""A key is sent to its server only, and never shown."""

from __future__ import annotations

import logging
import traceback

import pytest
from model_server import HttpError, ModelServer, RawBody

from flyteplugins_codegen.errors import ProviderError
from flyteplugins_codegen.llm.ask import ask
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.llm.replies import SolutionReply
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.store import ContentStore

SECRET = "sk-never-shown-0123456789"
RIGHT = {"description": "counts", "approach": "loop", "code": "print(1)"}


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_key_is_in_no_file_log_or_repr(provider, tmp_path, monkeypatch, caplog, solution_request):
    monkeypatch.setenv("THE_KEY", SECRET)
    caplog.set_level(logging.DEBUG)
    with ModelServer({"SolutionReply": ["broken", RIGHT]}) as server:
        settings = Settings(
            model=f"{provider}/m", api_base=server.url, api_key="THE_KEY", record=str(tmp_path / "record.jsonl")
        )
        model = open_model(settings, store=ContentStore(tmp_path / "store"))
        answer = await ask(model, solution_request(), SolutionReply)
        assert server.calls[0].headers["authorization"] == f"Bearer {SECRET}"
    written = [file.read_text() for file in tmp_path.rglob("*") if file.is_file()]
    assert len(written) == 3
    for text in (*written, caplog.text, repr(model), repr(answer), settings.model_dump_json()):
        assert SECRET not in text


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize(
    "fault",
    [
        HttpError(401, f"Incorrect API key provided: {SECRET}"),
        HttpError(400, body=f"you sent {SECRET}"),
        RawBody(f"<html>{SECRET}</html>"),
    ],
    ids=["401", "400", "html"],
)
async def test_a_key_that_the_server_quotes_is_in_no_error(provider, fault, monkeypatch, solution_request):
    monkeypatch.setenv("THE_KEY", SECRET)
    with ModelServer({"SolutionReply": [fault]}) as server:
        model = open_model(Settings(model=f"{provider}/m", api_base=server.url, api_key="THE_KEY"))
        with pytest.raises(ProviderError) as failure:
            await model.complete(solution_request())
    shown = "".join(traceback.format_exception(failure.value))
    assert "[key]" in str(failure.value)
    assert SECRET not in shown
    assert failure.value.__context__ is None
