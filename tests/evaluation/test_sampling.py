"""Samples from a model: each try of each problem is asked for once, and a reply without code is a failed sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from model_server import HttpError, ModelServer, Reply

from flyteplugins_codegen.autogen.model_config import ModelConfig
from flyteplugins_codegen.errors import BudgetSpentError, ProviderError, RequestError
from flyteplugins_codegen.evaluation.samples import load_samples
from flyteplugins_codegen.evaluation.sampling import sample_model, write_samples
from flyteplugins_codegen.evaluation.values import AssertTests, Problem
from flyteplugins_codegen.llm.budget import BudgetAccount
from flyteplugins_codegen.models.spending import Budget


def problems(name: str) -> list[Problem]:
    """Two problems; each test has texts of its own, and so finds no reply that another one paid for."""
    return [
        Problem(
            task_id=f"{name}/{number}", entry_point="f", prompt=f"def f():  # {name} {number}", tests=AssertTests(())
        )
        for number in range(2)
    ]


def config(server: ModelServer) -> ModelConfig:
    return ModelConfig(model="openai/any", api_base=server.url)


def programs(*codes: str) -> dict[str, Any]:
    return {"ProgramReply": [{"code": code} for code in codes]}


async def test_each_problem_is_asked_as_often_as_wanted_and_never_twice_for_the_same() -> None:
    with ModelServer(programs("a", "b", "c", "d", "e", "f")) as server:
        first = await sample_model(problems("often"), config(server), tries=range(2), at_once=1)
        assert [(each.task_id, each.solution, each.sample_id) for each in first] == [
            ("often/0", "a", "0"),
            ("often/0", "b", "1"),
            ("often/1", "c", "0"),
            ("often/1", "d", "1"),
        ]
        more = await sample_model(problems("often"), config(server), tries=range(3), at_once=1)
        assert [each.solution for each in more] == ["a", "b", "e", "c", "d", "f"]
        assert len(server.calls) == 6
        assert "The tests call `f`." in str(server.calls[0])


async def test_a_reply_that_cannot_be_used_is_a_sample_that_fails() -> None:
    script = {"ProgramReply": ["no program", "none again", Reply("", stop_reason="refused"), Reply("", "truncated")]}
    with ModelServer(script) as server:
        found = await sample_model(problems("silent"), config(server), tries=range(1), at_once=1)
    assert [each.solution for each in found] == ["", ""]


async def test_a_model_that_cannot_be_reached_is_no_sample() -> None:
    with ModelServer({"ProgramReply": [HttpError(401)]}) as server, pytest.raises(ProviderError):
        await sample_model(problems("unreached"), config(server), tries=range(1), at_once=1)


async def test_a_budget_ends_the_asking_and_what_was_paid_for_is_kept() -> None:
    with ModelServer(programs("a", "b", "c", "d")) as server:
        with pytest.raises(BudgetSpentError, match="max_calls=3"):
            await sample_model(
                problems("budget"),
                config(server),
                tries=range(2),
                account=BudgetAccount(Budget(max_calls=3)),
                at_once=1,
            )
        assert len(server.calls) == 3
        account = BudgetAccount(Budget(max_calls=1))
        found = await sample_model(problems("budget"), config(server), tries=range(2), account=account, at_once=1)
        assert [each.solution for each in found] == ["a", "b", "c", "d"]
        assert account.spent.calls == 1


@pytest.mark.parametrize(("tries", "at_once"), [(range(0), 1), (range(1), 0), (range(999, 1001), 1), (range(-1, 1), 1)])
async def test_impossible_numbers_are_refused(tries: range, at_once: int) -> None:
    with pytest.raises(RequestError, match="1 to 1000 times"):
        await sample_model(problems("never"), ModelConfig(), tries=tries, at_once=at_once)


async def test_written_samples_are_read_as_they_were(tmp_path: Path) -> None:
    with ModelServer(programs("x = '\u00e9'\n", "")) as server:
        found = await sample_model(problems("written"), config(server), tries=range(1), at_once=1)
    read = list(load_samples(write_samples(found, tmp_path / "samples.jsonl"), problems("written")))
    assert [(each.task_id, each.solution, each.sample_id) for each in read] == [
        (each.task_id, each.solution, each.sample_id) for each in found
    ]
