"""An agent's work from beginning to end: its tools, its judgement by the usual stages, and its messages."""

from __future__ import annotations

import json

import pytest
from agent_turns import RIGHT, SUBMIT, SUITE, WRONG, answers, sent, turn, write
from model_server import ModelServer, Reply
from row_count_job import TESTS, solution

WORKING = (
    turn(("list", {}), ("read", {"path": "samples/table", "limit": 2})),
    turn(write("solution.py", WRONG), write("test_solution.py", SUITE)),
    turn(("run_tests", {}), ("run_on_sample", {})),
    turn(("edit", {"path": "solution.py", "search": "len(lines) - 0", "replace": "len(lines) - 1"})),
    turn(("run_tests", {}), ("run_on_sample", {})),
    turn(SUBMIT),
)


@pytest.mark.parametrize(
    ("provider", "settings"),
    [
        ("openai", {}),
        ("openai", {"api": "responses"}),
        ("openai", {"stream": True}),
        ("anthropic", {}),
        ("anthropic", {"stream": True}),
    ],
)
def test_an_agent_lists_reads_writes_runs_edits_and_submits(work, provider, settings):
    result, server = work(*WORKING, provider=provider, **settings)
    assert result.success, result.output
    assert (result.attempts, len(server.calls), len(result.calls)) == (1, 6, 6)
    assert (result.solution.code, result.tests, result.plan.description) == (RIGHT, SUITE, "Counts rows.")
    assert result.attempt_history[0].action == "agent"
    assert result.report.runs[0].outputs == {"row_count": 3}
    looked, written, failed, edited, passed = answers(server)
    assert "samples/table" in looked[0]
    assert '{"a": 1, "b": 2}' in looked[1]
    assert written == ["solution.py is written", "test_solution.py is written"]
    assert "test_the_header_is_no_row" in failed[0]
    assert "row_count: 4" in failed[1]
    assert edited == ["solution.py is changed"]
    assert "row_count: 3" in passed[1]


def test_every_message_is_recorded_once_with_the_usage_of_its_call(work):
    result, server = work(*WORKING)
    said = [message["content"] for message in result.conversation_history]
    assert len(said) == 1 + 2 * len(server.calls)  # the system's, then a question and a reply for each turn
    assert sum("row_count: 3" in content for content in said) == 1
    assert result.total_input_tokens == sum(call.usage.input_tokens for call in result.calls) > 0
    assert {call.purpose for call in result.calls} == {"agent"}


def test_the_same_job_comes_to_the_same_result_by_calls_and_by_an_agent(work, ask):
    by_agent, _ = work(*WORKING)
    with ModelServer({"SolutionReply": [solution(1)], "TestsReply": [TESTS]}) as server:
        by_calls = ask(server, backend="calls")
    assert by_agent.solution.code == by_calls.solution.code
    assert by_agent.run() == by_calls.run() == (3,)
    outcomes = [[test.outcome for test in result.report.suites[0].tests] for result in (by_agent, by_calls)]
    assert outcomes[0] == outcomes[1]
    assert by_agent.environment.digest == by_calls.environment.digest


@pytest.mark.parametrize("rejects", [("tools",), ("tools", "json_schema", "json_object")])
def test_a_server_without_tools_does_the_job_by_objects_in_its_text(work, rejects):
    actions = [
        {"tool": "write", "path": "solution.py", "content": RIGHT, "search": None},
        {"tool": "write", "path": "test_solution.py", "content": SUITE},
        {"tool": "submit", "description": "d", "approach": "a"},
    ]
    result, _ = work(*actions, rejects=rejects)
    assert result.success, result.output


def test_an_agents_claims_do_not_count_and_the_failure_comes_back_to_it(work):
    result, server = work(
        turn(write("solution.py", WRONG), write("test_solution.py", SUITE), SUBMIT),
        turn(SUBMIT),
        turn(write("solution.py", RIGHT), SUBMIT),
    )
    assert result.success, result.output
    assert [attempt.action for attempt in result.attempt_history] == ["agent", "agent"]
    assert (result.attempt_history[0].cause.kind, result.attempt_history[1].parent) == ("test_failed", 1)
    first, second = answers(server)
    assert "It was judged, and failed." in first[2]
    assert "test_the_header_is_no_row" in first[2]
    assert "unchanged" in second[0]
    assert len(server.calls) == 3


def test_tests_that_assert_nothing_do_not_carry_a_submission(work):
    result, _ = work(
        turn(write("solution.py", WRONG), write("test_solution.py", "def test_it():\n    pass\n"), SUBMIT), max_turns=1
    )
    assert not result.success
    assert "asserts" in result.attempt_history[0].cause.message


def test_the_users_examples_and_tests_judge_an_agent_too(work):
    other = "from solution import count_rows\n\ndef test_more():\n    assert count_rows is not None\n"
    example = {"inputs": {"table": "a\n1\n2\n"}, "outputs": {"row_count": 2}}
    result, server = work(
        turn(write("solution.py", WRONG), write("test_solution.py", SUITE), ("run_tests", {})),
        turn(write("solution.py", RIGHT), SUBMIT),
        examples=[example],
        tests=other,
    )
    assert result.success, result.output
    assert [run.case for run in result.report.runs] == ["example 1", "samples"]
    assert "example 1" in answers(server)[0][2]


def test_scratch_tests_show_what_they_print_and_are_not_handed_in(work):
    probe = (
        "from solution import count_rows\n\ndef test_p():\n    print('seen', count_rows.__name__)\n    assert False\n"
    )
    result, server = work(
        turn(write("solution.py", RIGHT), write("probe.py", probe), ("run_tests", {"path": "probe.py"})),
        turn(write("test_solution.py", SUITE), SUBMIT),
    )
    assert result.success
    assert "seen count_rows" in answers(server)[0][2]
    assert result.tests == SUITE


def test_the_script_runs_on_files_of_the_agents_own(work):
    result, server = work(
        turn(
            write("solution.py", RIGHT),
            write("small", "a\n1\n2\n"),
            ("run_on_sample", {"values": [{"name": "table", "value": "small"}]}),
        ),
        turn(write("test_solution.py", SUITE), SUBMIT),
    )
    assert result.success
    assert "row_count: 2" in answers(server)[0][2]


def test_packages_that_are_submitted_are_installed_where_it_is_judged(work):
    uses = RIGHT.replace("import argparse", "import argparse\nimport importlib.metadata").replace(
        "    lines =", "    importlib.metadata.version('iniconfig')\n    lines ="
    )
    result, server = work(
        turn(write("solution.py", uses), write("test_solution.py", SUITE), ("run_on_sample", {})),
        turn(("run_on_sample", {"packages": ["iniconfig"]}), SUBMIT),
    )
    assert result.success, result.output
    assert "iniconfig" in answers(server)[0][2]
    assert result.solution.packages == ("iniconfig",)


def test_with_skip_tests_no_tests_are_required(work):
    result, server = work(turn(write("solution.py", RIGHT), SUBMIT), skip_tests=True)
    assert result.success, result.output
    assert "No tests are asked for" in sent(server)


def test_a_reply_without_a_call_is_answered_by_how_to_call(work):
    result, server = work(
        Reply("I think."), turn(write("solution.py", RIGHT), write("test_solution.py", SUITE), SUBMIT)
    )
    assert result.success
    assert "You called no tool" in json.dumps(server.calls[1].body["messages"][-1])
