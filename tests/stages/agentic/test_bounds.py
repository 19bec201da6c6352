"""Turns, budget and the length of the conversation: what ends an agent's work, and the candidate that remains."""

from __future__ import annotations

import json

import pytest
from agent_turns import RIGHT, SUBMIT, SUITE, WRONG, sent, turn, write
from model_server import HttpError, ModelServer, Reply

from flyteplugins_codegen.errors import ProviderError
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution, Request
from flyteplugins_codegen.models.run import Cause, Run, TestReport
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import Budget, Message, ToolCall, ToolResult
from flyteplugins_codegen.stages.actions import Finish, WorkAsAgent
from flyteplugins_codegen.stages.agentic.conversation import bounded
from flyteplugins_codegen.stages.attempts import with_changed, with_next
from flyteplugins_codegen.stages.loop import next_action

BOTH = (write("solution.py", RIGHT), write("test_solution.py", SUITE))
LOOK = turn(("list", {}))


def test_the_loop_asks_an_agent_in_place_of_drafts_and_repairs():
    run = Run(settings=Settings(model="openai/m", backend="agent"), request=Request(prompt="p"))
    assert isinstance(next_action(run), WorkAsAgent)
    assert isinstance(next_action(run.model_copy(update={"stopped": "spent"})), Finish)
    cause = Cause(kind="exception", message="it failed")
    candidate = Candidate(plan=CodePlan(description="", approach=""), solution=CodeSolution(code="x"))
    failed = with_next(run, "agent", "first", candidate)
    failed = with_changed(failed, 1, report=TestReport(build_cause=cause), cause=cause)
    assert next_action(failed) == WorkAsAgent(reason="exception: it failed")


def test_when_the_turns_are_spent_the_current_files_are_judged(work):
    result, server = work(turn(*BOTH), LOOK, LOOK, max_turns=3)
    assert result.success, result.output
    assert len(server.calls) == 3
    assert result.attempt_history[0].reason == "the files as they stood when max_turns=3 is spent"
    assert "1 turn is left: call submit before that." in json.dumps(server.calls[-1].body)


def test_what_passed_last_is_taken_before_what_was_broken_since(work):
    result, _ = work(turn(*BOTH, ("run_tests", {})), turn(write("solution.py", WRONG)), max_turns=2)
    assert result.success, result.output
    assert result.solution.code == RIGHT
    assert result.attempt_history[0].reason.startswith("the last that passed")


def test_when_the_budget_is_spent_the_result_says_so_and_a_larger_one_goes_on(work, ask):
    script = [turn(write("solution.py", WRONG)), turn(write("test_solution.py", SUITE)), turn(*BOTH, SUBMIT)]
    with ModelServer({"tools": script}) as server:
        result = ask(server, budget=Budget(max_calls=2))
        assert len(server.calls) == 2
        assert not result.success
        assert "max_calls=2 is spent" in result.error
        assert "attempt 1 failed with" in result.error
        assert result.solution.code == WRONG
        again = ask(server, budget=Budget(max_calls=1))
        assert again.success, again.output
        assert [call.is_reused for call in again.calls] == [True, True, False]
        assert len(server.calls) == 3


def test_failures_come_back_until_the_iterations_are_spent(work):
    attempts = [turn(write("solution.py", WRONG + f"# {number}\n"), SUBMIT) for number in range(5)]
    result, server = work(turn(write("test_solution.py", SUITE)), *attempts, max_iterations=2)
    assert not result.success
    assert "no success after 2 attempts" in result.error
    assert len(server.calls) == 3


def test_turns_count_over_all_candidates(work):
    attempts = [turn(write("solution.py", WRONG + f"# {number}\n"), SUBMIT) for number in range(5)]
    result, server = work(turn(write("test_solution.py", SUITE)), *attempts, max_turns=3)
    assert (len(server.calls), result.attempts) == (3, 2)
    assert "max_turns=3 is spent; attempt 2 failed with" in result.error


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply("I cannot help with that.", stop_reason="refused"), "declined to go on, after 2 turns"),
        (Reply("Hm."), "called no tool any more, after 4 turns"),
    ],
)
def test_a_model_that_stops_calling_tools_ends_the_work(work, reply, reason):
    result, server = work(turn(*BOTH), *[reply] * 3)
    assert result.success, result.output
    assert reason in result.attempt_history[0].reason
    assert len(server.calls) <= 4


def test_without_any_file_there_is_no_candidate_and_no_exception(work):
    result, _ = work(LOOK, max_turns=1)
    assert (result.success, result.attempts, result.error) == (False, 0, "max_turns=1 is spent")


def test_a_provider_that_fails_raises_with_the_calls_that_were_paid(ask):
    with ModelServer({"tools": [LOOK, HttpError(401)]}) as server, pytest.raises(ProviderError) as failure:
        ask(server)
    assert len(failure.value.calls) == 1


def long_conversation(turns: int, chars: int) -> tuple[Message, ...]:
    opening = (Message(role="system", content="s"), Message(role="user", content="the job"))
    said = [
        message
        for number in range(turns)
        for message in (
            Message(role="assistant", content="", tool_calls=(ToolCall(id=f"{number}", name="read", arguments="{}"),)),
            Message(role="user", content="", tool_results=(ToolResult(call_id=f"{number}", content="r" * chars),)),
        )
    ]
    return (*opening, *said)


def test_a_short_conversation_is_unchanged():
    messages = long_conversation(3, 100)
    assert bounded(messages, 10_000) == messages


@pytest.mark.parametrize(("turns", "chars"), [(20, 2_000), (400, 150), (5, 30_000)])
def test_a_long_conversation_is_cut_by_half_at_once_and_calls_keep_their_results(turns, chars):
    cut = bounded(long_conversation(turns, chars), 30_000)
    size = sum(len(message.text) for message in cut)
    assert size <= max(15_000, 2 * chars) + 500
    assert cut[1].content.startswith("the job")
    pairs = list(zip(cut[2::2], cut[3::2], strict=True))
    assert all(call.tool_calls[0].id == result.tool_results[0].call_id for call, result in pairs)
    assert pairs[-1][1].tool_results[0].content == "r" * chars
    assert bounded(cut, 30_000) == cut


def test_a_long_work_stays_within_its_bound_on_the_wire(work):
    big = "# " + "x" * 6_000 + "\n"
    turns = [turn(write("notes.txt", big), ("read", {"path": "notes.txt"})) for _ in range(14)]
    result, server = work(*turns, turn(*BOTH, SUBMIT))
    assert result.success, result.output
    assert max(call.size_bytes for call in server.calls) < 160_000
    assert "Earlier turns are left out" in sent(server)
