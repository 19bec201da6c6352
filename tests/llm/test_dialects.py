"""Which of OpenAI's APIs is used, and how a server without one of them is handled."""

from __future__ import annotations

import json

import pytest
from model_server import ModelServer, RawBody

from flyteplugins_codegen.errors import ProviderError
from flyteplugins_codegen.llm.http_model import read_events
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.models.settings import Settings

RIGHT = {"description": "counts", "approach": "loop", "code": "print(1)"}


@pytest.mark.parametrize(
    ("settings", "rejects", "paths"),
    [
        ({}, (), ["chat/completions"]),
        ({}, ("chat",), ["chat/completions", "responses"]),
        ({"api": "responses"}, (), ["responses"]),
        ({"api": "responses"}, ("responses",), ["responses", "chat/completions"]),
        ({"stream": True}, ("stream",), ["chat/completions", "chat/completions"]),
    ],
)
async def test_what_a_server_lacks_is_replaced_once(solution_request, settings, rejects, paths):
    with ModelServer({"SolutionReply": [RIGHT, RIGHT]}, rejects=rejects) as server:
        model = open_model(Settings(model="m", api_base=server.url, **settings))
        for question in ("one", "two"):
            assert json.loads((await model.complete(solution_request(question))).text) == RIGHT
        assert [call.path.removeprefix("/v1/") for call in server.calls] == [*paths, paths[-1]]


async def test_responses_are_not_stored_and_parameters_have_their_own_names(solution_request):
    params = {"max_completion_tokens": 9, "reasoning_effort": "low", "verbosity": "low", "reasoning": {"summary": None}}
    with ModelServer({"SolutionReply": [RIGHT]}) as server:
        model = open_model(Settings(model="m", api_base=server.url, api="responses"))
        await model.complete(solution_request(params=params))
        body = server.calls[0].body
    assert body["store"] is False
    assert body["max_output_tokens"] == 9
    assert body["reasoning"] == {"summary": None, "effort": "low"}
    assert body["text"]["verbosity"] == "low"
    assert body["text"]["format"]["name"] == "SolutionReply"


def test_events_are_read_with_any_line_ends_comments_and_a_cut_at_the_end():
    text = ': hi\r\n\r\nevent: a\r\ndata: {"n":\r\ndata: 1}\r\n\r\ndata: [DONE]\n\ndata: {"n": 2}\n\ndata: {"n": '
    assert list(read_events(text)) == [{"n": 1}, {"n": 2}]


def error_events(provider: str, kind: str) -> str:
    """A stream that begins like a reply and ends with an error of this kind."""
    begun = {"type": "message_start", "message": {"usage": {"input_tokens": 3}}}
    if provider == "openai":
        begun = {"choices": [{"delta": {"content": "{"}}]}
    error = {"type": "error", "error": {"type": kind, "message": f"no luck: {kind}"}}
    return "".join(f"data: {json.dumps(event)}\n\n" for event in (begun, error))


@pytest.mark.parametrize(
    ("provider", "kind", "calls"),
    [
        ("anthropic", "overloaded_error", 2),
        ("anthropic", "api_error", 2),
        ("anthropic", "rate_limit_error", 2),
        ("anthropic", "timeout_error", 2),
        ("anthropic", "invalid_request_error", 1),
        ("anthropic", "authentication_error", 1),
        ("openai", "server_error", 2),
        ("openai", "invalid_request_error", 1),
    ],
)
async def test_of_errors_within_a_stream_those_are_tried_again_that_may_pass(
    serve, solution_request, monkeypatch, provider, kind, calls
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    server = serve(RawBody(error_events(provider, kind), content_type="text/event-stream"), RIGHT)
    model = open_model(Settings(model=f"{provider}/m", api_base=server.url, stream=True))
    if calls == 1:
        with pytest.raises(ProviderError, match=f"no luck: {kind}"):
            await model.complete(solution_request(deadline_s=60.0))
    else:
        assert json.loads((await model.complete(solution_request(deadline_s=60.0))).text) == RIGHT
    assert len(server.calls) == calls
