"""Several candidates of one job, from the model's replies to the result, against a model server on loopback."""

from __future__ import annotations

import logging
import math
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import row_count_job as job
from model_server import ModelServer, Reply

from flyteplugins_codegen import AutoCoderAgent, CodeGenEvalResult
from flyteplugins_codegen.models.spending import Budget
from flyteplugins_codegen.stages.candidates.confidence import Features, probability

PROMPT = "Count the rows of the table."
THREE_ROWS = [{"inputs": {}, "outputs": {"row_count": 3}}]
# Every script that counts something passes it.
WEAK: dict[str, Any] = {"test_code": job.TESTS["test_code"].replace('== "2"', "in set('123')")}
# One test that is right, and one that is wrong for every table.
ONE_WRONG: dict[str, Any] = {
    "test_code": job.TESTS["test_code"]
    + "\n\ndef test_the_header_is_a_row(tmp_path):\n"
    + job.TESTS["test_code"].partition("tmp_path):\n")[2].replace('== "2"', '== "3"')
}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLYTE_CODEGEN_CACHE", str(tmp_path / "cache"))
    return job.write_table(tmp_path / "table.csv", rows=3)


def generate(server: ModelServer, table: Path, **settings: Any) -> CodeGenEvalResult:
    examples = settings.pop("examples", ())
    agent = AutoCoderAgent(model="openai/m", api_base=server.url, **settings)
    return agent.generate(PROMPT, samples={"table": table}, outputs=job.OUTPUTS, examples=examples)


def solutions(*header_lines: int) -> list[dict[str, Any]]:
    return [job.solution(lines) for lines in header_lines]


def confidence(result: CodeGenEvalResult, agreeing: int, dissenting: int, checks: int = 0) -> float:
    """The confidence of so many other drafts for and against, and of the user's and the generated tests."""
    strength = 1.0 if result.test_strength is None else result.test_strength
    evidence = Features(agreeing=agreeing, dissenting=dissenting, strength=strength**2, checks=math.log1p(checks))
    return pytest.approx(probability(evidence))


def answers(result: CodeGenEvalResult) -> list[str]:
    assert result.disagreement is not None
    return sorted(answer.text for answer in result.disagreement.answers)


def test_of_three_that_pass_everything_one_of_the_two_that_agree_is_chosen(table):
    with ModelServer({"SolutionReply": solutions(1, 0, 1), "TestsReply": [WEAK]}) as server:
        result = generate(server, table, candidates=3, min_test_strength=0)
        assert len(server.calls) == 4
    assert result.success, result.error
    assert result.solution.code == job.code(1)
    assert [attempt.round_number for attempt in result.attempt_history] == [1, 1, 1]
    assert answers(result) == ["row_count = 3", "row_count = 4"]
    assert result.confidence == confidence(result, agreeing=1, dissenting=1)
    assert result.run() == (3,)


def test_of_three_that_pass_everything_and_differ_none_is_returned(table):
    with ModelServer({"SolutionReply": solutions(0, 1, 2), "TestsReply": [WEAK]}) as server:
        result = generate(server, table, candidates=3)
        assert len(server.calls) == 4
    assert not result.success
    assert "3 candidates pass every check, and no majority of them agrees" in result.error
    assert "table=table.csv" in result.error
    assert answers(result) == ["row_count = 2", "row_count = 3", "row_count = 4"]
    assert all(line in result.error for line in answers(result))
    assert result.confidence == confidence(result, agreeing=0, dissenting=2)
    assert CodeGenEvalResult.model_validate_json(result.model_dump_json()).disagreement == result.disagreement


def test_a_generated_test_that_most_candidates_contradict_is_dropped_with_its_reason(table):
    with ModelServer({"SolutionReply": solutions(1, 2, 1), "TestsReply": [ONE_WRONG]}) as server:
        result = generate(server, table, candidates=3)
        assert len(server.calls) == 4
    assert result.success, result.error
    assert [test.name for test in result.dropped_tests] == ["test_the_header_is_a_row"]
    assert "most candidates" in result.dropped_tests[0].reason
    assert result.attempt_history[-1].action == "drop_tests"
    assert "test_the_header_is_no_row" in result.tests
    assert "test_the_header_is_a_row" not in result.tests


REPAIRS = [job.repair(0, 2), job.repair(2, 3)]


def test_after_two_repairs_in_vain_three_redrafts_are_asked_for_at_once(table):
    script = {"SolutionReply": solutions(0, 1, 4, 1), "TestsReply": [job.TESTS], "RepairReply": REPAIRS}
    with ModelServer(script) as server:
        result = generate(server, table)
        assert [call.name for call in server.calls[2:]] == ["RepairReply"] * 2 + ["SolutionReply"] * 3
    assert result.success, result.error
    assert [attempt.round_number for attempt in result.attempt_history] == [1, 2, 3, 4, 4, 4]
    assert {attempt.action for attempt in result.attempt_history[3:]} == {"fresh_draft"}
    # One of the others does the same; the third and the first draft count otherwise.
    assert result.confidence == confidence(result, agreeing=1, dissenting=2)


def test_unusable_redrafts_are_recorded_and_others_are_asked_for(table):
    script = {
        "SolutionReply": [job.solution(0), *["no JSON"] * 6, *solutions(1, 1, 1)],
        "TestsReply": [job.TESTS],
        "RepairReply": REPAIRS,
    }
    with ModelServer(script) as server:
        result = generate(server, table)
        assert [call.name for call in server.calls[4:]] == ["SolutionReply"] * 9
    assert result.success, result.error
    vain = result.attempt_history[3:6]
    assert [(attempt.action, attempt.parent) for attempt in vain] == [("fresh_draft", 3)] * 3
    assert all("no valid SolutionReply" in attempt.unusable for attempt in vain)
    assert [attempt.unusable for attempt in result.attempt_history[6:]] == [""] * 3


def test_a_model_of_which_nothing_can_be_used_ends_the_run_at_its_last_iteration(table):
    script = {"SolutionReply": [job.solution(0), *["no JSON"] * 4], "RepairReply": ["no JSON"] * 4}
    with ModelServer(script) as server:
        result = generate(server, table, skip_tests=True, max_iterations=5, examples=THREE_ROWS)
        assert len(server.calls) == 9
    assert not result.success
    assert result.solution.code == job.code(0)
    assert result.error.startswith("no success after 5 attempts")


def test_a_budget_with_room_for_one_call_gets_one_redraft(table):
    script = {"SolutionReply": solutions(0, 1), "TestsReply": [job.TESTS], "RepairReply": REPAIRS}
    with ModelServer(script) as server:
        result = generate(server, table, budget=Budget(max_calls=5))
        assert len(server.calls) == 5
    assert result.success, result.error
    assert result.attempts == 4


def test_a_budget_bounds_the_candidates_that_are_asked_for_at_first(table):
    with ModelServer({"SolutionReply": solutions(1, 1), "TestsReply": [job.TESTS]}) as server:
        result = generate(server, table, candidates=5, budget=Budget(max_calls=3))
        assert len(server.calls) == 3
    assert result.success, result.error
    assert result.attempts == 2


def test_a_budget_of_tokens_for_two_calls_gets_a_solution_and_its_tests(table):
    reply = {"input_tokens": 1000, "output_tokens": 100}
    script = {"SolutionReply": [Reply(job.solution(1), **reply)], "TestsReply": [Reply(job.TESTS, **reply)]}
    with ModelServer(script) as server:
        result = generate(server, table, candidates=4, budget=Budget(max_tokens=2_400))
        assert len(server.calls) == 2
    assert result.success, result.error
    assert result.attempts == 1


def test_every_candidate_is_an_iteration(table):
    with ModelServer({"SolutionReply": solutions(0, 2), "TestsReply": [job.TESTS]}) as server:
        result = generate(server, table, candidates=4, max_iterations=2)
        assert len(server.calls) == 3
    assert (result.success, result.attempts) == (False, 2)
    assert "no success after 2 attempts" in result.error


def test_a_reply_that_cannot_be_used_leaves_the_other_candidates(table):
    cut = Reply('{"description": "d', stop_reason="truncated")
    script = {"SolutionReply": [job.solution(1), cut, cut], "TestsReply": [job.TESTS]}
    with ModelServer(script) as server:
        result = generate(server, table, candidates=2)
        assert len(server.calls) == 4
    assert result.success, result.error
    assert result.attempts == 1
    assert len(result.calls) == 4


def test_equal_candidates_are_run_once(table, caplog):
    caplog.set_level(logging.INFO, "flyteplugins_codegen.stages")
    with ModelServer({"SolutionReply": solutions(1, 1, 1), "TestsReply": [job.TESTS]}) as server:
        result = generate(server, table, candidates=3, cache="disable")
    events = [getattr(record, "codegen_event", None) for record in caplog.records]  # other libraries log too
    assert sum((event.stage, event.phase) == ("run tests", "finished") for event in filter(None, events)) == 1
    assert all(attempt.report.passed for attempt in result.attempt_history)
    assert result.confidence == confidence(result, agreeing=2, dissenting=0)


def test_a_recording_of_several_replies_gives_each_to_its_own_question(table, tmp_path, monkeypatch):
    recording = tmp_path / "recording.jsonl"
    with ModelServer({"SolutionReply": solutions(0, 1, 2), "TestsReply": [WEAK]}) as server:
        recorded = generate(server, table, candidates=3, record=str(recording))
    monkeypatch.setenv("FLYTE_CODEGEN_CACHE", str(tmp_path / "elsewhere"))
    agent = AutoCoderAgent(model=f"replay:{recording}", candidates=3)
    replayed = agent.generate(PROMPT, samples={"table": table}, outputs=job.OUTPUTS)
    assert replayed.disagreement == recorded.disagreement
    assert [attempt.candidate for attempt in replayed.attempt_history] == [
        attempt.candidate for attempt in recorded.attempt_history
    ]


def test_a_run_killed_between_the_replies_asks_for_no_stored_reply_again(table, tmp_path):
    program = (
        "import sys\nfrom flyteplugins_codegen import AutoCoderAgent\n"
        "agent = AutoCoderAgent(model='openai/m', api_base=sys.argv[1], candidates=3, min_test_strength=0)\n"
        f"result = agent.generate({PROMPT!r}, samples={{'table': sys.argv[2]}}, outputs={job.OUTPUTS!r})\n"
        "print(result.success, result.attempts, sum(not call.is_reused for call in result.calls))\n"
    )
    late = Reply(job.solution(1), delay_s=2.0)  # in flight when the process is killed, so this one is asked for again
    script = {"SolutionReply": [job.solution(0), job.solution(1), late, job.solution(1)], "TestsReply": [WEAK]}
    with ModelServer(script) as server:
        command = [sys.executable, "-c", program, server.url, str(table)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as first:
            while len(list(tmp_path.glob("cache/replies/*/*.json"))) < 3 and first.poll() is None:
                time.sleep(0.002)
            first.send_signal(signal.SIGKILL)
        assert len(server.calls) == 4
        again = subprocess.run(command, capture_output=True, text=True, check=True)
        assert again.stdout.split() == ["True", "3", "1"]
        assert len(server.calls) == 5
