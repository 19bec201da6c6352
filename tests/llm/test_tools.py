"""Calls of tools, in every dialect, and with servers that support none."""

from __future__ import annotations

import json

import pytest
from dialects import DIALECTS
from model_server import HttpError, ModelServer, Reply

from flyteplugins_codegen.llm.http_model import StreamedDialect
from flyteplugins_codegen.llm.json_reply import with_tool_calls
from flyteplugins_codegen.llm.openai import ChatCompletions
from flyteplugins_codegen.llm.protocol import ModelReply
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.llm.replay import CachedModel, RecordingModel, ReplayModel
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import Message, Tool, ToolCall, ToolResult
from flyteplugins_codegen.store import ContentStore

TOOLS = (
    Tool(
        name="read",
        description="Read a file.",
        parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    ),
    Tool(name="list", description="List the files.", parameters={"type": "object", "properties": {}}),
)
LONG = {"path": "a name, long enough to come in pieces: ä€𝄞"}
TWO = Reply("I look.", calls=(("read", LONG), ("list", {})), input_tokens=90, output_tokens=9, cached_tokens=80)


@pytest.fixture(params=sorted(DIALECTS))
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tool_request(solution_request):
    def make(*more: Message, **changes):
        request = solution_request("Look around.")
        return request.model_copy(update={"tools": TOOLS, "messages": (*request.messages, *more), **changes})

    return make


def serving(*items, **options) -> ModelServer:
    return ModelServer({"tools": items, "SolutionReply": items}, **options)


def named(reply: ModelReply) -> list[tuple[str, dict]]:
    return [(call.name, json.loads(call.arguments)) for call in reply.tool_calls]


def conversation(reply: ModelReply) -> tuple[Message, ...]:
    results = [ToolResult(call_id=call.id, content=f"about {call.name}") for call in reply.tool_calls]
    failed = results[-1].model_copy(update={"is_error": True})
    return reply.message, Message(role="user", content="", tool_results=(*results[:-1], failed))


async def test_calls_come_whole_with_their_words_and_usage(open_at, tool_request):
    with serving(TWO) as server:
        reply = await open_at(server.url).complete(tool_request())
        assert "response_format" not in server.calls[0].body
    assert named(reply) == [("read", LONG), ("list", {})]
    assert (reply.text, reply.stop_reason) == ("I look.", "complete")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (90, 9, 80)
    assert len({call.id for call in reply.tool_calls}) == 2


async def test_results_go_back_to_the_calls_that_they_answer(open_at, tool_request, provider):
    with serving(TWO, Reply("Done.")) as server:
        model = open_at(server.url)
        reply = await model.complete(tool_request())
        last = await model.complete(tool_request(*conversation(reply)))
        body = server.calls[1].body
    assert (last.text, last.tool_calls) == ("Done.", ())
    ids = [call.id for call in reply.tool_calls]
    if provider.startswith("anthropic"):
        said, told = body["messages"][-2:]
        assert [block["type"] for block in said["content"]] == ["text", "tool_use", "tool_use"]
        assert said["content"][1]["input"] == LONG
        assert [(each["tool_use_id"], each["content"], each["is_error"]) for each in told["content"]] == [
            (ids[0], "about read", False),
            (ids[1], "about list", True),
        ]
        assert told["content"][-1]["cache_control"] == {"type": "ephemeral"}
        assert body["tools"][0]["input_schema"] == TOOLS[0].parameters
    elif provider.startswith("openai-responses"):
        assert [item.get("type", item.get("role")) for item in body["input"][2:]] == [
            "assistant",
            *["function_call"] * 2,
            *["function_call_output"] * 2,
        ]
        assert [item["call_id"] for item in body["input"][3:]] == ids * 2
        assert body["tools"][0]["parameters"] == TOOLS[0].parameters
    else:
        said, *told = body["messages"][-3:]
        assert [call["id"] for call in said["tool_calls"]] == ids
        assert [(each["role"], each["tool_call_id"], each["content"]) for each in told] == [
            ("tool", ids[0], "about read"),
            ("tool", ids[1], "about list"),
        ]


@pytest.mark.parametrize("broken", ['{"path": "half', "", "[1]", '{"path": "\\ud800"}'])
async def test_broken_arguments_are_a_reply_and_can_be_answered(open_at, tool_request, broken):
    with serving(Reply(calls=(("read", broken),)), Reply("Done.")) as server:
        model = open_at(server.url)
        reply = await model.complete(tool_request())
        assert [call.name for call in reply.tool_calls] == ["read"]
        assert (await model.complete(tool_request(*conversation(reply)))).text == "Done."


async def test_a_reply_that_was_cut_in_a_call_says_so(open_at, tool_request):
    with serving(Reply(calls=(("read", '{"path": "so'),), stop_reason="truncated")) as server:
        reply = await open_at(server.url).complete(tool_request())
    assert (reply.stop_reason, len(reply.tool_calls)) == ("truncated", 1)


@pytest.mark.parametrize("rejects", [("tools",), ("tools", "json_schema", "output_config")])
async def test_a_server_without_tools_is_asked_for_one_call_as_an_object(open_at, tool_request, rejects):
    action = {"tool": "read", "path": "a.py"}
    with serving(action, {"tool": "list", "path": None}, rejects=rejects) as server:
        model = open_at(server.url)
        reply = await model.complete(tool_request())
        assert named(reply) == [("read", {"path": "a.py"})]
        again = await model.complete(tool_request(*conversation(reply)))
        assert named(again) == [("list", {})]
        asked = json.dumps(server.calls[-1].body)
    assert "about read" in asked
    assert "Read a file." in asked
    assert sum("tools" in call.body and "tool_choice" not in call.body for call in server.calls) == 1


async def test_a_model_that_takes_tools_elsewhere_is_asked_there(tool_request):
    said = "Function tools with reasoning_effort are not supported in /v1/chat/completions. Use /v1/responses instead."
    with serving(HttpError(400, said), TWO) as server:
        reply = await open_model(Settings(model="m", api_base=server.url)).complete(tool_request())
        assert [call.path.removeprefix("/v1/") for call in server.calls] == ["chat/completions", "responses"]
        assert server.calls[1].body["tools"]
    assert named(reply) == [("read", LONG), ("list", {})]


async def test_a_server_that_passes_over_tools_may_call_in_its_text(open_at, tool_request):
    with serving('Sure:\n```json\n{"tool": "read", "arguments": {"path": "b.py"}}\n```') as server:
        reply = await open_at(server.url).complete(tool_request())
    assert named(reply) == [("read", {"path": "b.py"})]


@pytest.mark.parametrize("text", ["", "No.", '{"tool": "shell", "command": "ls"}', '{"tool": 7}', '{"path": "x"}'])
def test_text_that_calls_no_tool_there_is_calls_none(text):
    assert with_tool_calls(ModelReply(text=text), TOOLS).tool_calls == ()


def test_missing_and_repeated_ids_are_replaced():
    calls = tuple(ToolCall(id=each, name="list", arguments="{}") for each in ("", "a", "a", ""))
    told = [call.id for call in with_tool_calls(ModelReply(text="", tool_calls=calls), TOOLS).tool_calls]
    assert told == ["call00001", "a", "call00003", "call00004"]


def test_calls_in_a_stream_are_told_apart_where_a_server_counts_them_all_as_the_first():
    pieces = [("x", "read", '{"path": "a"}'), ("y", "list", "{}")]
    deltas = [
        {"tool_calls": [{"index": 0, "id": key, "function": {"name": name, "arguments": given}}]}
        for key, name, given in pieces
    ]
    events = [{"choices": [{"delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    reply = StreamedDialect(ChatCompletions()).parse_reply(text)
    assert [(call.id, call.name) for call in reply.tool_calls] == [("x", "read"), ("y", "list")]


async def test_thoughts_of_the_model_go_back_before_its_calls(tool_request, monkeypatch):
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "sig"}
    call = {"type": "tool_use", "id": "t1", "name": "list", "input": {}}
    message = DIALECTS["anthropic"]().parse_reply(json.dumps({"content": [thought, call], "stop_reason": "tool_use"}))
    request = tool_request(*conversation(message))
    body = DIALECTS["anthropic"]().render_body("m", request, "output_config")
    assert body["messages"][-2]["content"][0] == thought


async def test_a_recorded_conversation_with_tools_is_replayed_without_a_model(tmp_path, tool_request):
    file = tmp_path / "record.jsonl"
    with serving(TWO, Reply("Done.")) as server:
        model = RecordingModel(open_model(Settings(model="m", api_base=server.url)), file)
        first = await model.complete(tool_request())
        await model.complete(tool_request(*conversation(first)))
    again = ReplayModel(file)
    replayed = await again.complete(tool_request())
    assert replayed.tool_calls == first.tool_calls
    assert (await again.complete(tool_request(*conversation(replayed)))).text == "Done."


async def test_a_remembered_conversation_with_tools_asks_nothing_twice(tmp_path, tool_request):
    with serving(TWO, Reply("Done.")) as server:
        for is_reused in (False, True):
            model = CachedModel(open_model(Settings(model="m", api_base=server.url)), ContentStore(tmp_path))
            first = await model.complete(tool_request())
            last = await model.complete(tool_request(*conversation(first)))
            assert (first.is_reused, last.is_reused) == (is_reused, is_reused)
        assert len(server.calls) == 2


def test_a_question_without_tools_is_written_as_before_there_were_any(solution_request):
    plain = solution_request()
    assert "tools" not in plain.model_dump(mode="json")
    assert set(plain.messages[0].model_dump(mode="json")) == {"role", "content"}
    assert set(ModelReply(text="x").model_dump(mode="json")) == {"text", "stop_reason", "usage", "model", "is_reused"}
