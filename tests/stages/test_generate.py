"""Whole runs in one process: real clients against a loopback server, real environments, real sandboxes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from model_server import HttpError, ModelServer, Reply

from flyteplugins_codegen import AutoCoderAgent
from flyteplugins_codegen.errors import (
    MissingKeyError,
    ProviderError,
    SampleError,
    SandboxUnavailableError,
    SettingsError,
    TruncatedReplyError,
    UnknownModelError,
)

SALES = "quantity,price\n2,3.5\n1,1.0\n4,2.25\n"
PROMPT = "Total revenue: the sum of quantity times price; n: the number of rows."
OUTPUTS = {"total": float, "n": int}

GOOD = textwrap.dedent(
    """
    import argparse, csv

    def compute(path):
        with open(path) as file:
            rows = list(csv.DictReader(file))
        return sum(int(row["quantity"]) * float(row["price"]) for row in rows), len(rows)

    def main(argv=None):
        parser = argparse.ArgumentParser()
        parser.add_argument("--sales", required=True)
        total, n = compute(parser.parse_args(argv).sales)
        open("/var/outputs/total", "w").write(str(total))
        open("/var/outputs/n", "w").write(str(n))

    if __name__ == "__main__":
        main()
    """
).lstrip()
BUGGY = GOOD.replace("* float", "+ float")
TESTS = textwrap.dedent(
    """
    from solution import main

    def test_total(tmp_path):
        path = tmp_path / "sales"
        path.write_text("quantity,price\\n2,3.5\\n1,1.0\\n")
        main(["--sales", str(path)])
        assert float(open("/var/outputs/total").read()) == 8.0

    def test_count(tmp_path):
        path = tmp_path / "sales"
        path.write_text("quantity,price\\n2,3.5\\n")
        main(["--sales", str(path)])
        assert int(open("/var/outputs/n").read()) == 1
    """
).lstrip()
FIX = {"search": "+ float", "replace": "* float"}


def solution(code=GOOD, packages=()):
    return {"description": "d", "approach": "a", "code": code, "packages": list(packages), "system_packages": []}


def suite(code=TESTS):
    return {"test_code": code}


def repair(error_type="logic", **fields):
    return {"cause": "the cause", "error_type": error_type, "edits": [], "packages": [], "system_packages": []} | fields


@pytest.fixture
def sales(tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text(SALES)
    return path


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A separate cache for replies and reports; environments, which are slow to build, are shared by all tests."""
    shared, own = Path(os.environ["FLYTE_CODEGEN_CACHE"]), tmp_path / "cache"
    own.mkdir()
    for folder in ("layers", "environments", "locks", "uv"):
        (shared / folder).mkdir(exist_ok=True)
        (own / folder).symlink_to(shared / folder)
    monkeypatch.setenv("FLYTE_CODEGEN_CACHE", str(own))
    return own


def agent_for(server, **settings):
    return AutoCoderAgent(model="openai/scripted", api_base=server.url, **settings)


def generate(script, sales, **arguments):
    settings = {name: arguments.pop(name) for name in tuple(arguments) if name in AutoCoderAgent.model_fields}
    with ModelServer(script) as server:
        result = agent_for(server, **settings).generate(
            PROMPT, **{"samples": {"sales": sales}, "outputs": OUTPUTS, **arguments}
        )
    return result, server


def kinds(result):
    return [attempt.cause.kind if attempt.cause else None for attempt in result.attempt_history]


def test_a_right_first_answer_takes_two_calls(sales, cache):
    result, server = generate({"SolutionReply": [solution()], "TestsReply": [suite()]}, sales)
    assert result.success, result.output
    assert len(server.calls) == 2
    assert (result.attempts, result.exit_code, result.error) == (1, 0, None)
    assert result.plan.description == "d"
    assert result.report.runs[0].outputs == {"total": 17.0, "n": 3}
    assert [test.outcome for test in result.report.suites[0].tests] == ["passed", "passed"]
    assert result.total_input_tokens > 0
    assert len(result.conversation_history) == 6
    assert result.run() == (17.0, 3)


def test_a_logic_error_takes_one_call_more(sales, cache):
    result, server = generate(
        {"SolutionReply": [solution(BUGGY)], "TestsReply": [suite()], "RepairReply": [repair(edits=[FIX])]}, sales
    )
    assert result.success, result.output
    assert len(server.calls) == 3
    assert kinds(result) == ["test_failed", None]
    assert result.attempt_history[1].reason == "the cause"
    assert result.solution.code == GOOD


def test_a_fenced_reply_is_unfenced(sales, cache):
    script = {"SolutionReply": [solution(f"Here:\n```python\n{GOOD}```")], "TestsReply": [suite(f"```\n{TESTS}```")]}
    result, _ = generate(script, sales)
    assert result.success, result.output
    assert "```" not in result.solution.code + result.tests


@pytest.mark.parametrize("where", ["top", "lazy"])
def test_a_package_that_the_reply_does_not_list_costs_no_call(sales, cache, where):
    code = "import humanize\n" + GOOD if where == "top" else GOOD.replace("    with", "    import humanize\n    with")
    result, server = generate({"SolutionReply": [solution(code)], "TestsReply": [suite()]}, sales)
    assert result.success, result.output
    assert len(server.calls) == 2
    assert result.detected_packages == ["humanize"]


def test_a_module_found_missing_only_by_running_is_added_without_a_call(sales, cache):
    code = GOOD.replace("    with", '    __import__("human" + "ize")\n    with')
    result, server = generate({"SolutionReply": [solution(code)], "TestsReply": [suite()]}, sales)
    assert result.success, result.output
    assert len(server.calls) == 2
    assert kinds(result) == ["missing_module", None]
    assert [attempt.action for attempt in result.attempt_history] == ["first_draft", "add_packages"]


def test_a_command_that_this_machine_lacks_costs_no_call_and_is_named_with_the_remedy(sales, cache):
    code = GOOD.replace(
        "    total, n = compute", '    __import__("subprocess").run(["wkhtmltopdf"])\n    total, n = compute'
    )
    result, server = generate({"SolutionReply": [solution(code)], "TestsReply": [suite()]}, sales)
    assert not result.success
    assert len(server.calls) == 2
    assert [attempt.action for attempt in result.attempt_history] == ["first_draft", "add_system_packages"]
    assert "apt-get install wkhtmltopdf" in result.error
    assert result.detected_system_packages == ["wkhtmltopdf"]


def test_a_repair_that_cannot_be_used_twice_is_recorded_and_the_next_prompt_says_why(sales, cache):
    nowhere = repair(edits=[{"search": "not there", "replace": "x"}])
    script = {
        "SolutionReply": [solution(BUGGY)],
        "TestsReply": [suite()],
        "RepairReply": [nowhere, nowhere, repair(edits=[FIX])],
    }
    with ModelServer(script) as server:
        agent = agent_for(server)
        result = agent.generate(PROMPT, samples={"sales": sales}, outputs=OUTPUTS)
        assert result.success, result.error
        assert len(server.calls) == 5
        assert "- Nothing was changed: the reply cannot be applied" in server.calls[4].body["messages"][-1]["content"]
        again = agent.generate(PROMPT, samples={"sales": sales}, outputs=OUTPUTS)
        assert len(server.calls) == 5
    assert kinds(again) == kinds(result) == ["test_failed", "test_failed", None]
    assert [attempt.action for attempt in result.attempt_history] == ["first_draft", "repair", "repair"]
    vain = result.attempt_history[1]
    assert (vain.parent, vain.blame, vain.candidate) == (1, None, result.attempt_history[0].candidate)
    assert "the reply cannot be applied" in vain.unusable


def test_a_repair_sees_the_smallest_case_its_variables_and_what_was_tried(sales, cache):
    broken = GOOD.replace("return sum(", "divisor = len(rows) - len(rows)\n    len(rows) / divisor\n    return sum(")
    script = {
        "SolutionReply": [solution(broken)],
        "TestsReply": [suite()],
        "RepairReply": [
            repair(cause="A guess.", edits=[{"search": "len(rows) / divisor", "replace": "1 / divisor"}]),
            repair(code=GOOD),
        ],
    }
    result, server = generate(script, sales)
    assert result.success, result.output
    first, second = (call.body["messages"][-1]["content"] for call in server.calls[2:])
    assert "divisor = 0" in first
    assert "Failed by the same exception: test_total, test_count" in first
    assert "## Where to look\nsolution.py: the script on the samples failed" in second
    assert "- The solution was changed: A guess. It then failed with exception" in second
    assert [attempt.blame for attempt in result.attempt_history] == [None, "solution", "solution"]
    assert [attempt.parent for attempt in result.attempt_history] == [None, 1, 2]


def test_a_failure_that_comes_back_blames_the_tests_and_a_wrong_test_is_repaired(sales, cache):
    wrong = TESTS.replace("8.0", "9.0")
    script = {
        "SolutionReply": [solution()],
        "TestsReply": [suite(wrong)],
        "RepairReply": [
            repair(edits=[{"search": "def compute", "replace": "# unchanged\ndef compute"}]),
            repair("test_error", edits=[{"search": "9.0", "replace": "8.0"}]),
        ],
    }
    result, server = generate(script, sales)
    assert result.success, result.output
    assert "Where to look" not in server.calls[2].body["messages"][-1]["content"]
    assert "test_solution.py: the same failure came back" in server.calls[3].body["messages"][-1]["content"]
    assert result.attempt_history[2].blame == "tests"
    assert "came back after attempt 2 changed the solution" in result.attempt_history[2].blame_reason


def test_an_unknown_package_fails_the_candidate_and_a_repair_replaces_it(sales, cache):
    name = "no-such-distribution-of-anybody"
    result, server = generate(
        {
            "SolutionReply": [solution(packages=[name])],
            "TestsReply": [suite()],
            "RepairReply": [repair("environment", packages=["humanize"])],
        },
        sales,
    )
    assert result.success, result.output
    assert len(server.calls) == 3
    assert kinds(result) == ["package_unavailable", None]
    assert name in result.attempt_history[0].cause.message
    assert result.detected_packages == ["humanize"]


def test_an_unavailable_base_package_is_no_candidates_fault(sales, cache):
    with ModelServer({"SolutionReply": [solution()], "TestsReply": [suite()]}) as server:
        agent = agent_for(server, base_packages=["no-such-distribution-of-anybody"])
        with pytest.raises(SettingsError, match=r"base_packages: .*no-such-distribution-of-anybody"):
            agent.generate(PROMPT, samples={"sales": sales}, outputs=OUTPUTS)
        assert len(server.calls) == 2


def test_tests_that_import_an_unknown_package_are_repaired(sales, cache):
    script = {
        "SolutionReply": [solution()],
        "TestsReply": [suite("import no_such_module_of_anybody\n" + TESTS)],
        "RepairReply": [repair("test_error", test_code=TESTS)],
    }
    result, _ = generate(script, sales)
    assert kinds(result) == ["package_unavailable", None]
    assert len(list(cache.glob("reports/*/*.json"))) == 1


def test_a_syntax_error_goes_to_the_repair_as_the_parser_reports_it(sales, cache):
    script = {
        "SolutionReply": [solution(GOOD.replace("def compute(path):", "def compute(path:"))],
        "TestsReply": [suite()],
        "RepairReply": [repair(code=GOOD)],
    }
    result, server = generate(script, sales)
    assert result.success, result.output
    assert kinds(result) == ["syntax_error", None]
    asked = json.dumps(server.calls[2].body)
    assert "def compute(path:" in asked
    assert "line 3" in asked


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (('open("/var/outputs/n", "w").write(str(n))', "pass"), "missing_output"),
        (("write(str(n))", 'write("three")'), "invalid_output"),
        (("total, n = compute", 'raise ValueError("no")\n    total, n = compute'), "exception"),
        (("total, n = compute", "import os; os._exit(0)\n    total, n = compute"), "missing_output"),
        (("total, n = compute", "while True: pass\n    total, n = compute"), "timed_out"),
    ],
)
def test_the_contract_run_finds_what_no_test_looks_for(sales, cache, change, kind):
    script = {"SolutionReply": [solution(GOOD.replace(*change))], "RepairReply": [repair(code=GOOD)]}
    result, _ = generate(script, sales, skip_tests=True, timeout_s=3)
    assert result.success, result.output
    assert kinds(result) == [kind, None]


def test_generated_tests_that_pass_cannot_outvote_an_example(sales, cache):
    agreeing = TESTS.replace("== 8.0", "== 7.5")
    script = {
        "SolutionReply": [solution(BUGGY)],
        "TestsReply": [suite(agreeing)],
        "RepairReply": [repair(edits=[FIX], test_code=TESTS)],
    }
    example = {"inputs": {"sales": "quantity,price\n3,3.0\n"}, "outputs": {"total": 9.0}}
    result, server = generate(script, sales, examples=[example])
    assert kinds(result) == ["wrong_output", None]
    assert "expected 9.0, found 6.0" in result.attempt_history[0].cause.message
    assert len(server.calls) == 3
    assert result.success, result.output


def test_the_users_tests_are_run_and_no_repair_edits_them(sales, cache):
    users = TESTS.replace("test_total", "test_mine")
    script = {
        "SolutionReply": [solution(BUGGY)],
        "TestsReply": [suite(TESTS.replace("8.0", "7.5"))],
        "RepairReply": [
            # It blames the tests, and would change the user's tests to accept the bug if it could.
            repair("test_error", edits=[{"search": "7.5", "replace": "7.50"}]),
            repair(edits=[FIX], test_code=TESTS),
        ],
    }
    result, server = generate(script, sales, tests=users)
    assert result.success, result.output
    assert kinds(result) == ["test_failed", None]
    assert "the user's tests failed, which is right by definition" in server.calls[3].body["messages"][-1]["content"]
    assert [s.origin for s in result.report.suites] == ["user", "generated"]
    assert "test_mine" in result.report.suites[0].expected
    assert result.attempt_history[0].cause.subject == "test_mine"


def test_a_wrong_generated_test_is_repaired_and_the_code_left_alone(sales, cache):
    script = {
        "SolutionReply": [solution()],
        "TestsReply": [suite(TESTS.replace("8.0", "9.0"))],
        "RepairReply": [repair("test_error", edits=[{"search": "9.0", "replace": "8.0"}])],
    }
    result, _ = generate(script, sales)
    assert result.success, result.output
    assert result.solution.code == GOOD
    assert result.tests == TESTS


def test_an_edit_that_does_not_apply_is_reported_back_once(sales, cache):
    script = {
        "SolutionReply": [solution(BUGGY)],
        "TestsReply": [suite()],
        "RepairReply": [repair(edits=[{"search": "not there", "replace": "x"}]), repair(edits=[FIX])],
    }
    result, server = generate(script, sales)
    assert result.success, result.output
    assert len(server.calls) == 4
    assert "not there" in server.calls[3].body["messages"][-1]["content"]


def test_without_success_the_run_ends_with_the_last_candidate_and_its_cause(sales, cache):
    script = {
        "SolutionReply": [solution(BUGGY)],
        "TestsReply": [suite()],
        "RepairReply": [repair(edits=[{"search": "+ float", "replace": "- float"}])],
    }
    result, server = generate(script, sales, max_iterations=2)
    assert not result.success
    assert len(server.calls) == 3
    assert result.attempts == 2
    assert result.exit_code != 0
    assert "test_total" in result.error
    assert "- float" in result.solution.code


@pytest.mark.parametrize(
    ("tests", "kind"),
    [("x = 1\n", "nothing_ran"), (TESTS.replace("assert ", "_ = "), "broken_tests"), ("def test_(:\n", "broken_tests")],
)
def test_tests_that_cannot_judge_are_no_pass(sales, cache, tests, kind):
    script = {
        "SolutionReply": [solution()],
        "TestsReply": [suite(tests)],
        "RepairReply": [repair("test_error", test_code=TESTS)],
    }
    result, _ = generate(script, sales)
    assert kinds(result) == [kind, None]


def test_a_reply_cut_off_twice_is_an_error_of_its_own_and_never_the_code(sales, cache):
    cut = Reply('{"description": "d", "code": "impor', stop_reason="truncated", output_tokens=11)
    with (
        ModelServer({"SolutionReply": [cut, cut], "TestsReply": [suite()]}) as server,
        pytest.raises(TruncatedReplyError, match="cut off") as caught,
    ):
        agent_for(server).generate(PROMPT, samples={"sales": sales}, outputs=OUTPUTS)
    # The call for the tests is accounted for too.
    assert [(call.purpose, call.usage.output_tokens) for call in caught.value.calls][:2] == [("solution", 11)] * 2
    assert [call.purpose for call in caught.value.calls] == ["solution", "solution", "tests"]


def test_two_agents_with_their_own_endpoints_and_keys_do_not_mix(sales, cache, monkeypatch):
    monkeypatch.setenv("KEY_A", "sk-of-a")
    monkeypatch.setenv("KEY_B", "sk-of-b")
    script = {"SolutionReply": [solution()], "TestsReply": [suite()]}

    async def both(servers):
        agents = [agent_for(server, api_key=key) for server, key in zip(servers, ("KEY_A", "KEY_B"), strict=True)]
        jobs = [agent.generate.aio(PROMPT, samples={"sales": sales}, outputs=OUTPUTS) for agent in agents]
        return await asyncio.gather(*jobs)

    with ModelServer(script) as first, ModelServer(script) as second:
        results = asyncio.run(both((first, second)))
    assert all(result.success for result in results)
    for server, key in ((first, "sk-of-a"), (second, "sk-of-b")):
        assert {call.headers["authorization"] for call in server.calls} == {f"Bearer {key}"}
        assert len(server.calls) == 2
    assert "sk-of" not in "".join(result.model_dump_json() for result in results)


@pytest.mark.parametrize(("content", "message"), [(b"PAR1\x00\x00PAR1", "Parquet"), (b"\x00\x01\x02", "binary")])
def test_a_sample_that_is_not_what_its_name_says_is_refused_before_anything_is_sent(sales, cache, content, message):
    sales.write_bytes(content)
    with ModelServer({}) as server, pytest.raises(SampleError, match=rf"sample 'sales'.*{message}"):
        agent_for(server).generate(PROMPT, samples={"sales": sales}, outputs=OUTPUTS)
    assert server.calls == ()


def test_an_unreachable_api_base_names_the_address(sales, cache):
    agent = AutoCoderAgent(model="openai/x", api_base="http://127.0.0.1:9/v1")
    with pytest.raises(ProviderError, match=r"127\.0\.0\.1:9"):
        agent.generate(PROMPT, samples={"sales": sales}, outputs=OUTPUTS)


def test_an_unknown_model_and_a_missing_key_are_errors_before_anything_is_sent(sales, cache):
    with pytest.raises(UnknownModelError, match="palm"):
        AutoCoderAgent(model="palm-9").generate(PROMPT, samples={"sales": sales}, outputs=OUTPUTS)
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        AutoCoderAgent(model="gpt-4.1").generate(PROMPT, samples={"sales": sales}, outputs=OUTPUTS)


def test_without_a_sandbox_nothing_is_spent(sales, cache):
    with ModelServer({}) as server, pytest.raises(SandboxUnavailableError, match="container"):
        agent_for(server, sandbox="container").generate(PROMPT, samples={"sales": sales}, outputs=OUTPUTS)
    assert server.calls == ()


def test_an_unisolated_run_says_so(sales, cache):
    result, _ = generate({"SolutionReply": [solution()], "TestsReply": [suite()]}, sales, sandbox="none")
    assert result.success, result.output
    assert result.report.isolation == ("none",)


def test_a_provider_that_fails_midway_loses_nothing(sales, cache):
    script = {
        "SolutionReply": [solution(BUGGY)],
        "TestsReply": [suite()],
        "RepairReply": [HttpError(401), repair(edits=[FIX])],
    }
    with ModelServer(script) as server:
        agent = agent_for(server)
        with pytest.raises(ProviderError):
            agent.generate(PROMPT, samples={"sales": sales}, outputs=OUTPUTS)
        assert len(server.calls) == 3
        result = agent.generate(PROMPT, samples={"sales": sales}, outputs=OUTPUTS)
    assert result.success, result.output
    assert len(server.calls) == 4
    assert [call.is_reused for call in result.calls] == [True, True, False]


@pytest.mark.parametrize(("replies_kept", "calls_made"), [(1, 4), (2, 3), (3, 3)])
def test_a_run_killed_after_any_reply_is_taken_up_without_paying_for_it_again(sales, cache, replies_kept, calls_made):
    script = {
        "SolutionReply": [solution(BUGGY)],
        # Late, so that it is in flight when the solution's reply is kept: this call alone is made again.
        "TestsReply": [Reply(suite(), delay_s=0.5)],
        "RepairReply": [repair(edits=[FIX])],
    }
    program = (
        "import sys\nfrom flyteplugins_codegen import AutoCoderAgent\n"
        "result = AutoCoderAgent(model='openai/scripted', api_base=sys.argv[1]).generate("
        f"{PROMPT!r}, samples={{'sales': sys.argv[2]}}, outputs={{'total': 'float', 'n': 'int'}})\n"
        "print(result.success, sum(not call.is_reused for call in result.calls))\n"
    )
    with ModelServer(script, repeat_last=True) as server:
        command = [sys.executable, "-c", program, server.url, str(sales)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as first:
            while len(list(cache.glob("replies/*/*.json"))) < replies_kept and first.poll() is None:
                time.sleep(0.002)
            first.send_signal(signal.SIGKILL)
        again = subprocess.run(command, capture_output=True, text=True, check=True)
        assert again.stdout.split() == ["True", str(3 - replies_kept)]
        assert len(server.calls) == calls_made
        once_more = subprocess.run(command, capture_output=True, text=True, check=True)
        assert once_more.stdout.split() == ["True", "0"]
        assert len(server.calls) == calls_made
