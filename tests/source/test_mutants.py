"""Mutants of real and of awkward code: they parse, differ from it, and are where they say."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyteplugins_codegen.source.mutants import MOST_MUTANTS, make_mutants

SOURCES = sorted((Path(__file__).parents[2] / "flyteplugins_codegen").rglob("*.py"))


def mutants_of(code, tests="solution.f", most=1_000):
    return make_mutants(code, [tests], most=most)


def changed_lines(code, *, tests="solution.f"):
    """The one line that each mutant changes, as it is in the mutant."""
    lines = code.splitlines()
    found = set()
    for mutant in mutants_of(code, tests):
        there = mutant.code.splitlines()
        assert len(there) == len(lines)
        (number,) = [number for number, line in enumerate(lines) if there[number] != line]
        assert mutant.line == number + 1
        found.add(there[number].strip())
    return found


def in_function(line):
    return f"def f(a, b, c=None):\n    {line}\n    return a\n"


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(SOURCES), st.randoms(use_true_random=False))
def test_every_mutant_of_real_code_parses_differs_and_keeps_its_lines(path, chance: random.Random):
    code = path.read_text()
    tree = ast.parse(code)
    names = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    mutants = make_mutants(code, [" ;".join(names)], most=10_000)
    for mutant in chance.sample(mutants, min(len(mutants), 20)):
        assert ast.dump(ast.parse(mutant.code)) != ast.dump(tree), mutant.summary
        assert len(mutant.code.splitlines()) == len(code.splitlines())
        assert mutant.code.splitlines()[: mutant.line - 1] == code.splitlines()[: mutant.line - 1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a = b + c", {"a = b - c"}),
        ("a = (b) * (c)  # a * b", {"a = (b) / (c)  # a * b"}),
        ("a += b", {"a -= b", "pass"}),
        ("a = b == c", {"a = b != c"}),
        ("a = b not  in c", {"a = b in c"}),
        ("a = b is c", {"a = b is not c"}),
        ("a = b < c", {"a = b >= c", "a = b <= c"}),
        ("a = b < c <= a", {"a = b >= c <= a", "a = b <= c <= a", "a = b < c > a", "a = b < c < a"}),
        ("a = b and c", {"a = b or c"}),
        ("a = not b", {"a = b"}),
        ("a = -b", {"a = b"}),
        ("a = 'ä' < 'ö' + b", {"a = 'ä' >= 'ö' + b", "a = 'ä' <= 'ö' + b"}),
        ("a = [7, 2.5, 'x', None]", {"a = [8, 2.5, 'x', None]", "a = [7, 3.5, 'x', None]"}),
        ("a = True", {"a = False"}),
        ("a = b + 0", {"a = b + 1"}),
        ("a = 1 * b", {"a = 2 * b"}),
        ("a[b] = c", {"pass"}),
        ("a.append(b)", {"pass"}),
        ("a.append(b); b.sort()", {"pass; b.sort()", "a.append(b); pass"}),
    ],
)
def test_each_kind_of_line_has_its_mutants(line, expected):
    assert changed_lines(in_function(line)) == expected


@pytest.mark.parametrize(
    "line",
    [
        "'''The sum of 1 + 1.'''",
        "print(b + c, 1)",
        "log.info('%d', b + 1)",
        "parser.add_argument('--n', default=3, help='more than 2')",
        "raise ValueError('over ' + str(b + 1))",
        "a: dict[int, 1] | None = b",
        "a = f'{b + 1:.2f}'",
        "a = 'x' + b",
        "a = 'x%s' % b",
        "import os",
        "a.close()",
        "a = b",
    ],
)
def test_changes_without_effect_and_messages_have_no_mutants(line):
    assert changed_lines(in_function(line)) == set()


def test_a_guard_is_negated_but_its_boundary_is_not_moved():
    code = "def f(a):\n    if a < b:\n        raise ValueError(a)\n    return a\n"
    assert changed_lines(code) == {"if a >= b:"}


def test_deleting_a_long_statement_keeps_the_number_of_lines():
    (mutant,) = mutants_of("def f(a):\n    a.append(\n        b,\n    )\n    return a\n")
    assert mutant.code == "def f(a):\n    pass\n\n\n    return a\n"
    assert mutant.summary == "line 2, f: without `a.append(b)`"


def test_windows_line_ends_are_kept():
    (mutant,) = mutants_of("def f(a):\r\n    return a + b\r\n")
    assert mutant.code == "def f(a):\r\n    return a - b\r\n"


CALLS = """
RATE = 3
UNUSED = 4

def main(argv):
    return Table().rows(RATE)

def unused(a):
    return a + 1

class Table:
    def __init__(self):
        self.n = 5
    def rows(self, a):
        return helper(a) * self.n
    def others(self):
        return 6

def helper(a):
    return a - 7

if __name__ == "__main__":
    main(8)
"""


def test_only_code_that_the_tests_lead_to_is_changed():
    found = {mutant.function for mutant in mutants_of(CALLS, "from solution import main\nmain([])")}
    assert found == {"RATE", "Table.__init__", "Table.rows", "helper"}
    assert {mutant.function for mutant in mutants_of(CALLS, "solution.helper(1)")} == {"helper"}


def test_tests_that_mention_no_function_count_as_calls_of_main():
    found = {mutant.function for mutant in mutants_of(CALLS, "import subprocess")}
    assert "Table.rows" in found


def test_a_limited_choice_is_spread_over_functions_and_kinds_and_repeatable():
    functions = [f"def f{n}(a, b):\n    " + "\n    ".join(["a = a + b < b"] * 9) for n in range(4)]
    code = "\n".join(functions)
    chosen = make_mutants(code, ["f0, f1, f2, f3"])
    assert len(chosen) == MOST_MUTANTS
    assert len({(mutant.function, mutant.kind) for mutant in chosen}) == 4 * 3
    assert chosen == make_mutants(code, ["f0, f1, f2, f3"])
    assert len({mutant.code for mutant in chosen}) == MOST_MUTANTS


def test_mutants_that_may_never_end_are_chosen_last():
    code = "def f(a, b):\n    while a < 3:\n        a += 1\n    return a + b - a\n"
    assert {mutant.line for mutant in make_mutants(code, ["f"], most=2)} == {4}
    assert {mutant.line for mutant in make_mutants(code, ["f"])} == {2, 3, 4}


def test_code_that_cannot_be_changed_has_no_mutant():
    assert make_mutants("def f(a):\n    return a\n", ["f"]) == ()


def test_a_function_that_is_nested_too_deeply_is_skipped_alone():
    code = f"def f(a):\n    return {' + '.join('a' * 900)}\n\ndef g(a):\n    return a - a\n"
    assert [mutant.function for mutant in make_mutants(code, ["f, g"])] == ["g"]


def test_code_that_is_not_python_is_refused():
    with pytest.raises(SyntaxError):
        make_mutants("def f(:", ["f"])
