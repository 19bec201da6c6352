"""Spans of stages and calls, with OpenTelemetry's names."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from model_server import HttpError, Reply
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from flyteplugins_codegen.errors import ProviderError
from flyteplugins_codegen.telemetry import stage

RIGHT = {"description": "counts", "approach": "loop", "code": "print(1)"}


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter


async def test_a_call_within_a_stage_is_a_span_within_a_span(spans, serve, open_at, solution_request, provider):
    server = serve(Reply(RIGHT, input_tokens=12, output_tokens=3))
    with stage("write solution"):
        await open_at(server.url).complete(solution_request())
    call, around = spans.get_finished_spans()
    assert (call.name, around.name) == ("chat m", "write solution")
    assert call.parent.span_id == around.context.span_id
    assert dict(call.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": "m",
        "gen_ai.output.type": "json",
        "server.address": "127.0.0.1",
        "server.port": urlsplit(server.url).port,
        "gen_ai.response.model": "m",
        "gen_ai.response.finish_reasons": ("complete",),
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 3,
    }


async def test_a_call_that_failed_says_so_without_what_was_said(spans, serve, open_at, solution_request):
    with pytest.raises(ProviderError):
        await open_at(serve(HttpError(400, "a private word")).url).complete(solution_request())
    (call,) = spans.get_finished_spans()
    assert call.attributes["error.type"] == "ProviderError"
    assert "private" not in call.to_json()
