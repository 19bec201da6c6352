"""The budget is checked before every call; a spent one ends the run with the best candidate, a larger one goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from model_server import ModelServer, Reply
from row_count_job import OUTPUTS, TESTS, repair, solution

from flyteplugins_codegen import AutoCoderAgent, CodeGenEvalResult
from flyteplugins_codegen.models.job import Request
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import DEFAULT_BUDGET, Budget, ModelCall, Price, Spending, Usage
from flyteplugins_codegen.stages.model_calls import open_account

PROMPT = "Count the rows of the table."
PRICES = {"m": Price(input_usd=1.0, output_usd=10.0, cached_usd=0.1)}
SCRIPT = {
    "SolutionReply": [Reply(solution(0), input_tokens=1000, output_tokens=100, cached_tokens=500, reasoning_tokens=7)],
    "TestsReply": [Reply(TESTS, input_tokens=1000, output_tokens=100)],
    "RepairReply": [Reply(repair(0, 2), input_tokens=1000, output_tokens=100), repair(2, 1)],
}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLYTE_CODEGEN_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n3,4\n5,6\n")
    return path


def generate(server: ModelServer, table: Path, **settings: object) -> CodeGenEvalResult:
    agent = AutoCoderAgent(model="openai/m", api_base=server.url, prices=PRICES, **settings)
    return agent.generate(PROMPT, samples={"table": table}, outputs=OUTPUTS)


def test_a_spent_budget_ends_the_run_with_the_best_candidate_and_a_larger_one_takes_it_up(table):
    with ModelServer(SCRIPT) as server:
        result = generate(server, table, budget=Budget(max_calls=3))
        assert len(server.calls) == 3
        assert not result.success
        assert "max_calls=3 is spent" in result.error
        assert "attempt 2 failed with" in result.error
        assert result.attempts == 2
        assert result.solution.code in {attempt.candidate.solution.code for attempt in result.attempt_history}
        again = generate(server, table, budget=Budget(max_calls=1))
        assert again.success, again.output
        assert len(server.calls) == 4
        assert [call.is_reused for call in again.calls] == [True, True, True, False]


def test_what_every_call_cost_is_in_the_result(table):
    with ModelServer(SCRIPT) as server:
        result = generate(server, table, budget=Budget(max_calls=2))
    assert [call.cost_usd for call in result.calls] == pytest.approx([0.00155, 0.002])
    assert result.cost_usd == pytest.approx(0.00355)
    assert (result.total_cached_tokens, result.total_reasoning_tokens) == (500, 7)
    assert "0.00355 USD" in repr(result)


def test_a_budget_that_allows_no_call_is_no_exception(table):
    with ModelServer(SCRIPT) as server:
        result = generate(server, table, budget=Budget(max_calls=0))
        assert server.calls == ()
    assert (result.success, result.attempts, result.solution.code) == (False, 0, "")
    assert "max_calls=0 is spent" in result.error
    assert CodeGenEvalResult.model_validate_json(result.model_dump_json()).error == result.error
    assert "max_calls=0" in result._repr_html_()


def test_a_candidate_without_the_tests_that_were_asked_for_is_no_success(table):
    script = {"SolutionReply": [solution(1)], "TestsReply": [TESTS]}
    with ModelServer(script) as server:
        result = generate(server, table, budget=Budget(max_calls=1))
        assert len(server.calls) == 1
    assert not result.success
    assert "max_calls=1 is spent" in result.error


def test_an_account_includes_what_other_processes_spent():
    paid = ModelCall(purpose="solution", model="m", usage=Usage(input_tokens=70, output_tokens=30), cost_usd=0.5)
    kept = paid.model_copy(update={"is_reused": True, "cost_usd": 0.0})
    settings = Settings(model="openai/m", budget=Budget(max_calls=4, max_tokens=400, max_cost_usd=1.5))
    run = Run(settings=settings, request=Request(prompt="p"), calls=(paid, kept))
    assert open_account(run).spent == Spending(calls=1, tokens=100, cost_usd=0.5)
    halves = open_account(run, shares=2).budget
    assert halves == Budget(max_calls=3, max_tokens=250, max_cost_usd=1.0)


@pytest.mark.parametrize("shares", [2, 3, 5])
@pytest.mark.parametrize("max_calls", range(1, 12))
def test_shares_of_a_budget_come_to_one_call_too_many_at_most(max_calls, shares):
    spent = Spending(calls=1, tokens=10)
    share = Budget(max_calls=max_calls, max_tokens=1000).shared(spent, shares)
    assert shares * (share.max_calls - spent.calls) <= max(max_calls - spent.calls + 1, 0)
    assert shares * (share.max_tokens - spent.tokens) <= 990


def test_the_default_budget_is_what_the_stages_can_ask_at_most():
    iterations = Settings(model="openai/m").max_iterations
    questions = 1 + 2 + (iterations - 1)  # of constraints, the two drafts, repairs
    assert DEFAULT_BUDGET.max_calls == 2 * questions
    assert json.loads(Settings(model="openai/m").model_dump_json())["budget"]["max_calls"] == 24
