"""Recordings of earlier versions answer the requests of this one, by what is asked for."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from earlier_job import RECORDING, RIGHT, STORIES, tell, write_sales

from flyteplugins_codegen.errors import ReplayMissError
from flyteplugins_codegen.llm.prompts import (
    JobBrief,
    redraft_messages,
    repair_messages,
    solution_messages,
    third_messages,
)
from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest
from flyteplugins_codegen.llm.replay import PROMPTS, ReplayModel, record_exchange
from flyteplugins_codegen.models.data import DataContext
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution, Request
from flyteplugins_codegen.models.spending import Message

TEXT = "## rain (rain.csv): CSV, 3 rows, 1 columns, 42 bytes\n|column|type|"
BRIEF = JobBrief(
    request=Request(prompt="Sum the rain.", inputs={"rain": "file"}, outputs={"total": "float"}),
    context=DataContext(text=TEXT),
)


def candidate(code: str = "x = 1", tests: str = "def test_it(): ...") -> Candidate:
    plan = CodePlan(description="d", approach="a")
    return Candidate(plan=plan, solution=CodeSolution(code=code), tests=tests)


def asked(messages: tuple[Message, ...], purpose: Any = "solution", **changes: Any) -> ModelRequest:
    return ModelRequest(purpose=purpose, messages=messages, reply_name="R", reply_schema={}, **changes)


def repair(failure: str, prompts_of: str = "now", **changed: str) -> ModelRequest:
    """A repair's request; those of an earlier version have another contract."""
    system, job = repair_messages(BRIEF, candidate(**changed), failure)
    text = job.content if prompts_of == "now" else job.content.replace("The candidate below failed.", "It failed.")
    return asked((system, job.model_copy(update={"content": text})), "repair")


def recorded(folder: Path, *requests: ModelRequest, prompts: int = 0) -> ReplayModel:
    """A replay of a recording in which the n-th request has the reply `n`."""
    lines = [
        record_exchange(request, ModelReply(text=str(number))).model_copy(update={"prompts": prompts})
        for number, request in enumerate(requests)
    ]
    (folder / "run.jsonl").write_text("".join(f"{line.model_dump_json()}\n" for line in lines))
    return ReplayModel(folder / "run.jsonl")


async def reply_to(model: ReplayModel, request: ModelRequest) -> str:
    return (await model.complete(request)).text


@pytest.mark.parametrize("story", STORIES)
def test_a_run_that_was_recorded_before_ends_as_it_did(story: str, tmp_path: Path) -> None:
    told = STORIES[story]
    result = tell(told, write_sales(tmp_path / "sales.csv"), model=f"replay:{RECORDING}")
    assert result.success, result.output
    assert result.solution.code.strip() == RIGHT.strip()
    assert result.attempt_history[0].action == told.actions[0]


def test_the_recording_is_one_of_an_earlier_version() -> None:
    lines = [json.loads(line) for line in RECORDING.read_text().splitlines()]
    assert not any("prompts" in line for line in lines)
    purposes = {line["request"]["purpose"] for line in lines}
    assert purposes == {"solution", "tests", "repair", "stronger_tests", "agent"}


async def test_a_recording_of_this_version_answers_nothing_but_what_was_asked(tmp_path: Path) -> None:
    model = recorded(tmp_path, repair("it broke", "before"), prompts=PROMPTS)
    with pytest.raises(ReplayMissError):
        await reply_to(model, repair("it broke"))
    assert await reply_to(recorded(tmp_path, repair("it broke", "before")), repair("it broke")) == "0"


@pytest.mark.parametrize(
    "brief",
    [
        {"request": BRIEF.request.model_copy(update={"prompt": "Sum the snow."})},
        {"request": BRIEF.request.model_copy(update={"constraints": ("mm is positive",)})},
        {"request": BRIEF.request.model_copy(update={"outputs": {"total": "int"}})},
        {"context": DataContext(text=TEXT.replace("42 bytes", "43 bytes"))},
        {"context": DataContext(text=TEXT.replace("## rain", "## snow"))},
        {"role": "You are a pirate."},
        {"installed": ("polars",)},
    ],
)
async def test_another_job_is_never_answered(tmp_path: Path, brief: dict[str, Any]) -> None:
    model = recorded(tmp_path, asked(solution_messages(BRIEF)))
    told_anew = BRIEF.model_copy(update={"context": DataContext(text=f"{TEXT}\n|mm|float|")})
    assert await reply_to(model, asked(solution_messages(told_anew))) == "0"
    with pytest.raises(ReplayMissError):
        await reply_to(model, asked(solution_messages(BRIEF.model_copy(update=brief))))


@pytest.mark.parametrize("other", [{"code": "x = 2"}, {"tests": "def test_other(): ..."}])
async def test_another_candidate_is_never_answered(tmp_path: Path, other: dict[str, str]) -> None:
    with pytest.raises(ReplayMissError):
        await reply_to(recorded(tmp_path, repair("it broke", "before", **other)), repair("it broke"))


async def test_another_attempt_or_purpose_is_never_answered(tmp_path: Path) -> None:
    model = recorded(tmp_path, asked(redraft_messages(BRIEF, "- it broke", 3)))
    assert await reply_to(model, asked(redraft_messages(BRIEF, "- it fell apart", 3))) == "0"
    first, third = asked(solution_messages(BRIEF)), asked(third_messages(BRIEF, 3))
    for request in (first, third, asked(redraft_messages(BRIEF, "- it", 3), attempt=1)):
        with pytest.raises(ReplayMissError):
            await reply_to(model, request)


async def test_a_draft_that_decides_between_two_is_not_the_first_one(tmp_path: Path) -> None:
    model = recorded(tmp_path, asked(solution_messages(BRIEF)))
    with pytest.raises(ReplayMissError):
        await reply_to(model, asked(third_messages(BRIEF, 3)))


async def test_of_several_repairs_of_one_candidate_the_failure_tells_which(tmp_path: Path) -> None:
    failures = ("KeyError: 'mm' in the script", "test_sum: assert 3 == 4", "test_sum: assert 3 == 5")
    model = recorded(tmp_path, *(repair(failure, "before") for failure in failures))
    replies = [await reply_to(model, repair(f"{failure} in new words")) for failure in failures]
    assert replies == ["0", "1", "2"]
    assert await reply_to(model, repair("")) in {"1", "2"}


async def test_of_equal_ones_the_last_answers(tmp_path: Path) -> None:
    model = recorded(tmp_path, repair("one", "before"), repair("two", "before"))
    assert await reply_to(model, repair("three")) == "1"


async def test_ten_thousand_lines_are_searched_in_a_moment(tmp_path: Path) -> None:
    others = [repair("it broke", "before", code=f"x = {number}\n" + "# a line\n" * 100) for number in range(10_000)]
    model = recorded(tmp_path, *others)
    began = time.process_time()
    for number in (9, 999, 9_999):
        assert await reply_to(model, repair("it broke", code=f"x = {number}\n" + "# a line\n" * 100)) == str(number)
    assert time.process_time() - began < 3
