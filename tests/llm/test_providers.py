"""What every provider must do, whatever the server does: through the real clients, over real sockets."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import socket
import time

import pytest
from dialects import DIALECTS
from model_server import Cut, Drip, Hang, HttpError, RawBody, Reply, Reset, SilentEnd, render_answer

from flyteplugins_codegen.errors import (
    DeadlineError,
    InvalidReplyError,
    ProviderError,
    RefusedReplyError,
    TruncatedReplyError,
)
from flyteplugins_codegen.llm.ask import ask
from flyteplugins_codegen.llm.budget import BudgetAccount, BudgetedModel
from flyteplugins_codegen.llm.replies import SolutionReply
from flyteplugins_codegen.models.spending import Budget, Message, Spending, Usage

RIGHT = {"description": "counts", "approach": "loop", "code": "print(1)", "packages": [], "system_packages": []}
VALUE = SolutionReply(description="counts", approach="loop", code="print(1)")


@pytest.fixture(params=sorted(DIALECTS))
def provider(request: pytest.FixtureRequest) -> str:
    """Every dialect; other modules use only two."""
    return str(request.param)


def said_in(call) -> list:
    """The messages of a request, by the name that its API has for them."""
    return call.body.get("messages") or call.body["input"]


def total(calls) -> Usage:
    return sum((call.usage for call in calls), Usage())


async def test_a_right_reply_is_the_value_with_its_usage_and_messages(serve, open_at, solution_request):
    counted = Reply(RIGHT, input_tokens=120, output_tokens=30, cached_tokens=100, reasoning_tokens=8)
    answer = await ask(open_at(serve(counted).url), solution_request(), SolutionReply)
    assert answer.value == VALUE
    (call,) = answer.calls
    assert call.usage == Usage(input_tokens=120, output_tokens=30, cached_tokens=100, reasoning_tokens=8)
    assert [message.role for message in call.messages] == ["system", "user", "assistant"]
    assert json.loads(call.messages[-1].content) == RIGHT
    assert call.wall_s > 0


async def test_missing_usage_counts_nothing_and_breaks_nothing(serve, open_at, solution_request):
    answer = await ask(open_at(serve(Reply(RIGHT, has_usage=False)).url), solution_request(), SolutionReply)
    assert answer.value == VALUE
    assert total(answer.calls) == Usage()


@pytest.mark.parametrize(
    ("stop_reason", "error_type"),
    [("truncated", TruncatedReplyError), ("refused", RefusedReplyError), ("filtered", RefusedReplyError)],
)
async def test_a_reply_that_stopped_early_twice_is_told_by_its_kind(
    serve, open_at, solution_request, stop_reason, error_type
):
    # Valid JSON on purpose: the stop reason is checked first.
    item = Reply(RIGHT, stop_reason=stop_reason, input_tokens=50, output_tokens=5)
    with pytest.raises(error_type) as failure:
        await ask(open_at(serve(item, item).url), solution_request(), SolutionReply)
    assert total(failure.value.calls) == Usage(input_tokens=100, output_tokens=10)


@pytest.mark.parametrize("first", [Reply("cut", stop_reason="truncated"), Reply("no", stop_reason="refused")])
async def test_after_a_reply_that_stopped_early_the_second_counts(serve, open_at, solution_request, first):
    server = serve(first, RIGHT)
    answer = await ask(open_at(server.url), solution_request(), SolutionReply)
    assert answer.value == VALUE
    assert len(answer.calls) == 2
    # A refused or cut reply is not quoted, and no two messages of one role follow each other.
    assert [message["role"] for message in said_in(server.calls[1]) if message["role"] != "system"] == ["user"]


@pytest.mark.parametrize("text", ["", "   ", "I would rather talk.", '{"description": "x", "code": ', "[1, 2]"])
async def test_a_reply_without_the_object_is_asked_again_once(serve, open_at, solution_request, text):
    server = serve(Reply(text), RIGHT)
    answer = await ask(open_at(server.url), solution_request(), SolutionReply)
    assert answer.value == VALUE
    assert len(server.calls) == 2


async def test_the_second_question_carries_the_reply_and_what_was_wrong_with_it(serve, open_at, solution_request):
    server = serve({"description": "counts", "approach": "loop", "code": 7}, RIGHT)
    await ask(open_at(server.url), solution_request(), SolutionReply)
    bad, complaint = said_in(server.calls[1])[-2:]
    assert (bad["role"], json.loads(bad["content"])["code"]) == ("assistant", 7)
    assert complaint["role"] == "user"
    assert "code: Input should be a valid string" in complaint["content"]


async def test_half_a_character_breaks_nothing(serve, open_at, solution_request):
    # A lone surrogate, which JSON can contain but no file: once in the reply itself, once escaped within its JSON.
    outside = json.dumps({**RIGHT, "code": "print(1)  # @"}).replace("@", "\ud800")
    answer = await ask(open_at(serve(outside).url), solution_request(), SolutionReply)
    assert answer.value.code == "print(1)  # \ufffd"
    inside = json.dumps({**RIGHT, "description": "\ud800"})
    answer = await ask(open_at(serve(inside, RIGHT).url), solution_request(), SolutionReply)
    assert answer.value == VALUE
    assert len(answer.calls) == 2


async def test_two_broken_replies_are_an_error_that_knows_both_calls(serve, open_at, solution_request):
    broken = Reply({"description": "no code"}, input_tokens=40, output_tokens=4)
    with pytest.raises(InvalidReplyError, match="code: Field required") as failure:
        await ask(open_at(serve(broken, broken).url), solution_request(), SolutionReply)
    assert len(failure.value.calls) == 2
    assert total(failure.value.calls) == Usage(input_tokens=80, output_tokens=8)


async def test_a_first_reply_is_accounted_for_when_the_second_question_fails(serve, open_at, solution_request):
    server = serve(Reply({"description": "no code"}, input_tokens=40, output_tokens=4), HttpError(400, "no more"))
    with pytest.raises(ProviderError, match="no more") as failure:
        await ask(open_at(server.url), solution_request(), SolutionReply)
    assert total(failure.value.calls) == Usage(input_tokens=40, output_tokens=4)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_a_transient_status_is_tried_again(serve, open_at, solution_request, status):
    server = serve(HttpError(status), HttpError(status, body="<html>busy</html>"), RIGHT)
    reply = await open_at(server.url).complete(solution_request())
    assert json.loads(reply.text) == RIGHT
    assert len(server.calls) == 3


async def test_retry_after_is_waited_for(serve, open_at, solution_request):
    server = serve(HttpError(429, headers={"Retry-After": "0.4"}), RIGHT)
    started = time.monotonic()
    await open_at(server.url).complete(solution_request())
    assert time.monotonic() - started >= 0.4
    assert len(server.calls) == 2


async def test_a_retry_after_beyond_the_deadline_is_not_waited_for(serve, open_at, solution_request):
    server = serve(HttpError(429, headers={"Retry-After": "3600"}), RIGHT)
    with pytest.raises(ProviderError, match="3600 s") as failure:
        await open_at(server.url).complete(solution_request())
    assert failure.value.status == 429
    assert len(server.calls) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 501])
async def test_a_lasting_status_is_not_tried_again(serve, open_at, solution_request, status):
    server = serve(HttpError(status), RIGHT)
    with pytest.raises(ProviderError) as failure:
        await open_at(server.url).complete(solution_request())
    assert failure.value.status == status
    assert len(server.calls) == 1


async def test_a_spent_quota_is_not_tried_again(serve, open_at, solution_request):
    server = serve(HttpError(429, "pay first", code="insufficient_quota"), RIGHT)
    with pytest.raises(ProviderError, match="quota of the key in THE_KEY"):
        await open_at(server.url).complete(solution_request())
    assert len(server.calls) == 1


async def test_a_server_that_stays_broken_is_given_up(serve, open_at, solution_request):
    server = serve(HttpError(500, "still broken"), repeat_last=True)
    with pytest.raises(ProviderError, match="still broken") as failure:
        await open_at(server.url).complete(solution_request())
    assert failure.value.status == 500
    assert 2 <= len(server.calls) <= 10


@pytest.mark.parametrize("fault", [Reset(), Cut(RIGHT)], ids=["reset", "cut"])
async def test_a_broken_connection_is_tried_again(serve, open_at, solution_request, fault):
    server = serve(fault, RIGHT)
    assert json.loads((await open_at(server.url).complete(solution_request())).text) == RIGHT
    assert len(server.calls) == 2


@pytest.mark.parametrize("fault", [Hang(), Drip(RIGHT, interval_s=0.05)], ids=["hang", "drip"])
async def test_the_deadline_is_a_deadline(serve, open_at, solution_request, fault):
    model = open_at(serve(fault).url)
    await open_at(serve(RIGHT).url).complete(solution_request())  # the client's import is not what is timed
    started = time.monotonic()
    with pytest.raises(DeadlineError, match=r"0\.5 s"):
        await model.complete(solution_request(deadline_s=0.5))
    assert time.monotonic() - started < 1.5


async def test_waiting_can_be_cancelled(serve, open_at, solution_request):
    server = serve(Hang())
    waiting = asyncio.create_task(open_at(server.url).complete(solution_request()))
    await asyncio.sleep(0.3)
    assert len(server.calls) == 1
    started = time.monotonic()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    "page",
    [
        RawBody("<html><body>Welcome</body></html>"),
        RawBody("hello", content_type="text/plain"),
        RawBody("", content_type="application/json"),
        RawBody("{}", content_type="application/json"),
        RawBody('"just a string"', content_type="application/json"),
        RawBody('{"error": {"message": "upstream is down"}}', content_type="application/json"),
    ],
    ids=["html", "text", "empty", "no fields", "string", "error in a success"],
)
async def test_what_is_no_reply_points_to_the_address(serve, open_at, solution_request, page):
    server = serve(page)
    with pytest.raises(ProviderError, match="check that api_base") as failure:
        await open_at(server.url).complete(solution_request())
    assert server.url in str(failure.value)


async def test_a_right_reply_under_a_wrong_content_type_is_read(serve, open_at, solution_request):
    probe = serve(RIGHT)
    await open_at(probe.url).complete(solution_request())
    body = render_answer(probe.calls[0], Reply(RIGHT))
    server = serve(RawBody(body, content_type="text/plain"))
    assert json.loads((await open_at(server.url).complete(solution_request())).text) == RIGHT


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_names_its_variable(serve, open_at, solution_request, status):
    with pytest.raises(ProviderError, match="key in THE_KEY"):
        await open_at(serve(HttpError(status)).url).complete(solution_request())


async def test_a_server_that_wants_a_key_says_how_to_pass_one(serve, open_at, solution_request):
    with pytest.raises(ProviderError, match="api_key='NAME'"):
        await open_at(serve(HttpError(401)).url, variable="").complete(solution_request())


async def test_an_unknown_model_names_the_model_and_the_address(serve, open_at, solution_request, provider):
    server = serve(HttpError(404, "model not found"))
    with pytest.raises(ProviderError, match="check the model's name") as failure:
        await open_at(server.url).complete(solution_request())
    assert f"{provider.partition('-')[0]}/m at {server.url}" in str(failure.value)


async def test_an_address_where_nobody_listens_is_named(open_at, solution_request):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ProviderError, match="check api_base") as failure:
            await open_at(address).complete(solution_request())
    assert address in str(failure.value)
    assert failure.value.status is None


@pytest.mark.parametrize(
    "rejects", [("json_schema", "output_config"), ("json_schema", "json_object", "output_config", "tools")]
)
async def test_a_rejected_format_falls_back_and_is_not_asked_for_again(serve, open_at, solution_request, rejects):
    server = serve(RIGHT, RIGHT, rejects=rejects)
    model = open_at(server.url)
    assert (await ask(model, solution_request(), SolutionReply)).value == VALUE
    asked_once = len(server.calls)
    assert asked_once > 1
    assert (await ask(model, solution_request("Another."), SolutionReply)).value == VALUE
    assert len(server.calls) == asked_once + 1


async def test_a_server_that_ignores_the_format_is_told_it_in_words(serve, solution_request, open_at, provider):
    server = serve(Reply("```python\nprint(1)\n```"), RIGHT)
    assert (await ask(open_at(server.url), solution_request(), SolutionReply)).value == VALUE
    body = server.calls[1].body
    assert (
        body["tool_choice"]["name"] == "SolutionReply"
        if provider.startswith("anthropic")
        else "JSON schema" in str(body)
    )


async def test_parameters_reach_the_server_even_those_the_client_does_not_know(serve, open_at, solution_request):
    server = serve(RIGHT)
    await open_at(server.url).complete(solution_request(params={"temperature": 0.25, "min_p": 0.1, "max_tokens": 77}))
    body = server.calls[0].body
    assert (body["temperature"], body["min_p"]) == (0.25, 0.1)
    assert body["max_output_tokens" if "input" in body else "max_tokens"] == 77


async def test_two_calls_of_one_loop_run_side_by_side(serve, open_at, solution_request):
    server = serve(Reply(RIGHT, delay_s=0.6), Reply(RIGHT, delay_s=0.6))
    model = open_at(server.url)
    await open_at(serve(RIGHT).url).complete(solution_request())
    started = time.monotonic()
    await asyncio.gather(model.complete(solution_request("one")), model.complete(solution_request("two")))
    assert time.monotonic() - started < 1.1


def test_one_model_serves_one_event_loop_after_another(serve, open_at, solution_request):
    model = open_at(serve(RIGHT, RIGHT).url)
    replies = [asyncio.run(model.complete(solution_request(question))) for question in ("one", "two")]
    assert [json.loads(reply.text) for reply in replies] == [RIGHT, RIGHT]


async def test_two_models_with_two_keys_do_not_mix(serve, open_at, solution_request):
    servers = [serve(Reply(RIGHT, delay_s=0.1), repeat_last=True) for _ in range(2)]
    models = [open_at(server.url, key=f"sk-key-number-{number}") for number, server in enumerate(servers)]
    await asyncio.gather(*(model.complete(solution_request()) for model in models * 3))
    for number, server in enumerate(servers):
        assert len(server.calls) == 3
        assert {call.headers["authorization"] for call in server.calls} == {f"Bearer sk-key-number-{number}"}


async def test_anthropic_is_given_the_system_prompt_apart_and_marked_for_its_cache(serve, solution_request, open_at):
    server = serve(RIGHT)
    model = open_at(server.url)
    await model.complete(solution_request())
    body = server.calls[0].body
    if model.name == "anthropic/m":
        assert body["system"] == [{"type": "text", "text": "You write code.", "cache_control": {"type": "ephemeral"}}]
        assert [message["role"] for message in body["messages"]] == ["user"]
    else:
        assert [message["role"] for message in said_in(server.calls[0])] == ["system", "user"]


async def test_what_other_calls_begin_with_is_marked_for_anthropics_cache_and_said_to_all(
    serve, solution_request, open_at
):
    server = serve(RIGHT)
    model = open_at(server.url)
    request = solution_request()
    system, asked = request.messages[0], Message(role="user", content="The job.\n\nWrite it.", shared_chars=8)
    await model.complete(request.model_copy(update={"messages": (system, asked)}))
    said = said_in(server.calls[0])[-1]["content"]
    if model.name == "anthropic/m":
        first = {"type": "text", "text": "The job.", "cache_control": {"type": "ephemeral"}}
        assert said == [first, {"type": "text", "text": "\n\nWrite it."}]
    else:
        assert said == "The job.\n\nWrite it."


WRAPPED = {
    "fenced": f"```json\n{json.dumps(RIGHT)}\n```",
    "encoded twice": json.dumps(json.dumps(RIGHT)),
    "in prose": f"Here you are: {json.dumps(RIGHT)} Good luck.",
}


@pytest.mark.parametrize("text", WRAPPED.values(), ids=WRAPPED)
async def test_a_right_object_is_found_however_it_is_wrapped(serve, open_at, solution_request, text):
    answer = await ask(open_at(serve(text).url), solution_request(), SolutionReply)
    assert answer.value == VALUE
    assert total(answer.calls).output_tokens > 0


@pytest.mark.parametrize("date", [True, False], ids=["date", "absurd"])
async def test_a_wait_that_cannot_fit_is_told_at_once(serve, open_at, solution_request, date):
    told = "Fri, 31 Dec 2199 23:59:59 GMT" if date else "99999999999"
    server = serve(HttpError(429, headers={"Retry-After": told}), RIGHT)
    started = time.monotonic()
    with pytest.raises(ProviderError, match="longer than the deadline"):
        await open_at(server.url).complete(solution_request())
    assert time.monotonic() - started < 5
    assert len(server.calls) == 1


async def test_a_reply_that_ends_in_silence_is_never_taken_for_a_whole_one(serve, open_at, solution_request, provider):
    server = serve(SilentEnd(RIGHT), RIGHT)
    if provider.endswith("streamed"):
        assert json.loads((await open_at(server.url).complete(solution_request())).text) == RIGHT
        assert len(server.calls) == 2
    else:
        with pytest.raises(ProviderError, match="check that api_base"):
            await open_at(server.url).complete(solution_request())


STREAMED = [name for name in sorted(DIALECTS) if name.endswith("streamed")]
BROKEN = Reply({**RIGHT, "code": "print(1)\n" * 200}, input_tokens=1_000, output_tokens=600)


@pytest.mark.parametrize("provider", STREAMED)
@pytest.mark.parametrize("fault", [SilentEnd, Cut])
async def test_a_stream_that_breaks_off_is_counted_with_the_reply_that_comes_after_it(
    serve, open_at, solution_request, provider, fault
):
    whole = (await open_at(serve(RIGHT).url).complete(solution_request())).usage
    usage = (await open_at(serve(fault(BROKEN), RIGHT).url).complete(solution_request())).usage
    told, lost = usage.input_tokens - whole.input_tokens, usage.output_tokens - whole.output_tokens
    assert whole.estimated_tokens == 0
    assert 100 < lost < 400, "half of its 450 tokens"
    if provider.startswith("anthropic"):
        assert (told, usage.estimated_tokens) == (1_000, lost - 1), "which is told at its beginning"
    else:
        assert 200 <= told < 300, "which is told at its end alone"
        assert usage.estimated_tokens == told + lost


@pytest.mark.parametrize("provider", STREAMED)
async def test_streams_that_break_off_each_time_are_counted_by_the_error_and_the_budget(
    serve, open_at, solution_request
):
    server, account = serve(Cut(BROKEN), repeat_last=True), BudgetAccount(Budget())
    with pytest.raises(ProviderError) as failure:
        await ask(BudgetedModel(open_at(server.url), account), solution_request(), SolutionReply)
    usage = failure.value.usage
    assert usage.output_tokens > 100 * len(server.calls)
    assert [call.usage for call in failure.value.calls] == [usage]
    assert account.spent == Spending(calls=1, tokens=usage.input_tokens + usage.output_tokens, cost_usd=None)


async def test_what_never_began_is_not_counted(serve, open_at, solution_request):
    with pytest.raises(ProviderError) as failure:
        await ask(open_at(serve(Reset(), repeat_last=True).url), solution_request(), SolutionReply)
    assert failure.value.usage == Usage()
    assert failure.value.calls == ()


async def test_a_stream_that_is_asked_for_and_not_sent_is_read_all_the_same(serve, open_at, solution_request):
    usual = await open_at(serve(RIGHT).url).complete(solution_request())
    probe = serve(RIGHT)
    await open_at(probe.url).complete(solution_request())
    plain = {key: value for key, value in probe.calls[0].body.items() if key != "stream"}
    call = dataclasses.replace(probe.calls[0], body=plain)
    server = serve(RawBody(render_answer(call, Reply(RIGHT)), content_type="application/json"))
    assert (await open_at(server.url).complete(solution_request())).text == usual.text
