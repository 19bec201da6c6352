"""Mutants of real and of awkward code: they parse, differ from it, and are where they say."""

from __future__ import annotations

import ast
import random
import sqlite3
from pathlib import Path
from typing import Any

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
        ("a = 'ä' < 'ö' + b", {"a = 'ä' >= 'ö' + b", "a = 'ä' <= 'ö' + b", "a = 'ä_' < 'ö' + b"}),
        ("a = [7, 2.5, 'x', None]", {"a = [8, 2.5, 'x', None]", "a = [7, 3.5, 'x', None]"}),
        ("a = True", {"a = False"}),
        ("a = b + 0", {"a = b + 1"}),
        ("a = 1 * b", {"a = 2 * b"}),
        ("a[b] = c", {"pass"}),
        ("a.append(b)", {"pass"}),
        ("a.append(b); b.clear()", {"pass; b.clear()", "a.append(b); pass"}),
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


def test_a_condition_that_only_guards_an_error_is_left_alone():
    code = "def f(a):\n    if a < b:\n        raise ValueError(a)\n    return a + b\n"
    assert changed_lines(code) == {"return a - b"}


TABLES = [
    ("a = c['x'].sum() + c['y'].sum()", "column", {
        "a = c['y'].sum() + c['y'].sum()", "a = c['x'].sum() + c['x'].sum()",
    }),
    ("a = int(c['x']) + int(c['y']) + len(c['z'])", "column", {
        "a = int(c['y']) + int(c['y']) + len(c['z'])", "a = int(c['x']) + int(c['x']) + len(c['z'])",
    }),
    ("a = b['x'] + c['y']", "column", set()),  # of different tables
    ("a = b.mean()", "aggregate", {"a = b.max()"}),
    ("a = statistics.mean(b)", "aggregate", {"a = statistics.median(b)"}),
    ("a = mean(b)", "aggregate", {"a = max(b)"}),
    ("a = sum(b, [])", "aggregate", set()),
    ("a = b.median()", "aggregate", {"a = b.mean()"}),
    ("a = max(b)", "aggregate", {"a = min(b)"}),
    ("a = b.agg({'sum': 'max', 'y': 'sum'})", "aggregate", {
        "a = b.agg({'sum': 'min', 'y': 'sum'})", "a = b.agg({'sum': 'max', 'y': 'max'})",
    }),
    ("a = b.agg(x=('first', 'first'))", "aggregate", {"a = b.agg(x=('first', 'last'))"}),
    ("a = 'SELECT sum(x)'", "aggregate", set()),
    ("a = b.text.count('x')", "aggregate", set()),
    ("a = b.sort_values('x', ascending=False)", "order", {"a = b.sort_values('x', ascending=True)"}),
    ("a = b.sort_values('x')", "order", {"a = b.sort_values('x', ascending=False)"}),
    ("a = sorted(b, reverse=True)", "order", {"a = sorted(b, reverse=False)"}),
    ("a = sorted(b, key=lambda item: (-item[1], item[0]), reverse=c)", "order", {
        "a = sorted(b, key=lambda item: (item[0], -item[1]), reverse=c)",
        "a = sorted(b, key=lambda item: (-item[1],), reverse=c)",
        "a = sorted(b, key=lambda item: (item[1], item[0]), reverse=c)",
    }),
    ("a = b.merge(c, on='x', how='left')", "join", {"a = b.merge(c, on='x', how='inner')"}),
    ("a = b.merge(c, on='x')", "join", {"a = b.merge(c, on='x', how=\"left\")"}),
    ("a = b.groupby(['x', 'y']).size", "group key", {"a = b.groupby(['x']).size"}),
    ("a = b.dropna(subset=['x']).size", "null handling", {"a = b.size"}),
    ("a = b['x'].fillna(0)", "null handling", {"a = b['x']"}),
    ("a = b[b['x'].notna()]", "null handling", {"a = b[b['x'].isna()]", "a = b"}),
    ("a = b['x'].mean(skipna=True)", "null handling", {"a = b['x'].mean(skipna=False)"}),
    ("a = [x for x in b if x is not None]", "null handling", {"a = [x for x in b if True]"}),
    ("a = [x for x in b if x > c]", "filter", {"a = [x for x in b if True]"}),
    ("a = b[b['x'] > c]", "filter", {"a = b"}),
    ("a = b.loc[b['x'] > c, 'y']", "filter", {"a = b.loc[:, 'y']"}),
    ("a = b['x'] == 'paid'", "filter", {"a = b['x'] == 'paid_'"}),
    ("a = b['x'] > 7", "filter", {"a = b['x'] > 8"}),
    ("a = b['x'].between(1, 2)", "boundary", {"a = b['x'].between(1, 2, inclusive=\"neither\")"}),
    ("a = b.head(3)", "row", {"a = b.head(4)"}),
    ("a = b[1:]", "row", {"a = b[2:]"}),
    ("a = b / len(c)", "row", {"a = b / (len(c) - 1)"}),
    ("a = len(c) - 2", "row", set()),  # the constant has a mutant
    ("a = b.drop_duplicates(['x']).size", "duplicates", {"a = b.size"}),
    ("a = b.drop_duplicates(keep='last')", "duplicates", {"a = b", "a = b.drop_duplicates(keep='first')"}),
    ("a = len({x for x in b})", "duplicates", {"a = len([x for x in b])"}),
    ("a = len(set(b))", "duplicates", {"a = len(list(b))"}),
    ("a = pl.col('x').sum() / pl.col('y').sum()", "column", {
        "a = pl.col('y').sum() / pl.col('y').sum()", "a = pl.col('x').sum() / pl.col('x').sum()",
    }),
    ("a = b.agg(n=('x', 'sum'), m=('y', 'max'))", "column", {
        "a = b.agg(n=('y', 'sum'), m=('y', 'max'))", "a = b.agg(n=('x', 'sum'), m=('x', 'max'))",
    }),
    ("a = b.sort('x')", "order", {"a = b.sort('x', descending=True)"}),
    ("b.sort()", "order", {"b.sort(reverse=True)"}),
    ("a = b.rank(method='min')", "order", {"a = b.rank(method='dense')"}),
    ("a = b.join(c, left_on='x', right_on='y')", "join", {
        "a = b.join(c, left_on='x', right_on='y', how=\"left\")",
    }),
    ("a = b.group_by('x', 'y').len()", "group key", {"a = b.group_by('x').len()"}),
    ("a[b['x'], b['y']] += 1", "group key", {"a[b['x'], b['x']] += 1"}),
    ("key = (b.x, b.y)", "group key", {"key = (b.x, b.x)"}),
    ("a.setdefault((b, c), []).append(1)", "group key", {"a.setdefault((b, b), []).append(1)"}),
    ("a = dict[str, int]()", "group key", set()),
    ("a = b.loc[c, d]", "group key", set()),
    ("a = b.filter(pl.col('x').is_not_null())", "null handling", {"a = b.filter(pl.col('x').is_null())"}),
    ("a = b['x'].mean() + b['y'].fillna(0).sum()", "null handling", {
        "a = b['x'].fillna(0).mean() + b['y'].fillna(0).sum()", "a = b['x'].mean() + b['y'].sum()",
    }),
    ("a = b['x'].mean()", "null handling", set()),  # nothing says that there may be nulls
    ("a = b[:c]", "row", {"a = b[:c + 1]"}),
    ("a = b.head(c.top)", "row", {"a = b.head(c.top + 1)"}),
    ("a = round(b, 2)", "rounding", {"a = round(b, 1)"}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "kind", "expected"), TABLES)
def test_each_kind_of_step_with_tables_has_its_mutants(line, kind, expected):
    mutants = [mutant for mutant in mutants_of(in_function(line)) if mutant.kind == kind]
    assert {mutant.code.splitlines()[1].strip() for mutant in mutants} == expected
    assert all("\n" not in mutant.summary for mutant in mutants)


@pytest.mark.parametrize(
    "line",
    [
        "path.parent.mkdir(parents=True, exist_ok=True)",
        "(OUTPUTS / name).write_text(c)",
        "Path(b).write_text('0')",
        "json.dump(c, b, indent=2, sort_keys=True)",
        "csv.writer(b, lineterminator='x').writerow(['n', 3])",
        "c.to_csv(b, index=False)",
        "b = parser.parse_args(argv[1:] if argv is not None else None)",
        "argv = argv[1:] if c else None",
        "a = OUTPUTS / b",
    ],
)
def test_the_reading_of_arguments_and_the_writing_of_outputs_have_no_mutants(line):
    assert changed_lines(in_function(line)) == set()


@pytest.mark.parametrize("ending", ["parser.error('no')", "print('no')\n        sys.exit(1)", "raise SystemExit(2)"])
def test_a_condition_that_ends_with_a_message_is_left_alone(ending):
    assert changed_lines(f"def f(a):\n    if a.top < 1:\n        {ending}\n    return a\n") == set()


QUERIES = [
    ("sum(price)", "max(price)", "aggregate"),
    ("sum(price)", "sum(tax)", "column"),
    ("where ", "where 1 = 1 or ", "filter"),
    (">= 10", "> 10", "boundary"),
    (">= 10", ">= 11", "filter"),
    ("= 'paid'", "= 'paid_'", "filter"),
    ("= 'paid'", "<> 'paid'", "comparison"),
    ("is not null", "is null", "null handling"),
    ("coalesce(tax, 0)", "(tax)", "null handling"),
    ("left join", "inner join", "join"),
    ("count(distinct id)", "count(id)", "duplicates"),
    ("desc", "asc", "order"),
    ("limit 3", "limit 4", "row"),
]
QUERY = """def f(con):
    return con.execute('''
        select name, sum(price), max(tax), count(distinct id), coalesce(tax, 0)
        from orders left join names on orders.id = names.number
        where status = 'paid' and price >= 10 and tax is not null
        group by name order by name desc limit 3
    ''').df()
"""


@pytest.mark.parametrize(("old", "new", "kind"), QUERIES)
def test_a_query_in_a_string_has_its_mutants(old, new, kind):
    assert QUERY.count(old) == 1
    wanted = QUERY.replace(old, new)
    (mutant,) = [mutant for mutant in mutants_of(QUERY) if mutant.code == wanted]
    assert mutant.kind == kind
    assert QUERY.splitlines()[mutant.line - 1] == mutant.before
    assert old in mutant.before
    assert new in mutant.after


def test_a_changed_query_runs():
    con = sqlite3.connect(":memory:")
    con.executescript("create table orders (id, price, tax, status); create table names (number, name)")
    mutants = mutants_of(QUERY.replace(".df()", ".fetchall()"))
    assert len(mutants) > len(QUERIES)
    for mutant in mutants:
        names: dict[str, Any] = {}
        exec(mutant.code, names)  # noqa: S102 - a query of this file
        assert names["f"](con) == [], mutant.summary


def test_a_query_in_an_f_string_is_changed_and_other_texts_are_not():
    code = (
        "def f(a):\n    '''select one from many where a > 1'''\n    return a.run(f\"select x from {a} order by x\")\n"
    )
    assert changed_lines(code) == {'return a.run(f"select x from {a} order by x desc")'}
    assert changed_lines("def f(a):\n    return 'choose x from a where b > 1'\n") == set()


def test_what_is_computed_inside_a_writing_call_is_changed():
    assert changed_lines(in_function("file.write(str(round(b * c, 2)))")) == {
        "file.write(str(round(b / c, 2)))",
        "file.write(str(round(b * c, 1)))",
    }


def test_a_helper_that_only_writes_or_formats_has_no_mutants():
    code = (
        "def f(a):\n    write(a)\n    return show(a + a)\n\n"
        "def write(a):\n    text = 'yes' if a > 3 else 'no'\n    open(a, 'w').write(text)\n\n"
        "def format_value(a):\n    return a > 3\n"
    )
    assert {mutant.line for mutant in mutants_of(code, "solution.f, format_value")} == {3}


@pytest.mark.parametrize(("use", "kinds"), [("raise ValueError(f'line {n}')", 0), ("a.append(n)", 1)])
def test_the_start_of_a_count_is_changed_unless_it_stands_in_messages_only(use, kinds):
    code = f"def f(a, b):\n    for n, row in enumerate(b, start=2):\n        {use}\n    return a\n"
    assert [mutant.kind for mutant in mutants_of(code)].count("constant") == kinds


def test_a_step_over_several_lines_is_dropped_without_moving_lines():
    code = (
        "def f(a):\n    a = (\n        a.rows\n        .dropna(\n            how=1,\n        )\n    )\n    return a\n"
    )
    (mutant,) = [mutant for mutant in mutants_of(code) if mutant.kind == "null handling"]
    assert len(mutant.code.splitlines()) == len(code.splitlines())
    assert "dropna" not in mutant.code
    assert mutant.code.splitlines()[7] == "    return a"


def test_a_limited_choice_has_every_kind_before_a_second_one_of_any():
    code = (
        "def f(a, b):\n    a = a.dropna().merge(b, on='x', how='left')\n    a = a[a['x'] > 3]\n"
        + "    a = a + b\n" * 20
        + "    return a.sort_values('x').head(2)\n"
    )
    kinds = [mutant.kind for mutant in make_mutants(code, ["f"], most=8)]
    assert len(set(kinds)) == 8
    assert len(make_mutants(code, ["f"])) == MOST_MUTANTS


def test_deleting_a_long_statement_keeps_the_number_of_lines():
    (mutant,) = mutants_of("def f(a):\n    a.append(\n        b,\n    )\n    return a\n")
    assert mutant.code == "def f(a):\n    pass\n\n\n    return a\n"
    assert mutant.summary == "line 2, f: without `a.append(b)`"


def test_a_mutant_has_its_changed_lines_as_a_diff():
    (mutant,) = mutants_of("def f(a):\n    a.append(\n        b,\n    )\n    return a\n")
    assert mutant.diff == "-    a.append(\n-        b,\n-    )\n+    pass"
    (mutant,) = mutants_of("def f(a):\n    return a + b\n")
    assert mutant.diff == "-    return a + b\n+    return a - b"


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
