"""Problems of each form, evaluated: their canonical solutions pass, wrong ones fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flyteplugins_codegen.errors import PackageError, RequestError
from flyteplugins_codegen.evaluation.problems.load import load_problems
from flyteplugins_codegen.evaluation.run import evaluate
from flyteplugins_codegen.evaluation.values import CheckTests, Problem, Sample
from flyteplugins_codegen.evaluation.workers import Packages, packages_of


def plus(number: int, entry_point: str, solution: str, *calls: list[Any], **others: Any) -> dict[str, Any]:
    return {
        "task_id": f"Mbpp/{number}",
        "prompt": f'"""\nWrite {entry_point}.\n"""\n',
        "entry_point": entry_point,
        "canonical_solution": solution,
        "contract": "",
        "assertion": "",
        "base_input": list(calls[:1]),
        "plus_input": list(calls[1:]),
        "atol": 0,
        **others,
    }


PLUS = {
    "tuples": plus(
        2, "similar_elements", "def similar_elements(a, b):\n    return tuple(set(a) & set(b))", [[1, 2], [2]]
    ),
    "any": plus(164, "are_equivalent", "def are_equivalent(a, b):\n    return True", [1, 2]),
    "nothing": plus(295, "sum_div", "def sum_div(n):\n    return 1", [4]),
    "surface": plus(
        581, "surface_Area", "def surface_Area(b, h):\n    return 2 * b * h + b * b", [3, 4], [4, 5], atol=1e-6
    ),
    "distance": plus(
        558, "digit_distance_nums", "def digit_distance_nums(a, b):\n    return abs(a // 10 - b // 10)", [1, 23]
    ),
    "present": plus(756, "check_str", "import re\ndef check_str(x):\n    return re.search('a', x)", ["xa"], ["x"]),
    "root": {
        **plus(0, "find_zero", "def find_zero(xs):\n    return 2.0", [[-4, 0, 1]], atol=1e-6),
        "task_id": "HumanEval/32",
    },
    "floats": plus(14, "thirds", "def thirds(n):\n    return [n / 3]", [1], [2]),
    "nan": plus(15, "nothing", "def nothing():\n    return [float('nan'), 1.0]", []),
    "sets": plus(115, "empty_dit", "def empty_dit(xs):\n    return [type(x).__name__ for x in xs]", [[[1], [], {}]]),
    "complex": plus(252, "convert", "def convert(z):\n    return z * z", ["1j"], ["(1+2j)"]),
    "many digits": plus(20, "power", "def power(n):\n    return 10 ** n", [5000]),
    "long": plus(21, "spread", "def spread(n):\n    return list(range(n))", [100_000]),
}

EQUAL_TO_ALL = "class Equal(list):\n    def __eq__(self, other):\n        return True\n"
NOTHING = (
    "class Nothing:\n"
    "    __pow__ = __rmul__ = __mul__ = __add__ = __radd__ = __sub__ = __rsub__ = __abs__ = lambda *_: 0\n"
    "    __eq__ = __le__ = __lt__ = lambda *_: True\n    __hash__ = lambda _: 2\n"
)
OTHERS = [
    ("tuples", "def similar_elements(a, b):\n    return list(set(a) & set(b))", "passed"),
    ("tuples", "def similar_elements(a, b):\n    return {type(a)}", "wrong_answer"),
    ("any", "def are_equivalent(a, b):\n    return None", "passed"),
    ("nothing", "def sum_div(n):\n    return 0", "passed"),
    ("nothing", "def sum_div(n):\n    return 2", "wrong_answer"),
    ("surface", "def surface_Area(b, h):\n    return round(b * b + 2 * b * ((b / 2) ** 2 + h * h) ** 0.5)", "passed"),
    ("surface", "def surface_Area(b, h):\n    return b", "wrong_answer"),
    ("distance", "def digit_distance_nums(a, b):\n    return 4", "passed"),
    ("distance", "def digit_distance_nums(a, b):\n    return 5", "wrong_answer"),
    ("present", "def check_str(x):\n    return 'a' in x", "passed"),
    ("present", "def check_str(x):\n    return x", "wrong_answer"),
    ("root", "def find_zero(xs):\n    return -2.0", "passed"),
    ("root", "def find_zero(xs):\n    return 1.0", "wrong_answer"),
    ("root", f"{NOTHING}def find_zero(xs):\n    return Nothing()", "wrong_answer"),
    ("surface", f"{NOTHING}def surface_Area(b, h):\n    return Nothing()", "wrong_answer"),
    ("distance", f"{NOTHING}def digit_distance_nums(a, b):\n    return Nothing()", "wrong_answer"),
    ("tuples", f"{NOTHING}def similar_elements(a, b):\n    return [Nothing()]", "wrong_answer"),
    ("floats", "def thirds(n):\n    return [n * 0.33333333]", "passed"),
    ("floats", "def thirds(n):\n    return [n * 0.333]", "wrong_answer"),
    ("floats", "def thirds(n):\n    return (n / 3, 1)", "wrong_answer"),
    ("floats", "def thirds(n):\n    return []", "wrong_answer"),
    ("floats", f"{EQUAL_TO_ALL}def thirds(n):\n    return Equal()", "wrong_answer"),
    ("nan", "def nothing():\n    return [float('nan'), 1.0 + 1e-9]", "passed"),
    ("nan", "def nothing():\n    return [0.0, 1.0]", "wrong_answer"),
    ("many digits", "def power(n):\n    return 1", "wrong_answer"),
]  # fmt: skip


def written(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Problem]:
    loaded = load_problems(written(tmp_path_factory.mktemp("plus") / "plus.jsonl", *PLUS.values()))
    return dict(zip(PLUS, loaded, strict=True))


def test_problems_of_evalplus_take_what_its_own_rules_take(problems: dict[str, Problem]) -> None:
    samples = [Sample(task_id=problems[name].task_id, solution=solution) for name, solution, _ in OTHERS]
    found = evaluate(problems.values(), samples, k=[1])
    assert found.flaws == (), "every canonical solution passes"
    assert [end.outcome for end in found.samples] == [outcome for *_, outcome in OTHERS]


def test_their_tests_ask_for_no_package(problems: dict[str, Problem]) -> None:
    assert packages_of(problems.values(), ()) == Packages(())


def test_the_reason_of_a_wrong_answer_has_its_input_and_the_expected_value(problems: dict[str, Problem]) -> None:
    sample = Sample(task_id="Mbpp/581", solution="def surface_Area(b, h):\n    return 33 if b == 3 else 0")
    (end,) = evaluate([problems["surface"]], [sample], k=[1]).samples
    assert "surface_Area(4, 5) returned 0" in end.reason
    assert "input 2 of 2: expected 56" in end.reason


def test_what_is_expected_is_computed_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "plus.jsonl", PLUS["floats"])
    first = load_problems(path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("flyteplugins_codegen.evaluation.problems.evalplus.open_sandbox", None)
    assert load_problems(path) == first


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        ("def f(x):\n    return 1 / x", "its canonical solution fails on input 1: ZeroDivisionError"),
        ("def f(x):\n    return iter([x])", "fails on input 1: NotPlainError: a value of the type"),
        ("def g(x):\n    return x", "fails on input 1: KeyError: 'f'"),
        ("def f(x):\n    import os; os._exit(0)", "gave no answer: it ended by exited after 0 of 1 inputs"),
    ],
)
def test_a_canonical_solution_that_gives_nothing_is_an_error_of_its_line(
    tmp_path: Path, solution: str, message: str
) -> None:
    path = written(tmp_path / "plus.jsonl", PLUS["floats"], plus(700, "f", solution, [0]))
    with pytest.raises(RequestError) as caught:
        load_problems(path)
    assert str(caught.value).startswith(f"{path}:2: 'Mbpp/700': ")
    assert message in str(caught.value)


def test_an_input_whose_value_is_too_large_is_left_out_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    record = plus(700, "f", "def f(n):\n    return 'x' * n", [17_000_000], [3])
    path = written(tmp_path / "plus.jsonl", record)
    (problem,) = load_problems(path)
    assert f"{path}:1: 'Mbpp/700': input 1 is left out" in caplog.text
    samples = [Sample(task_id="Mbpp/700", solution=f"def f(n):\n    return {text}") for text in ("'xxx'", "''")]
    assert [end.outcome for end in evaluate([problem], samples, k=[1]).samples] == ["passed", "wrong_answer"]
    with pytest.raises(RequestError, match="gives nothing that could be told"):
        load_problems(written(path, {**record, "plus_input": []}))


def test_each_form_of_problem_is_judged(tmp_path: Path) -> None:
    records = [
        {
            "task_id": 2,
            "text": "Double it.",
            "code": "def double(x):\r\n    return 2 * x",
            "test_setup_code": "import math",
            "test_list": ["assert math.isclose(double(1), 2)"],
            "challenge_test_list": [],
        },
        {
            "task_id": "BigCodeBench/0",
            "complete_prompt": "def task_func(x):\n",
            "canonical_solution": "    return x\n",
            "test": "import unittest\nclass TestCases(unittest.TestCase):\n    def test_a(self):\n"
            "        self.assertEqual(task_func(1), 1)\n",
            "entry_point": "task_func",
        },
        {
            "task_id": "pairs",
            "entry_point": "f",
            "pairs": [{"args": [1], "kwargs": {"b": 2}, "expected": [1, 2]}],
            "canonical_solution": "def f(a, b):\n    return a, b\n",
        },
        {
            "task_id": "stdin",
            "stdin": [{"stdin": "1\n", "stdout": "2\n"}],
            "canonical_solution": "print(2 * int(input()))",
        },
        {
            "task_id": "js",
            "language": "javascript",
            "prompt": "function double(x) {\n",
            "program": "if (double(2) !== 4) throw new Error('assertion');",
            "canonical_solution": "  return 2 * x;\n}\n",
        },
    ]
    problems = load_problems(written(tmp_path / "p.jsonl", *records))
    samples = [Sample(task_id=each.task_id, solution=each.canonical_solution) for each in problems]
    wrong = Sample(task_id="js", completion="  return x;\n}\n")
    found = evaluate(problems, [*samples, wrong], k=[1])
    assert found.flaws == ()
    assert [end.outcome for end in found.samples] == ["passed"] * len(samples) + ["wrong_answer"]


def test_a_package_that_does_not_exist_is_named_with_the_problem_that_imports_it() -> None:
    tests = CheckTests("import surely_not_there_9x\ndef check(candidate):\n    assert candidate() == 1\n")
    problem = Problem(task_id="mine/7", entry_point="f", tests=tests)
    with pytest.raises(PackageError, match=r"'mine/7'.*surely-not-there-9x.*leave the problem out"):
        evaluate([problem], [Sample(task_id="mine/7", solution="def f():\n    return 1\n")])
