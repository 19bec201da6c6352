"""A second computation beside the solution: from the model's replies to the result, against a loopback server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import large_sales_job as job
import pytest
from model_server import ModelServer

from flyteplugins_codegen import AutoCoderAgent, CodeGenEvalResult
from flyteplugins_codegen.models.reference import ReferenceReport

RIGHT, WRONG = job.solution(job.code(job.RIGHT)), job.solution(job.code(job.WRONG))
NOT_USABLE = {"cause": "Nothing is wrong.", "error_type": "logic"}


@pytest.fixture
def sales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLYTE_CODEGEN_CACHE", str(tmp_path / "cache"))
    return job.write_sample(tmp_path / "sales.csv")


def generate(server: ModelServer, sales: Path, prompt: str = job.PROMPT, **settings: Any) -> CodeGenEvalResult:
    arguments = {name: settings.pop(name) for name in ("examples", "tests") if name in settings}
    settings.setdefault("min_test_strength", 0)
    agent = AutoCoderAgent(model="openai/m", api_base=server.url, **settings)
    return agent.generate(prompt, samples={"sales": sales}, outputs=job.OUTPUTS, **arguments)


def report(result: CodeGenEvalResult) -> ReferenceReport:
    assert result.report is not None
    assert result.report.reference is not None
    return result.report.reference


def last_prompt(server: ModelServer) -> str:
    return str(server.calls[-1].body["messages"][-1]["content"])


def asked(server: ModelServer) -> list[str]:
    return [call.name for call in server.calls]


def test_where_both_agree_the_first_draft_takes_two_calls_and_the_cases_are_told(sales):
    with ModelServer({"SolutionReply": [RIGHT], "TestsReply": [job.tests(job.reference())]}) as server:
        result = generate(server, sales)
        assert sorted(asked(server)) == ["SolutionReply", "TestsReply"]
    assert result.success, result.error
    assert report(result).agreed[0] == "samples"
    assert len(report(result).agreed) > 3
    page = Path(result.save(sales.parent / "saved") / "report.html").read_text()
    assert f"same outputs on {len(report(result).agreed)} cases" in page
    assert not (sales.parent / "saved" / "reference.py").exists()


def test_a_wrong_solution_that_passes_its_tests_is_repaired_on_the_row_that_shows_it(sales):
    mended = job.repair("logic", edits=[{"search": "amount > 10", "replace": "amount >= 10"}])
    script = {"SolutionReply": [WRONG], "TestsReply": [job.tests(job.reference())], "RepairReply": [mended]}
    with ModelServer(script) as server:
        result = generate(server, sales)
        prompt = last_prompt(server)
        assert len(server.calls) == 3
    assert result.success, result.error
    assert result.run() == (180.0, 5)
    first = result.attempt_history[0].report
    assert first is not None
    assert first.reference is not None
    assert first.reference.difference is not None
    assert first.reference.difference.row_count == 1
    assert "On these 1 rows of sales:\nid,amount\n3,10\n" in prompt
    assert "solution.py 0" in prompt
    assert "reference.py 10" in prompt
    assert job.reference().strip() in prompt


def test_a_wrong_reference_is_mended_in_its_turn(sales):
    mended = job.repair("reference_error", edits=[{"search": "amount > 10", "replace": "amount >= 10"}])
    script = {"SolutionReply": [RIGHT], "TestsReply": [job.tests(job.reference(job.WRONG))], "RepairReply": [mended]}
    with ModelServer(script) as server:
        result = generate(server, sales)
    assert result.success, result.error
    assert result.attempt_history[-1].blame == "reference"
    assert result.solution.code == job.code()
    assert report(result).agrees


def test_a_third_computation_decides_for_the_reference(sales):
    third = job.solution(job.code("not amount < 10"))
    script = {
        "SolutionReply": [WRONG, third],
        "TestsReply": [job.tests(job.reference())],
        "RepairReply": [NOT_USABLE, NOT_USABLE],
    }
    with ModelServer(script) as server:
        result = generate(server, sales)
        assert asked(server)[-1] == "SolutionReply"
        assert "reference.py" not in last_prompt(server)
        assert "amount > 10" not in last_prompt(server)
    assert result.success, result.error
    assert result.attempt_history[-1].action == "independent_draft"
    assert result.run() == (180.0, 5)


def test_a_third_computation_decides_against_the_reference(sales):
    third = job.solution(job.code("not amount < 10"))
    script = {
        "SolutionReply": [RIGHT, third],
        "TestsReply": [job.tests(job.reference(job.WRONG))],
        "RepairReply": [NOT_USABLE, NOT_USABLE],
    }
    with ModelServer(script) as server:
        result = generate(server, sales)
    assert result.success, result.error
    assert [test.name for test in result.dropped_tests] == ["reference.py"]
    assert "written independently" in result.dropped_tests[0].reason
    assert result.report is not None
    assert result.report.reference is None
    assert result.run() == (180.0, 5)


@pytest.mark.parametrize("third", [job.code(job.WRONG) + "\n# the same again\n", job.code("amount > 5")])
def test_without_a_majority_nothing_is_returned_but_the_input_on_which_they_differ(sales, third):
    script = {
        "SolutionReply": [WRONG, job.solution(third)],
        "TestsReply": [job.tests(job.reference())],
        "RepairReply": [NOT_USABLE, NOT_USABLE],
    }
    with ModelServer(script) as server:
        result = generate(server, sales)
    assert not result.success
    assert "no two of three agree; add an example that decides" in result.error
    assert result.disagreement is not None
    assert "id,amount" in result.disagreement.input
    assert "reference.py: " in str(result.disagreement)


def test_a_reference_that_breaks_an_example_is_dropped_with_the_reason(sales):
    examples = [{"inputs": {}, "outputs": {"count": 5}}]
    script = {"SolutionReply": [RIGHT], "TestsReply": [job.tests(job.reference(job.WRONG))]}
    with ModelServer(script) as server:
        result = generate(server, sales, examples=examples)
        assert len(server.calls) == 2
    assert result.success, result.error
    assert report(result).dropped.startswith("it breaks example 1: wrong output")


def test_a_reference_that_breaks_the_users_tests_is_dropped_with_the_reason(sales):
    tests = """
from pathlib import Path
from solution import main

def test_ten_is_large(tmp_path):
    (tmp_path / "sales").write_text("id,amount\\n1,10\\n")
    main(["--sales", str(tmp_path / "sales")])
    assert Path("/var/outputs/count").read_text() == "1"
"""
    script = {"SolutionReply": [RIGHT], "TestsReply": [job.tests(job.reference(job.WRONG))]}
    with ModelServer(script) as server:
        result = generate(server, sales, tests=tests)
    assert result.success, result.error
    assert report(result).dropped.startswith("it breaks the user's tests")


def test_a_reference_that_fails_on_the_samples_proves_nothing(sales):
    script = {"SolutionReply": [RIGHT], "TestsReply": [job.tests("import nothing_of_this_name\n")]}
    with ModelServer(script) as server:
        result = generate(server, sales)
        assert len(server.calls) == 2
    assert result.success, result.error
    assert "No module named 'nothing_of_this_name'" in report(result).dropped


@pytest.mark.parametrize("second", [None, "", "def main(:"])
def test_without_a_usable_reference_all_is_as_before(sales, second):
    with ModelServer({"SolutionReply": [RIGHT], "TestsReply": [job.tests(second)]}) as server:
        result = generate(server, sales)
    assert result.success, result.error
    assert result.report is not None
    assert result.report.reference is None


def test_with_reference_off_none_is_asked_for_and_none_is_used(sales):
    with ModelServer({"SolutionReply": [WRONG], "TestsReply": [job.tests(job.reference())]}) as server:
        result = generate(server, sales, reference=False)
        assert not any("reference.py" in str(call.body["messages"]) for call in server.calls)
    assert result.success, result.error
    assert result.report is not None
    assert result.report.reference is None


def test_with_privacy_profile_no_row_of_a_difference_is_sent(sales):
    script = {
        "SolutionReply": [WRONG],
        "TestsReply": [job.tests(job.reference())],
        "RepairReply": [job.repair("logic", code=job.code())],
    }
    with ModelServer(script) as server:
        result = generate(server, sales, privacy="profile")
        assert "3,10" not in last_prompt(server)
        assert "reference.py has other outputs" in last_prompt(server)
    assert result.success, result.error


def test_a_crash_on_files_like_the_samples_is_a_difference(sales):
    fragile = job.solution(job.code().replace("    return [", "    assert amounts[0] == 50\n    return ["))
    script = {
        "SolutionReply": [fragile],
        "TestsReply": [job.tests(job.reference())],
        "RepairReply": [job.repair("logic", code=job.code())],
    }
    with ModelServer(script) as server:
        result = generate(server, sales)
        assert "AssertionError" in last_prompt(server)
    assert result.success, result.error


COUNTED_ONLY = job.tests(job.reference())["test_code"].replace(
    """    assert float(Path("/var/outputs/total").read_text()) == 70\n""", ""
)
NOTHING_ASSERTED = COUNTED_ONLY.replace("""read_text() == "2\"""", "exists()")


@pytest.mark.parametrize(
    ("tests", "second", "success"),
    [
        (COUNTED_ONLY, job.reference(), True),
        (COUNTED_ONLY, None, False),
        (NOTHING_ASSERTED, job.reference(), False),
    ],
)
def test_a_reference_stands_for_outputs_that_tests_leave_out_but_not_for_tests(sales, tests, second, success):
    stronger = {"test_code": tests}
    script = {
        "SolutionReply": [RIGHT],
        "TestsReply": [{"test_code": tests, "reference": second}],
        "StrongerTestsReply": [stronger, stronger],
    }
    with ModelServer(script) as server:
        result = generate(server, sales, min_test_strength=0.6)
    assert result.success is success, result.error
