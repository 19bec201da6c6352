"""A reply that was paid for is never requested again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from model_server import Hang, HttpError, ModelServer, Reply

from flyteplugins_codegen.errors import DeadlineError, InvalidReplyError, ProviderError
from flyteplugins_codegen.llm.ask import ask
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.llm.replies import SolutionReply
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.store import ContentStore

RIGHT = {"description": "counts", "approach": "loop", "code": "print(1)"}


@pytest.fixture
def store(tmp_path):
    return ContentStore(tmp_path / "store")


def open_remembering(server, store, **settings):
    return open_model(Settings(model="m", api_base=server.url, **settings), store=store)


async def test_the_same_request_is_asked_once(serve, store, solution_request):
    server = serve(RIGHT)
    first = await open_remembering(server, store).complete(solution_request())
    second = await open_remembering(server, store).complete(solution_request(deadline_s=3.0))
    assert (first.is_reused, second.is_reused) == (False, True)
    assert second.text == first.text
    assert second.usage == first.usage
    assert len(server.calls) == 1


@pytest.mark.parametrize("change", [{"attempt": 1}, {"params": {"temperature": 1}}, {"question": "Other?"}])
async def test_another_request_is_asked(serve, store, solution_request, change):
    server = serve(RIGHT, RIGHT)
    model = open_remembering(server, store)
    await model.complete(solution_request())
    assert not (await model.complete(solution_request(**change))).is_reused
    assert len(server.calls) == 2


async def test_the_same_name_at_another_address_is_another_model(serve, store, solution_request):
    servers = [serve({**RIGHT, "code": code}) for code in ("one", "two")]
    replies = [await open_remembering(server, store).complete(solution_request()) for server in servers]
    assert [json.loads(reply.text)["code"] for reply in replies] == ["one", "two"]


async def test_override_asks_anew_and_keeps_the_new_reply(serve, store, solution_request):
    server = serve(RIGHT, {**RIGHT, "code": "newer"})
    await open_remembering(server, store).complete(solution_request())
    await open_remembering(server, store, cache="override").complete(solution_request())
    kept = await open_remembering(server, store).complete(solution_request())
    assert (kept.is_reused, json.loads(kept.text)["code"]) == (True, "newer")


async def test_disable_leaves_the_store_alone(serve, store, solution_request):
    server = serve(RIGHT, RIGHT)
    for _ in range(2):
        assert not (await open_remembering(server, store, cache="disable").complete(solution_request())).is_reused
    assert not store.root.exists()


async def test_a_reply_is_handed_on_though_the_disk_does_not_take_it(serve, tmp_path, solution_request, caplog):
    (tmp_path / "file").write_text("in the way")
    model = open_remembering(serve(RIGHT), ContentStore(tmp_path / "file"))
    assert json.loads((await model.complete(solution_request())).text) == RIGHT
    assert "could not be kept" in caplog.text


async def test_a_damaged_entry_is_asked_for_again(serve, store, solution_request):
    server = serve(RIGHT, RIGHT)
    await open_remembering(server, store).complete(solution_request())
    (entry,) = store.root.rglob("*.json")
    entry.write_bytes(entry.read_bytes()[:-4] + b"oops")
    assert not (await open_remembering(server, store).complete(solution_request())).is_reused


async def test_replies_that_could_not_be_used_do_not_fail_the_next_run_too(serve, store, solution_request):
    server = serve("nonsense", "nonsense", RIGHT)
    with pytest.raises(InvalidReplyError):
        await ask(open_remembering(server, store), solution_request(), SolutionReply)
    answer = await ask(open_remembering(server, store), solution_request(), SolutionReply)
    assert answer.value.code == RIGHT["code"]
    assert [call.is_reused for call in answer.calls] == [True, True, False]
    again = await ask(open_remembering(server, store), solution_request(), SolutionReply)
    assert all(call.is_reused for call in again.calls)
    assert len(server.calls) == 3


PROGRAM = textwrap.dedent(
    """
    import asyncio, pathlib, sys
    from flyteplugins_codegen.llm.ask import ask, build_request
    from flyteplugins_codegen.llm.registry import open_model
    from flyteplugins_codegen.llm.replies import SolutionReply
    from flyteplugins_codegen.models.spending import Message
    from flyteplugins_codegen.models.settings import Settings
    from flyteplugins_codegen.store import ContentStore

    settings = Settings(model="m", api_base=sys.argv[1])
    model = open_model(settings, store=ContentStore(pathlib.Path(sys.argv[2])))
    for question in ("one", "two", "three"):
        messages = (Message(role="system", content="s"), Message(role="user", content=question))
        asyncio.run(ask(model, build_request("solution", messages, SolutionReply, settings), SolutionReply))
    print("done")
    """
)


def test_a_killed_run_goes_on_without_repeating_a_call(tmp_path):
    with ModelServer({"SolutionReply": [RIGHT, Hang(), RIGHT, Reply(RIGHT)]}) as server:
        command = [sys.executable, "-c", PROGRAM, server.url, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
            while len(server.calls) < 2 and running.poll() is None:
                time.sleep(0.02)
            os.kill(running.pid, signal.SIGKILL)
        assert running.returncode == -signal.SIGKILL
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == "done\n"
        asked = [call.body["messages"][-1]["content"] for call in server.calls]
        assert asked == ["one", "two", "two", "three"]  # "two" was in flight when the process died


async def test_identical_questions_at_once_are_paid_for_once(serve, store, solution_request):
    server = serve(Reply(RIGHT, delay_s=0.1), repeat_last=True)
    model = open_remembering(server, store)
    replies = await asyncio.gather(*(model.complete(solution_request()) for _ in range(4)))
    assert len(server.calls) == len(list(store.root.rglob("*.json"))) == 1
    assert sorted(reply.is_reused for reply in replies) == [False, True, True, True]


async def test_of_identical_questions_the_next_asks_where_the_first_failed(serve, store, solution_request):
    model = open_remembering(serve(HttpError(401), RIGHT), store)
    asked = (model.complete(solution_request()) for _ in range(2))
    failed, reply = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(failed, ProviderError)
    assert json.loads(reply.text) == RIGHT


async def test_who_waited_in_vain_has_what_is_left_of_its_deadline(serve, store, solution_request):
    model = open_remembering(serve(Hang(), repeat_last=True), store)
    started = time.monotonic()
    asked = (model.complete(solution_request(deadline_s=deadline_s)) for deadline_s in (0.4, 0.5))
    ends = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(end) for end in ends] == [DeadlineError] * 2
    assert time.monotonic() - started < 5
