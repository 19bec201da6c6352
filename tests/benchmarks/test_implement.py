"""`make eval-implement` in its recorded form: real judging of what a cheap and a strong model replied."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import pytest
from model_server import ModelServer

from benchmarks.implement.run import main, render
from benchmarks.implement.study import Attempt, Way


@pytest.fixture(scope="module")
def ways() -> dict[str, Any]:
    """Each way by its name, as `--json` prints it."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(["--json", "--timeout", "1"]) == 0
    return {way["name"]: way["attempts"] for way in json.loads(printed.getvalue())}


def right(attempts: list[dict[str, Any]]) -> int:
    return sum(attempt["is_right"] for attempt in attempts)


def cost(attempts: list[dict[str, Any]]) -> float:
    return sum(attempt["cost_usd"] for attempt in attempts)


def test_the_cascade_is_right_as_often_as_the_strongest_alone_and_costs_less(ways: dict[str, Any]) -> None:
    cheapest, strongest, cascade = ways["cheapest alone"], ways["strongest alone"], ways["cascade"]
    assert [len(attempts) for attempts in ways.values()] == [20, 20, 20]
    assert right(cheapest) < right(strongest) <= right(cascade)
    assert 0 < cost(cheapest) < cost(cascade) < cost(strongest)


def test_the_cascade_asks_the_strong_model_where_the_cheap_one_fails_the_assertions(ways: dict[str, Any]) -> None:
    cheap = {attempt["task_id"]: attempt["is_right"] for attempt in ways["cheapest alone"]}
    strong = {attempt["task_id"] for attempt in ways["cascade"] if attempt["config_index"] == 1}
    assert {task_id for task_id in strong if not cheap[task_id]}
    # What assertions cannot do: one that is wrong costs money, and a wrong answer that none of them meets is taken.
    assert {task_id for task_id in strong if cheap[task_id]}
    assert {task_id for task_id, is_right in cheap.items() if not is_right} - strong


def test_it_asks_the_models_that_it_is_given_and_takes_no_reply_from_earlier_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = (
        "def has_close_elements(numbers, threshold):\n    ordered = sorted(numbers)\n"
        "    return any(b - a < threshold for a, b in zip(ordered, ordered[1:]))"
    )
    asserted = {"assertions": ["assert has_close_elements([1.0, 1.1], 0.5)"]}
    with ModelServer({"FunctionReply": [{"code": code}], "AssertionsReply": [asserted]}, repeat_last=True) as server:
        configs = [{"model": model, "base_url": server.url} for model in ("openai/gpt-6-luna", "openai/gpt-6.1-sol")]
        for _ in range(2):
            assert main(["--configs", json.dumps(configs), "--problems", "1"]) == 0
        asked = [call.body["model"] for call in server.calls]
    assert asked == ["gpt-6-luna", "gpt-6.1-sol", "gpt-6-luna", "gpt-6-luna"] * 2
    assert "| cascade | 1 of 1 | 100% | 0.0" in capsys.readouterr().out


def test_an_unknown_price_is_shown_as_such() -> None:
    def way(name: str, cost_usd: float | None) -> Way:
        attempt = Attempt(task_id="a", is_right=True, cost_usd=cost_usd, config_index=0)
        return Way(name=name, attempts=(attempt, attempt))

    table = render([way("cheapest alone", 0.1), way("strongest alone", 0.2), way("cascade", None)])
    assert "| strongest alone | 2 of 2 | 100% | 0.400000 | +0% |" in table
    assert "| cascade | 2 of 2 | 100% | unknown |  |" in table


@pytest.mark.parametrize("configs", ["[]", '["gpt-6"]', '"gpt-6"', "{", "[3, 4]"])
def test_models_are_given_as_a_list_of_two_or_more(configs: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--configs", configs])
    assert "--configs: a JSON list of at least two models" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--problems", "--at-once"])
@pytest.mark.parametrize("count", ["0", "-1", "x"])
def test_a_count_of_none_is_told(option: str, count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([f"{option}={count}"])
    assert f"{option}: '{count}' is no whole number above 0" in capsys.readouterr().err
