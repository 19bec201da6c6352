"""Recordings: written with a real server, replayed without one, matched by the request."""

from __future__ import annotations

import asyncio
import json

import pytest
from model_server import ModelServer

from flyteplugins_codegen.errors import ReplayMissError, SettingsError
from flyteplugins_codegen.llm.ask import ask
from flyteplugins_codegen.llm.protocol import ModelReply
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.llm.replay import ReplayModel
from flyteplugins_codegen.llm.replies import SolutionReply
from flyteplugins_codegen.models.settings import Settings

RIGHT = {"description": "counts", "approach": "loop", "code": "print('é\u2028')"}


@pytest.fixture
def recording(tmp_path, solution_request):
    """A file with two recorded requests, "one" and "two"."""
    file = tmp_path / "made" / "run.jsonl"
    with ModelServer({"SolutionReply": [RIGHT, {**RIGHT, "code": "two"}]}) as server:
        model = open_model(Settings(model="m", api_base=server.url, record=str(file)))
        for question in ("one", "two"):
            asyncio.run(model.complete(solution_request(question)))
    return file


async def test_a_recording_answers_in_any_order_without_a_server(recording, solution_request):
    model = open_model(Settings(model=f"replay:{recording}"))
    two, one = await asyncio.gather(
        ask(model, solution_request("two"), SolutionReply), ask(model, solution_request("one"), SolutionReply)
    )
    assert (one.value.code, two.value.code) == (RIGHT["code"], "two")
    assert one.calls[0].usage.input_tokens > 0


async def test_a_recording_outlives_the_schema_the_parameters_and_the_deadline(recording, solution_request):
    changed = solution_request("one", reply_schema={}, params={"temperature": 1}, deadline_s=1.0)
    assert json.loads((await ReplayModel(recording).complete(changed)).text) == RIGHT


async def test_a_miss_shows_what_differs_and_how_to_record_again(recording, solution_request):
    with pytest.raises(ReplayMissError) as failure:
        await ReplayModel(recording).complete(solution_request("twofold"))
    text = str(failure.value)
    assert "-two" in text
    assert "+twofold" in text
    assert "-one" not in text
    assert f"record='{recording}'" in text


async def test_a_miss_by_the_attempt_alone_says_so(recording, solution_request):
    with pytest.raises(ReplayMissError, match="same messages, recorded for SolutionReply, attempt 0"):
        await ReplayModel(recording).complete(solution_request("one", attempt=1))


async def test_a_miss_of_a_whole_purpose_says_so(recording, solution_request):
    with pytest.raises(ReplayMissError, match="none of this purpose"):
        await ReplayModel(recording).complete(solution_request("one", purpose="repair"))


async def test_a_miss_message_stays_readable_however_long_the_prompt(recording, solution_request):
    with pytest.raises(ReplayMissError) as failure:
        await ReplayModel(recording).complete(solution_request("\n".join("x" * 1000 for _ in range(1000))))
    assert len(str(failure.value)) < 10_000
    assert "more lines" in str(failure.value)


async def test_the_last_line_for_a_request_counts(recording, solution_request):
    line = json.loads(recording.read_text().splitlines()[0])
    line["reply"]["text"] = "newer"
    with recording.open("a") as file:
        file.write(json.dumps(line) + "\n")
    assert (await ReplayModel(recording).complete(solution_request("one"))).text == "newer"


async def test_recording_the_same_reply_again_adds_nothing(recording, solution_request):
    before = recording.read_bytes()
    with ModelServer({"SolutionReply": [RIGHT]}) as server:
        await open_model(Settings(model="m", api_base=server.url, record=str(recording))).complete(
            solution_request("one")
        )
    assert recording.read_bytes() == before


async def test_a_line_is_never_appended_to_an_unfinished_one(recording, solution_request):
    recording.write_bytes(recording.read_bytes().removesuffix(b"\n"))
    with ModelServer({"SolutionReply": [RIGHT]}) as server:
        await open_model(Settings(model="m", api_base=server.url, record=str(recording))).complete(
            solution_request("three")
        )
    assert len(recording.read_text().split("\n")) == 4
    assert json.loads((await ReplayModel(recording).complete(solution_request("three"))).text) == RIGHT


async def test_a_hand_edited_request_is_matched_by_what_it_says_now(recording, solution_request):
    recording.write_text(recording.read_text().replace('"content":"two"', '"content":"three"'))
    assert isinstance(await ReplayModel(recording).complete(solution_request("three")), ModelReply)


@pytest.mark.parametrize("damage", ['{"request": ', "not json", '{"request": {}, "reply": {}}', "[]"])
def test_a_damaged_line_is_named(recording, damage):
    recording.write_text(recording.read_text() + damage)
    with pytest.raises(SettingsError, match=r"run\.jsonl, line 3"):
        open_model(Settings(model=f"replay:{recording}"))


def test_a_file_that_is_no_text_is_named(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match=r"x\.jsonl cannot be read"):
        open_model(Settings(model=f"replay:{tmp_path / 'x.jsonl'}"))


@pytest.mark.parametrize(("content", "complaint"), [(None, "no such file"), ("", "empty"), ("\n\n", "empty")])
def test_an_absent_or_empty_recording_says_which(tmp_path, content, complaint):
    file = tmp_path / "run.jsonl"
    if content is not None:
        file.write_text(content)
    with pytest.raises(SettingsError, match=complaint):
        open_model(Settings(model=f"replay:{file}"))
