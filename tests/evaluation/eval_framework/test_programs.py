"""A merged program is split into a solution and counted tests if it ends with the whole text of the tests."""

from __future__ import annotations

import ast

import pytest

from flyteplugins_codegen.evaluation.eval_framework.execution import (
    PrintingProgram,
    Program,
    SuiteProgram,
    find_ending,
    plan_program,
)

SOLUTION = """import math as m

if True:
    _base, (one, [two]) = 1, (2, [3])


def len(x): return 0


def f(x): return x
"""


def planned(tests: str, solution: str = SOLUTION, *, form: str = "{solution}\n{tests}") -> Program:
    ending = find_ending(form.format(solution="", tests=tests), tests)
    return plan_program(form.format(solution=solution, tests=tests), ending)


def suite(tests: str, solution: str = SOLUTION) -> SuiteProgram:
    program = planned(tests, solution)
    assert isinstance(program, SuiteProgram)
    return program


def test_the_tests_import_what_they_use_of_the_solution_and_none_of_its_builtins() -> None:
    found = suite("def test_f():\n    assert f(m.pi) and len([_base, two]) == 2 and absent\n")
    assert found.tests.splitlines()[0] == "from solution import _base, f, m, two"
    assert found.solution.strip() == SOLUTION.strip()
    assert found.expected == ("test_f",)


def test_what_the_tests_define_themselves_is_not_taken_from_the_solution() -> None:
    assert "import" not in suite("def f(x): return 1\n\ndef test_f():\n    assert f(2)\n").tests


def test_an_import_of_the_future_stays_first() -> None:
    tests = '"""Tests."""\nfrom __future__ import annotations\n\ndef test_f():\n    assert f(1)\n'
    compile(suite(tests).tests, "tests", "exec")


def test_statements_that_assert_become_one_test() -> None:
    found = suite("from __future__ import annotations\ntext = '''a\n  b'''\nassert f(text) == 'a\\n  b'\n")
    assert found.expected == ("test_all_of_it",)
    (test,) = [node for node in ast.parse(found.tests).body if isinstance(node, ast.FunctionDef)]
    assert [type(node).__name__ for node in test.body] == ["Assign", "Assert"]
    assert ast.literal_eval(test.body[0].value) == "a\n  b"  # type: ignore[attr-defined]  # an assignment


def test_no_solution_moves_the_border_to_the_tests() -> None:
    tests = "assert f(1) == 1"
    for solution in (
        f'"""{tests}"""\n{SOLUTION}',
        f"{SOLUTION}\n{tests}\n",
        f"{SOLUTION}\n{tests}\ndef f(x): return 1",
    ):
        assert suite(tests, solution).solution.strip() == solution.strip()


@pytest.mark.parametrize(
    ("tests", "form"),
    [
        ("print(f(42))", "{solution}\n{tests}"),
        ("", "{solution}\n{tests}"),
        ("assert f(1)", "TESTS = '{tests}'\n{solution}\nexec(TESTS)"),
        ("assert f(1)", "{solution}\ndef g():\n    {tests}"),
        ("assert f(1)", "{tests}\n{solution}"),
        ("assert f(1)", "{solution}\n# {tests}"),
    ],
)
def test_a_program_that_cannot_be_split_is_judged_by_its_output(tests: str, form: str) -> None:
    assert isinstance(planned(tests, form=form), PrintingProgram)


def test_tests_that_are_not_python_are_an_error() -> None:
    with pytest.raises(SyntaxError):
        find_ending("x = 1\nassert (", "assert (")
