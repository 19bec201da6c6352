"""Inputs without a sample get a value, so that every candidate runs on the real samples, outside of pytest."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer

from flyteplugins_codegen import AutoCoderAgent, CodeGenEvalResult
from flyteplugins_codegen.errors import InterfaceError, RequestError
from flyteplugins_codegen.models.job import Example, Request
from flyteplugins_codegen.stages.arguments import (
    checked_proposals,
    declared_inputs,
    known_arguments,
    ran_on_samples,
    why_not_run,
)
from flyteplugins_codegen.stages.prepare import JobArguments, prepare_job
from flyteplugins_codegen.store import digest

SALES = "product,amount\nbolts,3\nnuts,\nscrews,5\n"
PROMPT = "best: the names of the top products with the largest amounts, joined with commas."
RIGHT = textwrap.dedent(
    """
    import argparse, csv

    def main(argv=None):
        parser = argparse.ArgumentParser()
        parser.add_argument("--sales", required=True)
        parser.add_argument("--top", type=int, required=True)
        arguments = parser.parse_args(argv)
        with open(arguments.sales) as file:
            rows = [row for row in csv.DictReader(file) if row["amount"]]
        rows.sort(key=lambda row: -int(row["amount"]))
        open("/var/outputs/best", "w").write(",".join(row["product"] for row in rows[: arguments.top]))

    if __name__ == "__main__":
        main()
    """
).lstrip()
# The generated tests have no row without an amount; the sample has.
CRASHES = RIGHT.replace(' if row["amount"]', "")
SEES_PYTEST = RIGHT.replace("import argparse, csv", "import argparse, csv, sys").replace(
    "    arguments = parser", '    assert "pytest" in sys.modules\n    arguments = parser'
)
TESTS = textwrap.dedent(
    """
    from solution import main

    def test_best(tmp_path):
        (tmp_path / "sales").write_text("product,amount\\na,1\\nb,2\\n")
        main(["--sales", str(tmp_path / "sales"), "--top", "1"])
        assert open("/var/outputs/best").read() == "b"
    """
).lstrip()
HIDDEN_VALUE = TESTS.replace('"--top", "1"', '"--top", str(len("x"))')


def generate(sales: Path, code: str, tests: str = TESTS, **arguments: Any) -> tuple[CodeGenEvalResult, ModelServer]:
    reply = {"description": "d", "approach": "a", "code": code, "packages": [], "system_packages": []}
    reply |= arguments.pop("solution_more", {})
    redraft = arguments.pop("redraft", None)
    mended = {
        "cause": "an amount may be missing",
        "error_type": "logic",
        "edits": [],
        "code": RIGHT,
        "packages": [],
        "system_packages": [],
    }
    solutions, repairs = [reply], [mended]
    if redraft:  # after two repairs that do not help
        solutions, repairs = [reply, reply | redraft], [{**mended, "code": f"{code}# {number}\n"} for number in (1, 2)]
    script = {"SolutionReply": solutions, "TestsReply": [{"test_code": tests}], "RepairReply": repairs}
    job = {"samples": {"sales": sales}, "inputs": {"top": int}, "outputs": {"best": str}, **arguments}
    with ModelServer(script) as server:
        agent = AutoCoderAgent(
            model="openai/m",
            api_base=server.url,
            cache="disable",
            min_test_strength=0,
            max_iterations=4 if redraft else 2,
        )
        return agent.generate(PROMPT, **job), server


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    path = tmp_path / "sales.csv"
    path.write_text(SALES)
    return path


# --- what the user declares ---


def test_a_value_is_given_beside_its_type_or_alone_where_it_tells_its_type() -> None:
    given = {"top": 5, "rate": (float, 1), "on": True, "wire": ["int", 7], "word": (str, " x "), "free": "bool"}
    declared = declared_inputs(given)
    assert declared.types == {
        "top": "int",
        "rate": "float",
        "on": "bool",
        "wire": "int",
        "word": "str",
        "free": "bool",
    }
    assert declared.values == {"top": 5, "rate": 1.0, "on": True, "wire": 7, "word": " x "}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((int, "5"), r"input 'top': '5' is no int: '5' is a str, not a int; pass a whole number such as 42"),
        ((int, 2**70), r"input 'top': .*64-bit integer.*pass a whole number"),
        ((int, True), r"input 'top': True is no int"),
        (["float", float("nan")], r"input 'top': nan is not finite; pass a number such as 2\.5"),
        ((str, "a\0b"), r"input 'top': .*NUL.*pass a shorter text, or declare a file"),
        ((int, 5, 6), r"input 'top': \(int, 5, 6\)|input 'top': .* is no type with a value; pass a pair"),
        (("file", "a.csv"), r"input 'top': 'a\.csv' cannot be the value of a file; pass a file among the samples"),
        ((list, [1]), r"input 'top': unsupported type 'list'"),
        ("North", r"input 'top': unsupported type 'North'; .*passed with its type, \(str, 'North'\)"),
    ],
)
def test_an_impossible_value_names_the_input_the_value_and_the_remedy(given: Any, message: str) -> None:
    with pytest.raises(InterfaceError, match=message):
        declared_inputs({"top": given})


def test_a_job_without_values_has_the_digest_that_it_had_before_there_were_values(sales: Path) -> None:
    request = prepare_job(JobArguments(prompt=PROMPT, samples={"sales": sales}, inputs={"top": int})).request
    assert "values" not in request.model_dump(mode="json")
    assert Request.model_validate_json(request.model_dump_json()) == request
    valued = prepare_job(JobArguments(prompt=PROMPT, samples={"sales": sales}, inputs={"top": 2})).request
    assert valued.inputs == request.inputs
    assert Request.model_validate_json(valued.model_dump_json()).values == {"top": 2}
    assert digest(valued) != digest(request)


def test_with_a_value_a_job_can_be_judged_without_tests(sales: Path) -> None:
    arguments = {"prompt": PROMPT, "samples": {"sales": sales}, "outputs": {"best": str}, "skip_tests": True}
    with pytest.raises(RequestError, match=r"without a value for top; give it beside the type, \(int, 5\)"):
        prepare_job(JobArguments(inputs={"top": int}, **arguments))
    assert prepare_job(JobArguments(inputs={"top": (int, 5)}, **arguments)).request.values == {"top": 5}


# --- which value is taken ---


def request_of(*examples: Example, **fields: Any) -> Request:
    return Request(prompt="p", inputs={"sales": "file", "top": "int"}, examples=examples, **fields)


OWN_FILE = Example(inputs={"sales": "product,amount\nx,1\n", "top": 3}, outputs={"best": "x"})
ON_SAMPLES = Example(inputs={"top": 4}, outputs={"best": "x"})


def test_the_users_value_comes_before_the_examples_and_these_before_the_tests(sales: Path) -> None:
    samples = {"sales": sales}
    assert known_arguments(request_of(OWN_FILE, values={"top": 5}), TESTS, samples) == {"top": 5}
    assert known_arguments(request_of(OWN_FILE), TESTS, samples) == {"top": 3}
    assert known_arguments(request_of(OWN_FILE, ON_SAMPLES), TESTS, samples) == {"top": 4}
    assert known_arguments(request_of(), TESTS, samples) == {"top": 1}
    assert known_arguments(request_of(), None, samples) is None


def test_of_the_tests_values_the_most_frequent_counts(sales: Path) -> None:
    second = TESTS.replace("test_best", "test_second").replace('"1"]', '"2"]').partition("main\n")[2]
    third = second.replace("test_second", "test_third")
    assert known_arguments(request_of(), TESTS + second + third, {"sales": sales}) == {"top": 2}


@pytest.mark.parametrize(
    "tests",
    [
        HIDDEN_VALUE,
        TESTS.replace('"1"', '"many"'),
        TESTS.replace('"--top", "1"', '"--top", "1", "--other", "2"'),
        TESTS.replace("def test_best(tmp_path):", "def test_best(tmp_path):\n    main([])"),
        TESTS.replace('    assert open("/var/outputs/best").read() == "b"', "    assert True"),
        TESTS.replace("    main(", "    with pytest.raises(SystemExit): main("),
        "def test_best(:",
    ],
)
def test_a_value_of_the_tests_that_is_not_certain_is_none(sales: Path, tests: str) -> None:
    assert known_arguments(request_of(), tests, {"sales": sales}) is None


def test_a_text_of_the_tests_is_taken_only_if_a_sample_has_it_as_a_word(sales: Path) -> None:
    request = Request(prompt="p", inputs={"sales": "file", "top": "str"})
    for text, expected in (("bolts", {"top": "bolts"}), ("bolt", None), ("a", None), ("north", None)):
        tests = TESTS.replace('"--top", "1"', f'"--top", "{text}"')
        assert known_arguments(request, tests, {"sales": sales}) == expected
    with_example = request.model_copy(update={"examples": (Example(inputs={"top": "north"}, outputs={"best": ""}),)})
    assert known_arguments(with_example, None, {"sales": sales}) == {"top": "north"}


def test_a_text_is_in_no_sample_that_is_empty_or_gone(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    request = Request(prompt="p", inputs={"sales": "file", "top": "str"})
    for name in ("empty", "gone"):
        assert known_arguments(request, TESTS, {"sales": tmp_path / name}) is None


def test_a_proposal_comes_after_the_examples_and_before_the_tests(sales: Path) -> None:
    samples, proposed = {"sales": sales}, {"top": 7}
    assert known_arguments(request_of(values={"top": 5}), TESTS, samples, proposed) == {"top": 5}
    assert known_arguments(request_of(OWN_FILE), TESTS, samples, proposed) == {"top": 3}
    assert known_arguments(request_of(), TESTS, samples, proposed) == {"top": 7}
    assert known_arguments(request_of(), None, samples, proposed) == {"top": 7}


def test_values_are_proposed_together_or_not_at_all(sales: Path) -> None:
    request = Request(prompt="p", inputs={"sales": "file", "top": "int", "least": "float"})
    assert known_arguments(request, None, {"sales": sales}, {"top": 7}) is None
    assert known_arguments(request, None, {"sales": sales}, {"top": 7, "least": 1.5}) == {"top": 7, "least": 1.5}
    given = request.model_copy(update={"values": {"least": 2.0}})
    assert known_arguments(given, None, {"sales": sales}, {"top": 7}) == {"top": 7, "least": 2.0}


@pytest.mark.parametrize("text", ["many", "7.5", "", "1e9999", "9" * 30, "a\0b"])
def test_a_proposal_that_is_no_value_of_its_type_is_none(sales: Path, text: str) -> None:
    assert checked_proposals(request_of(), {"top": text}) == {}
    assert known_arguments(request_of(), TESTS, {"sales": sales}, {}) == {"top": 1}


def test_proposals_are_typed_and_only_for_inputs_without_a_value() -> None:
    inputs = {"sales": "file", "top": "int", "rate": "float", "on": "bool", "day": "str", "names": "file"}
    request = Request(prompt="p", inputs=inputs, values={"top": 3})
    told = {"sales": "x.csv", "top": "5", "rate": "2", "on": "true", "day": "2024-01-31", "names": "n", "other": "1"}
    assert checked_proposals(request, told) == {"rate": 2.0, "on": True, "day": "2024-01-31"}


def test_a_proposed_text_is_in_a_sample_or_in_the_prompt_or_a_date(sales: Path) -> None:
    request = Request(prompt="The share of Nails.", inputs={"sales": "file", "top": "str"})
    taken = ("bolts", "Nails", "2024-01-31", "2024-01", "2024-01-31T10:00:00Z")
    for text in (*taken, "bolt", "nail", "", "31.1.2024"):
        expected = {"top": text} if text in taken else None
        assert known_arguments(request, None, {"sales": sales}, {"top": text}) == expected


def test_a_file_without_a_sample_has_no_value(sales: Path) -> None:
    request = Request(prompt="p", inputs={"sales": "file", "names": "file"})
    assert known_arguments(request, TESTS, {"sales": sales}) is None
    assert known_arguments(request, TESTS, {"sales": sales, "names": sales}) == {}


# --- whole runs ---


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"inputs": {"top": (int, 2)}, "tests_written": HIDDEN_VALUE}, 2),
        ({"examples": [{"inputs": {"sales": "product,amount\nx,1\n", "top": 3}, "outputs": {"best": "x"}}]}, 3),
        ({}, 1),
    ],
)
def test_a_crash_on_the_real_sample_is_found_and_the_repair_is_shown_the_values(
    sales: Path, arguments: dict[str, Any], value: int
) -> None:
    tests = arguments.pop("tests_written", TESTS)
    result, server = generate(sales, CRASHES, tests, **arguments)
    assert result.success, result.output
    assert [attempt.cause.kind if attempt.cause else None for attempt in result.attempt_history] == ["exception", None]
    asked = str(server.calls[2].body)
    assert f"## The script on the samples with top = {value}: exception (ValueError)" in asked
    assert "# test_solution.py" not in asked
    assert result.ran_on_samples
    assert result.report.runs[-1].arguments == {"top": value}
    assert f"The script on the samples with top = {value}" in result._page()
    assert CodeGenEvalResult.model_validate_json(result.model_dump_json()).ran_on_samples


def test_an_example_on_the_samples_is_not_run_twice(sales: Path) -> None:
    example = {"inputs": {"top": 1}, "outputs": {"best": "screws"}}
    result, _ = generate(sales, RIGHT, HIDDEN_VALUE, examples=[example])
    assert [run.case for run in result.report.runs] == ["example 1"]
    assert result.ran_on_samples
    both, _ = generate(sales, RIGHT, HIDDEN_VALUE, examples=[example], inputs={"top": 2})
    assert [run.case for run in both.report.runs] == ["example 1", "samples"]


def test_a_solution_that_never_ran_on_the_samples_says_so_and_is_trusted_less(sales: Path) -> None:
    blind, server = generate(sales, CRASHES, HIDDEN_VALUE)
    assert blind.success
    assert len(server.calls) == 2
    assert not blind.ran_on_samples
    head = blind._page().partition("</header>")[0]
    assert "never run on the samples: no value of top is known" in head
    assert "not run on the samples" in repr(blind)
    ran, _ = generate(sales, RIGHT, HIDDEN_VALUE, inputs={"top": 2})
    assert "never run" not in ran._page()
    unseen, _ = generate(sales, RIGHT, HIDDEN_VALUE)
    assert unseen.confidence is not None
    assert ran.confidence is not None
    assert unseen.confidence < ran.confidence - 0.1


def test_a_solution_that_works_only_under_pytest_fails_without_samples_too(sales: Path) -> None:
    tests = textwrap.dedent(
        """
        from solution import main

        def test_double():
            main(["--n", "4"])
            assert open("/var/outputs/double").read() == "8"
        """
    )
    code = textwrap.dedent(
        """
        import argparse, sys

        def main(argv=None):
            parser = argparse.ArgumentParser()
            parser.add_argument("--n", type=int)
            n = parser.parse_args(argv).n
            assert "pytest" in sys.modules
            open("/var/outputs/double", "w").write(str(2 * n))

        if __name__ == "__main__":
            main()
        """
    )
    result, _ = generate(sales, code, tests, samples={}, inputs={"n": int}, outputs={"double": int})
    assert not result.success
    first = result.attempt_history[0]
    assert (first.cause.kind, first.cause.subject) == ("exception", "AssertionError")
    assert first.report.runs[0].arguments == {"n": 4}
    assert first.report.suites[0].passed


def test_a_solution_that_works_only_under_pytest_fails_on_the_samples(sales: Path) -> None:
    result, _ = generate(sales, SEES_PYTEST)
    assert [attempt.report.passed for attempt in result.attempt_history] == [False, True]


def test_the_value_that_the_solutions_author_proposes_is_run_and_the_report_says_so(sales: Path) -> None:
    proposal = [{"name": "top", "value": 2}]
    result, server = generate(sales, RIGHT, solution_more={"arguments": proposal, "assumptions": ["Ties: the first."]})
    assert result.success
    assert result.report.runs[-1].arguments == {"top": 2}
    asked = {call.name: str(call.body["messages"]) for call in server.calls}
    assert "values for top that suit the data" in asked["SolutionReply"]
    assert "`arguments`" not in asked["TestsReply"]
    assert "Ties: the first." in result._page()
    given, server = generate(sales, RIGHT, inputs={"top": (int, 1)}, solution_more={"arguments": proposal})
    assert given.report.runs[-1].arguments == {"top": 1}
    assert "`arguments`" not in str([call.body["messages"] for call in server.calls])


def test_a_redraft_runs_on_the_values_of_the_first_draft(sales: Path) -> None:
    result, _ = generate(
        sales,
        CRASHES,
        HIDDEN_VALUE,
        solution_more={"arguments": [{"name": "top", "value": "2"}]},
        redraft={"code": RIGHT, "arguments": [{"name": "top", "value": "1"}]},
    )
    assert result.attempt_history[-1].action == "fresh_draft"
    assert {tuple(each.report.runs[-1].arguments.items()) for each in result.attempt_history} == {(("top", 2),)}


# --- what a report says ---


def test_a_report_in_which_nothing_could_run_has_no_warning() -> None:
    assert why_not_run(request_of(), None) == ""
    assert not ran_on_samples(request_of(), None)
