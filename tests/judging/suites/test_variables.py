"""The values of variables at a failure: short, plain, and without running what a solution's own classes say."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.judging.suites.inside.variables import MAX_VALUE_CHARS, MAX_VARIABLES, variables_of
from flyteplugins_codegen.judging.suites.run import SuiteJob, run_suite
from flyteplugins_codegen.packages.install import install
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.solution.script import ScriptJob, run_script

SOLUTION = """\
import datetime


class Row:
    def __repr__(self):
        raise SystemExit("asked")


def divide(rows, row):
    day = datetime.date(2020, 1, 2)
    for number, each in enumerate(rows):
        share = 10 / each


def main(argv=None):
    text = "x" * 500
    divide([5, 2, 0], Row())


if __name__ == "__main__":
    main()
"""
INNER = (
    "in divide, line 12: rows = [5, 2, 0]; row = <Row>; day = datetime.date(2020, 1, 2); number = 2; each = 0; share = "
)


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox("auto", environment=install(resolve(RUNNER_REQUIREMENTS))) as opened:
        yield opened


def told_of(source: str) -> str:
    try:
        exec(compile(source, "/app/solution.py", "exec"), {"__name__": "solution"})  # noqa: S102 - written right here
    except Exception as error:  # noqa: BLE001 - whatever it raises is what is told of
        return variables_of(error)
    raise AssertionError("it was to fail")


def test_a_script_that_fails_tells_its_variables_apart_from_what_it_said(sandbox):
    job = ScriptJob(solution=SOLUTION, inputs={}, outputs={"a": "int"}, values={}, tells_variables=True)
    run, _ = run_script(sandbox, job)
    inner, outer = run.variables.splitlines()
    assert inner.startswith(INNER)
    assert outer == "in main, line 17: argv = None; text = <str of 500>"
    assert run.stderr.splitlines()[-2:] == [
        "ZeroDivisionError: division by zero",
        "launcher: the script ended with exit status 1",
    ]


def test_a_script_tells_nothing_unless_it_is_asked_for(sandbox):
    run, _ = run_script(sandbox, ScriptJob(solution=SOLUTION, inputs={}, outputs={"a": "int"}, values={}))
    assert run.variables == ""
    assert "variables" not in run.stderr


def test_a_test_that_fails_within_the_solution_tells_its_variables(sandbox):
    tests = "from solution import main\n\n\ndef test_a():\n    secret = 7\n    main()\n    assert secret\n"
    job = SuiteJob(solution=SOLUTION, tests=tests, expected=("test_a",), origin="generated")
    (outcome,) = run_suite(sandbox, job).tests
    assert outcome.variables.startswith(INNER)
    assert "secret" not in outcome.variables


def test_at_most_eight_variables_are_told_the_innermost_functions_first():
    names = "; ".join(f"name_{number} = {number}" for number in range(6))
    told = told_of(f"def inner():\n    {names}\n    1 / 0\n\n\ndef outer():\n    {names}\n    inner()\n\n\nouter()\n")
    assert told.count(" = ") == MAX_VARIABLES
    assert told.index("in inner") < told.index("in outer")


def test_names_of_the_module_are_told_only_of_a_failure_outside_of_functions():
    assert told_of("import os\nlimit = 3\n1 / 0\n") == "in <module>, line 3: limit = 3"
    assert told_of("limit = 3\ndef f(x):\n    1 / x\nf(0)\n") == "in f, line 3: x = 0"


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
)


@given(value=PLAIN)
def test_a_value_is_short_and_on_one_line_whatever_it_is(value):
    def f(path: object) -> None:
        raise ValueError

    code = f.__code__.replace(co_filename="/app/solution.py")
    try:
        type(f)(code, {"ValueError": ValueError})(value)
    except ValueError as error:
        told = variables_of(error)
    assert "\n" not in told
    assert len(told.partition("path = ")[2]) <= MAX_VALUE_CHARS


@pytest.mark.parametrize(
    "value",
    [
        "name,mail\n" + "Anna Berg,anna.berg@mail.example\n" * 20,
        [{"name": "Anna Berg", "mail": "anna.berg@mail.example", "n": number} for number in range(9)],
        {f"key {number}": "anna.berg@mail.example" for number in range(9)},
        ["anna.berg@mail.example" * 20],
    ],
)
def test_no_value_within_a_value_is_cut_so_that_what_is_private_can_be_found(value):
    told = told_of(f"def f(value):\n    raise ValueError\nf({value!r})\n")
    assert not re.sub(r"\banna\.berg@mail\.example\b", "", told).count("anna")
    assert "in all" in told or "<" in told or "..." in told
