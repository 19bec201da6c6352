"""`generate_code`, and what all functions that ask a model have in common."""

from __future__ import annotations

import asyncio
import inspect
import json
import time
import traceback

import pytest
from model_server import Hang, HttpError, ModelServer, RawBody, Reply

from flyteplugins_codegen import generate_code
from flyteplugins_codegen.errors import (
    ArgumentTypeError,
    BudgetSpentError,
    CodegenError,
    DeadlineError,
    InvalidReplyError,
    ModelError,
    ProviderError,
    RefusedReplyError,
    ReplayMissError,
    RequestError,
    SettingsError,
    TruncatedReplyError,
)

ANSWER = {"text": "Here it is:\n\n```python\nprint(1)\n```\n\nand how to run it:\n\n```sh\npython it.py\n```\n"}
BLOCKS = [("python", "print(1)"), ("sh", "python it.py")]
KEY = "sk-given-here"
PAID = Reply(ANSWER, input_tokens=100, output_tokens=50)


def test_the_code_of_the_answer_and_its_cost(scene):
    server = scene.serve("CodeReply", PAID)
    assert generate_code(prompt="Print one.", **scene.config(server)) == (BLOCKS, pytest.approx(0.15))
    assert "Print one." in json.dumps(server.calls[0].body["messages"])


async def test_awaited_inside_a_loop_too(scene):
    server = scene.serve("CodeReply", PAID, repeat_last=True)
    asked = (generate_code.aio(prompt=f"Print {number}.", **scene.config(server)) for number in range(3))
    assert [value for value, _ in await asyncio.gather(*asked)] == [BLOCKS] * 3
    assert generate_code(prompt="Print 9.", **scene.config(server))[0] == BLOCKS


def test_an_answer_that_was_paid_for_is_not_paid_for_again(scene):
    server = scene.serve("CodeReply", PAID)
    first = generate_code(prompt="Print one.", **scene.config(server))
    second = generate_code(prompt="Print one.", **scene.config(server))
    assert (first[0], second) == (BLOCKS, (BLOCKS, 0.0))
    assert len(server.calls) == 1


def test_another_seed_is_another_answer(scene):
    server = scene.serve("CodeReply", PAID, {"text": "```python\nprint(2)\n```"})
    generate_code(prompt="Print.", **scene.config(server, cache_seed=1))
    assert generate_code(prompt="Print.", **scene.config(server, cache_seed=2))[0] == [("python", "print(2)")]


def test_a_price_that_nobody_knows_is_none(scene):
    server = scene.serve("CodeReply", PAID)
    assert generate_code(prompt="Print one.", **scene.config(server, price=None)) == (BLOCKS, None)


def test_a_pattern_finds_the_code_instead(scene):
    server = scene.serve("CodeReply", {"text": "CODE[x = 1] CODE[y = 2]"})
    found, _ = generate_code(r"CODE\[(.*?)\]", prompt="Two.", **scene.config(server))
    assert [code for _, code in found] == ["x = 1", "y = 2"]


def test_messages_as_autogen_has_them(scene):
    server = scene.serve("CodeReply", PAID)
    messages = [
        {"role": "system", "content": "You are terse."},
        {"role": "user", "content": [{"type": "text", "text": "Print {what}."}]},
        {"role": "assistant", "content": "Where?"},
        {"role": "user", "content": "To {where}."},
    ]
    generate_code(messages=messages, context={"what": "one", "where": "stderr"}, **scene.config(server))
    said = json.dumps([server.calls[0].body.get("system", ""), server.calls[0].body["messages"]])
    assert "You are terse." in said
    assert "To stderr." in said
    assert [message["role"] for message in server.calls[0].body["messages"]][-3:] == ["user", "assistant", "user"]


@pytest.mark.parametrize("prompt", ["Print {what}.", lambda context: f"Print {context['what']}."])
def test_a_prompt_is_filled_in(scene, prompt):
    server = scene.serve("CodeReply", PAID)
    generate_code(prompt=prompt, context={"what": "a dozen"}, **scene.config(server))
    assert "Print a dozen." in json.dumps(server.calls[0].body["messages"])


def test_a_prompt_without_a_context_keeps_its_braces(scene):
    server = scene.serve("CodeReply", PAID)
    generate_code(prompt="Print {} and {x}.", **scene.config(server))
    assert "Print {} and {x}." in json.dumps(server.calls[0].body["messages"])


def test_a_busy_server_is_asked_again(scene):
    server = scene.serve("CodeReply", HttpError(429, headers={"Retry-After": "0.01"}), PAID)
    assert generate_code(prompt="Print one.", **scene.config(server))[0] == BLOCKS
    assert len(server.calls) == 2


def test_a_deadline_is_a_deadline(scene):
    server = scene.serve("CodeReply", Hang())
    started = time.monotonic()
    with pytest.raises(DeadlineError):
        generate_code(prompt="Print one.", **scene.config(server, timeout=0.3))
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("item", "error"),
    [
        (Reply(ANSWER, stop_reason="truncated", input_tokens=10, output_tokens=0), TruncatedReplyError),
        (Reply("No.", stop_reason="refused", input_tokens=10, output_tokens=0), RefusedReplyError),
        (Reply('{"text": "```py', input_tokens=10, output_tokens=0), InvalidReplyError),
        (Reply({"text": "I would rather talk."}, input_tokens=10, output_tokens=0), InvalidReplyError),
        (Reply({"text": "```python\n\n```"}, input_tokens=10, output_tokens=0), InvalidReplyError),
    ],
)
def test_two_replies_of_no_use_are_an_error_that_knows_what_was_paid(scene, item, error):
    server = scene.serve("CodeReply", item, item)
    with pytest.raises(error) as failure:
        generate_code(prompt="Print one.", **scene.config(server))
    assert [call.cost_usd for call in failure.value.calls] == [pytest.approx(0.01)] * 2


def test_after_a_reply_of_no_use_the_second_counts_and_both_are_paid(scene):
    server = scene.serve("CodeReply", Reply({"text": "No code."}, input_tokens=50, output_tokens=50), PAID)
    assert generate_code(prompt="Print one.", **scene.config(server)) == (BLOCKS, pytest.approx(0.25))
    assert "holds no code" in json.dumps(server.calls[1].body["messages"])


def test_of_several_models_the_next_is_asked_where_one_fails(scene):
    down = scene.serve("CodeReply", HttpError(401))
    useless = scene.serve("CodeReply", *[Reply({"text": "Hm."}, input_tokens=10, output_tokens=0)] * 2)
    good = scene.serve("CodeReply", PAID)
    configs = [scene.config(server) for server in (down, useless, good)]
    assert generate_code(prompt="Print one.", configs=configs) == (BLOCKS, pytest.approx(0.17))


def test_where_all_fail_the_last_error_knows_the_calls_of_all(scene):
    useless = scene.serve("CodeReply", *[Reply({"text": "Hm."}, input_tokens=10, output_tokens=0)] * 2)
    down = scene.serve("CodeReply", HttpError(400, "no such model"))
    with pytest.raises(ProviderError, match="no such model") as failure:
        generate_code(prompt="Print one.", config_list=[scene.config(useless), scene.config(down)])
    assert len(failure.value.calls) == 2


def test_a_budget_holds_for_all_models_together(scene):
    useless = scene.serve("CodeReply", Reply({"text": "Hm."}), repeat_last=True)
    configs = [scene.config(useless), scene.config(useless, cache_seed=1)]
    with pytest.raises(BudgetSpentError, match="max_calls=3") as failure:
        generate_code(prompt="Print one.", configs=configs, budget={"max_calls": 3})
    assert len(failure.value.calls) == len(useless.calls) == 3


def test_a_key_that_is_given_itself_is_the_one_that_is_sent(scene):
    server = scene.serve("CodeReply", PAID)
    generate_code(prompt="Print one.", **scene.config(server, api_key=KEY))
    assert KEY in json.dumps(server.calls[0].headers)


def test_a_key_that_is_given_itself_and_refused_is_not_shown(scene):
    server = scene.serve("CodeReply", HttpError(401, f"invalid key {KEY}"))
    with pytest.raises(ProviderError, match="refused the key in api_key") as failure:
        generate_code(prompt="Print one.", **scene.config(server, api_key=KEY))
    assert KEY not in "".join(traceback.format_exception(failure.value))


def test_a_recording_is_replayed_with_what_it_had_cost(scene, tmp_path):
    server, file = scene.serve("CodeReply", PAID), str(tmp_path / "replies.jsonl")
    recorded = generate_code(prompt="Print one.", **scene.config(server, record=file))
    price = {"input_usd": 1000.0, "output_usd": 1000.0}
    assert generate_code(prompt="Print one.", model=f"replay:{file}", price=price) == recorded
    with pytest.raises(ReplayMissError):
        generate_code(prompt="Print two.", model=f"replay:{file}")


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({}, RequestError),
        ({"prompt": "x", "messages": [{"role": "user", "content": "x"}]}, RequestError),
        ({"prompt": ""}, RequestError),
        ({"prompt": " \n"}, RequestError),
        ({"prompt": 7}, ArgumentTypeError),
        ({"prompt": b"x"}, ArgumentTypeError),
        ({"prompt": "x" * 10_000_000}, RequestError),
        ({"prompt": "a\0b"}, RequestError),
        ({"prompt": "a\ud800b"}, RequestError),
        ({"prompt": "{missing}", "context": {"there": 1}}, RequestError),
        ({"prompt": "{", "context": {"there": 1}}, RequestError),
        ({"prompt": "x", "context": "y"}, ArgumentTypeError),
        ({"messages": "x"}, ArgumentTypeError),
        ({"messages": []}, ArgumentTypeError),
        ({"messages": [{"role": "tool", "content": "x"}]}, RequestError),
        ({"messages": ["x"]}, RequestError),
        ({"messages": [{"role": "user", "content": 3}]}, RequestError),
        ({"messages": [{"role": "user", "content": None}]}, RequestError),
        ({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}, RequestError),
        ({"prompt": "x", "pattern": "("}, RequestError),
        ({"prompt": "x", "pattern": 3}, ArgumentTypeError),
        ({"prompt": "x", "api": "telegraph"}, SettingsError),
        ({"prompt": "x", "model": "nobody-knows"}, ModelError),
    ],
)
def test_what_cannot_be_asked_is_told_before_anything_is_sent(asked, error):
    with ModelServer({}) as server:
        config = {} if "model" in asked else {"model": "openai/m", "api_base": server.url}
        with pytest.raises(error):
            generate_code(**asked, **config)
        assert not server.calls


def test_a_proxys_page_is_an_error_of_the_provider(scene):
    server = scene.serve("CodeReply", RawBody("<html>sign in</html>"))
    with pytest.raises(CodegenError, match="no model's reply"):
        generate_code(prompt="Print one.", **scene.config(server))


def test_its_signature_is_that_of_autogen():
    assert list(inspect.signature(generate_code).parameters) == ["pattern", "config"]
