"""Generated tests are tested by mutants, from the first reply to the result: a scripted model, real sandboxes."""

from __future__ import annotations

from collections import Counter

import pytest
import row_count_job as job
from model_server import HttpError, ModelServer

from flyteplugins_codegen import AutoCoderAgent
from flyteplugins_codegen.llm.prompts import JobBrief, stronger_messages
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution, Request
from flyteplugins_codegen.models.run import Attempt, Run, ScriptRun, SuiteReport, TestOutcome, TestReport, TestStrength
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import Budget, ModelCall
from flyteplugins_codegen.stages.actions import Finish, MeasureStrength, StrengthenTests
from flyteplugins_codegen.stages.loop import next_action
from flyteplugins_codegen.stages.strength import measure_part, parts_of, strength_of, with_parts

# It passes whatever `main` does.
WEAK = {"test_code": "from solution import main\n\n\ndef test_main_is_there():\n    assert main is not None\n"}
CALLS_ONLY = """\
from pathlib import Path

from solution import main


def test_rows(tmp_path):
    (tmp_path / "table").write_text("a,b\\n1,2\\n")
    main(["--table", str(tmp_path / "table")])
    rows = Path("/var/outputs/row_count").read_text()
"""

# It asserts a value, and no mutant fails it.
THIN = {"test_code": CALLS_ONLY + "    assert int(rows) < 5\n"}
WRONG_TEST = """

def test_wrong(tmp_path):
    (tmp_path / "table").write_text("a,b\\n1,2\\n")
    main(["--table", str(tmp_path / "table")])
    assert Path("/var/outputs/row_count").read_text() == "99"
"""


def generate(table, script, prompt, *, calls, **settings):
    """Generate with this prompt, check how often each reply was asked for, and return the result."""
    with ModelServer(script) as server:
        agent = AutoCoderAgent(model="openai/any", api_base=server.url, **settings)
        result = agent.generate(prompt, samples={"table": table}, outputs=job.OUTPUTS)
        asked = Counter(call.name for call in server.calls)
    assert asked == Counter(list(calls))
    return result


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return job.write_table(tmp_path_factory.mktemp("strength") / "table.csv", rows=3)


def test_tests_that_kill_every_mutant_need_no_further_call(table):
    script = {"SolutionReply": [job.solution()], "TestsReply": [job.TESTS]}
    result = generate(table, script, "strong", calls=["SolutionReply", "TestsReply"])
    assert result.success
    assert (result.test_strength, result.surviving_mutants) == (1.0, ())
    assert "test strength 1.00" in repr(result)


def test_parts_together_have_the_strength_of_the_whole(table):
    script = {"SolutionReply": [job.solution()], "TestsReply": [job.TESTS]}
    result = generate(table, script, "in parts", calls=script)
    (attempt,) = result.attempt_history
    run = Run(settings=result.settings, request=result.request, attempts=(attempt,))
    measured = [measure_part(run, part, 3) for part in range(3)]
    assert len({part.total for part in measured}) <= 2
    together = with_parts(run, measured).attempts[0].strength
    assert together.model_copy(update={"wall_s": 0.0}) == attempt.strength.model_copy(update={"wall_s": 0.0})
    assert parts_of(run) == 1


def test_weak_tests_are_strengthened_by_one_call(table):
    script = {"SolutionReply": [job.solution()], "TestsReply": [WEAK], "StrongerTestsReply": [job.TESTS]}
    result = generate(table, script, "weak", calls=script)
    assert result.success
    assert result.test_strength == 1.0
    weak, strong = result.attempt_history
    assert weak.strength.share == 0
    assert any("count_rows: `+` for `-`" in survivor for survivor in weak.strength.survivors)
    assert "-    return len(lines) - 1\n+    return len(lines) + 1" in weak.strength.diffs
    assert len(weak.strength.diffs) == len(weak.strength.survivors)
    assert (strong.action, strong.parent, strong.candidate.solution) == ("strengthen_tests", 1, weak.candidate.solution)
    assert "def test_main_is_there" in result.tests
    assert "def test_the_header_is_no_row" in result.tests
    (prompt,) = [m["content"] for m in result.conversation_history if "Wrong versions that pass" in m["content"]]
    for survivor, diff in zip(weak.strength.survivors, weak.strength.diffs, strict=True):
        assert f"{survivor}\n{diff}\n" in prompt


def test_a_mistake_that_only_the_stronger_tests_find_is_repaired(table):
    script = {
        "SolutionReply": [job.solution(0)],
        "TestsReply": [WEAK],
        "StrongerTestsReply": [job.TESTS],
        "RepairReply": [job.repair(0, 1)],
    }
    result = generate(table, script, "found", calls=script)
    assert result.success
    assert [attempt.action for attempt in result.attempt_history] == ["first_draft", "strengthen_tests", "repair"]
    assert result.test_strength == 1.0


@pytest.mark.parametrize(
    ("added", "budget", "kept"),
    [
        (job.TESTS["test_code"] + WRONG_TEST, 3, True),
        (job.TESTS["test_code"] + WRONG_TEST, 4, True),
        (job.TESTS["test_code"].replace('"2"', '"3"'), 3, False),
        ("import solution_of_others\n" + job.TESTS["test_code"], 3, False),
    ],
)
def test_a_solution_that_passed_is_not_given_up_for_added_tests_that_are_wrong(table, added, budget, kept):
    script = {
        "SolutionReply": [job.solution()],
        "TestsReply": [THIN],
        "StrongerTestsReply": [{"test_code": added}],
        "RepairReply": [job.repair(1, 0)],
    }
    asked = list(script)[:budget]
    result = generate(table, script, f"wrong {added}", calls=asked, budget=Budget(max_calls=budget))
    assert result.success
    assert result.solution.code == job.code()
    assert result.test_strength == (1.0 if kept else 0.0)
    assert all("no repair settled it" in test.reason for test in result.dropped_tests)
    assert [test.name for test in result.dropped_tests] == ["test_wrong" if kept else "test_the_header_is_no_row"]


@pytest.mark.parametrize(
    ("reply", "calls"),
    [(THIN, 2), ({"test_code": "def test_a():\n    f()\n"}, 2), ({"test_code": "def test(:"}, 2), (HttpError(400), 1)],
)
def test_without_a_usable_reply_the_run_ends_with_the_strength_that_it_has(table, reply, calls):
    script = {"SolutionReply": [job.solution()], "TestsReply": [THIN], "StrongerTestsReply": [reply] * calls}
    asked = ["SolutionReply", "TestsReply", *["StrongerTestsReply"] * calls]
    result = generate(table, script, f"unusable {reply}", calls=asked)
    assert result.success
    assert result.test_strength == 0
    assert len(result.surviving_mutants) == 2


READABLE = {
    "test_code": CALLS_ONLY
    + "    assert rows.strip()\n    assert int(rows) >= 0\n\n\n"
    + "def test_a_missing_file_is_an_error():\n    with pytest.raises(OSError):\n        main(['--table', 'none'])\n"
}
READABLE["test_code"] = "import pytest\n" + READABLE["test_code"]


def test_tests_that_assert_no_value_of_an_output_have_no_strength_and_are_strengthened(table):
    script = {"SolutionReply": [job.solution()], "TestsReply": [READABLE], "StrongerTestsReply": [job.TESTS]}
    result = generate(table, script, "readable", calls=script)
    weak, strong = result.attempt_history
    assert (weak.strength.share, weak.strength.reason) == (0.0, "no test asserts a value of the output row_count")
    assert weak.strength.survivors
    assert strong.reason.startswith("no test asserts a value of the output row_count; ")
    (prompt,) = [m["content"] for m in result.conversation_history if "Wrong versions that pass" in m["content"]]
    assert prompt.endswith(
        "Above all: no test asserts a value of the output row_count. Assert values of every output, worked out by hand."
    )
    assert (result.test_strength, strong.strength.reason) == (1.0, "")


@pytest.mark.parametrize(
    ("replies", "settings"),
    [
        ([], {"budget": Budget(max_calls=2)}),
        ([], {"max_iterations": 1}),
        ([{"test_code": READABLE["test_code"].replace("def test_", "def test_again_")}], {}),
    ],
)
def test_a_right_solution_is_no_success_by_tests_that_assert_no_value(table, replies, settings):
    script = {"SolutionReply": [job.solution()], "TestsReply": [READABLE], "StrongerTestsReply": replies}
    asked = ["SolutionReply", "TestsReply", *["StrongerTestsReply"] * len(replies)]
    result = generate(table, script, f"vacuous {settings}", calls=asked, **settings)
    assert not result.success
    assert result.solution.code == job.code()
    assert (
        "passed, but nothing shows that its values are right: no test asserts a value of the output row_count; add an"
        in (result.error)
    )


def test_parts_of_a_measurement_keep_why_the_strength_is_0():
    parts = [TestStrength(share=0.0, killed=2, total=2, made=2, reason="why"), TestStrength(share=None)]
    strength = with_parts(run_of(), parts).attempts[0].strength
    assert (strength.share, strength.killed, strength.reason) == (0.0, 2, "why")


def test_a_strength_without_a_reason_is_saved_and_read_as_before_there_were_reasons():
    strength = TestStrength.model_validate({"share": 0.5, "killed": 1, "total": 2, "made": 2})
    assert strength.reason == ""
    assert "reason" not in strength.model_dump_json()
    assert "why" in TestStrength(share=0.0, reason="why").model_dump_json()


def test_a_request_for_stronger_tests_says_nothing_new_where_values_are_asserted():
    candidate = run_of().attempts[0].candidate
    brief = JobBrief(request=Request(prompt="p"))
    assert stronger_messages(brief, candidate, ("a",)) == stronger_messages(brief, candidate, ("a",), "")
    assert stronger_messages(brief, candidate, ("a",))[-1].content.endswith("\na")
    assert stronger_messages(brief, candidate, ("a",), "no value of total")[-1].content.endswith("worked out by hand.")


@pytest.mark.parametrize(
    ("settings", "strength"),
    [({"min_test_strength": 0.0}, 0.0), ({"budget": Budget(max_calls=2)}, 0.0), ({"max_iterations": 1}, 0.0)],
)
def test_no_call_is_made_if_it_is_not_wanted_or_cannot_be_afforded(table, settings, strength):
    script = {"SolutionReply": [job.solution()], "TestsReply": [THIN]}
    result = generate(table, script, f"not asked {settings}", calls=["SolutionReply", "TestsReply"], **settings)
    assert result.success
    assert result.test_strength == strength


def test_without_generated_tests_nothing_is_measured(table):
    script = {"SolutionReply": [job.solution()]}
    result = generate(table, script, "untested", calls=["SolutionReply"], skip_tests=True)
    assert result.success
    assert result.test_strength is None


@pytest.mark.parametrize(
    "check",
    [
        "",
        "    assert True\n",
        "    assert rows == rows\n",
        "    try:\n        assert rows == '7'\n    except AssertionError:\n        pass\n",
    ],
)
def test_a_wrong_solution_is_no_success_by_tests_that_assert_nothing(table, check):
    script = {"SolutionReply": [job.solution(0)], "TestsReply": [{"test_code": CALLS_ONLY + check}]}
    result = generate(table, script, "nothing", calls=["SolutionReply", "TestsReply"], max_iterations=1)
    assert not result.success
    assert "no test asserts anything" in result.error
    assert result.test_strength == 0


@pytest.mark.parametrize(
    ("tests", "settings", "share"),
    [
        (None, {}, None),
        ("def test(:", {}, None),
        ("def test_f():\n    assert f() == 1\n", {"sandbox": "none"}, None),
        ("def test_f():\n    assert f() == 1\n", {"skip_tests": True}, None),
        ("def test_f():\n    assert f() == 1\n", {}, None),  # the code has no place for a mistake
    ],
)
def test_the_strength_without_any_mutant(tests, settings, share):
    run = run_of(tests=tests, settings=settings)
    assert strength_of(run, run.attempts[0]) == TestStrength(share=share)


def test_tests_that_assert_nothing_have_the_strength_0_and_a_reason():
    run = run_of(tests="def test_f():\n    f()\n")
    assert strength_of(run, run.attempts[0]) == TestStrength(share=0.0, reason="no test asserts anything")


# --- the decision -----------------------------------------------------------------------------------------------------

STRENGTH = TestStrength(share=0.5, killed=1, total=2, made=2, survivors=("line 1, f: `-` for `+`",))


ASKED = (ModelCall(purpose="stronger_tests", model="m"),)
PASSED = TestReport(runs=(ScriptRun(case="samples", status="exited"),))


def run_of(strength=None, tests="def test(): ...", report=PASSED, **changes):
    candidate = Candidate(plan=CodePlan(description="", approach=""), solution=CodeSolution(code="x"), tests=tests)
    attempt = Attempt(number=1, action="first_draft", reason="r", candidate=candidate, report=report, strength=strength)
    settings = Settings(model="openai/any", **changes.pop("settings", {}))
    return Run(settings=settings, request=Request(prompt="p"), attempts=(attempt,), **changes)


@pytest.mark.parametrize(
    ("run", "action"),
    [
        (run_of(), MeasureStrength),
        (run_of(tests=None), Finish),
        (run_of(settings={"skip_tests": True}), Finish),
        (run_of(STRENGTH), StrengthenTests),
        (run_of(TestStrength()), Finish),
        (run_of(STRENGTH, stopped="spent"), Finish),
        (run_of(STRENGTH, settings={"min_test_strength": 0.5}), Finish),
        (run_of(STRENGTH, settings={"max_iterations": 1}), Finish),
        (run_of(STRENGTH, settings={"backend": "agent"}), Finish),
        (run_of(STRENGTH, calls=ASKED), Finish),
    ],
)
def test_the_action_after_a_candidate_that_passed(run, action):
    assert isinstance(next_action(run), action)


VACUOUS = STRENGTH.model_copy(update={"share": 0.0, "reason": "no test asserts a value of the output n"})
ON_EXAMPLE = TestReport(runs=(ScriptRun(case="samples", status="exited"), ScriptRun(case="example 1", status="exited")))
BY_USER = TestReport(
    suites=(SuiteReport(origin="user", expected=("test_n",), tests=(TestOutcome(name="test_n", outcome="passed"),)),)
)


@pytest.mark.parametrize(
    ("run", "succeeds"),
    [
        (run_of(VACUOUS, calls=ASKED), False),
        (run_of(VACUOUS, stopped="the budget is spent"), False),
        (run_of(VACUOUS, settings={"backend": "agent"}), False),
        (run_of(VACUOUS, report=ON_EXAMPLE, calls=ASKED), True),
        (run_of(VACUOUS, report=BY_USER, calls=ASKED), True),
        (run_of(VACUOUS, settings={"min_test_strength": 0.0}), True),
        (run_of(STRENGTH, calls=ASKED), True),
    ],
)
def test_success_never_rests_on_tests_that_assert_no_value_alone(run, succeeds):
    finish = next_action(run)
    assert isinstance(finish, Finish)
    assert finish.success == succeeds
    assert ("a value of the output n; add an example" in finish.reason) != succeeds
