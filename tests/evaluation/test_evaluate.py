"""Samples of every kind on problems of every kind, evaluated in real sandboxes."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import Any

import pytest
from forged_values import CHECK, RIGHT, WRONG

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.evaluation import Evaluation
from flyteplugins_codegen.evaluation.run import DEFAULT_LIMITS, evaluate
from flyteplugins_codegen.evaluation.values import (
    AssertTests,
    CheckTests,
    Pair,
    PairTests,
    Problem,
    ProgramTests,
    PytestTests,
    Sample,
    StdinPair,
    StdinTests,
    Tests,
    UnittestTests,
)
from flyteplugins_codegen.sandbox.contract import Limits

UNITTEST = "import unittest\nclass T(unittest.TestCase):\n    def test_it(self): self.assertEqual(f(3), 6)\n"
LINES = "assert f('''a\nb''') == 'a\\nba\\nb'"
PROBLEMS = {
    "check": Problem(task_id="check", entry_point="f", tests=CheckTests(CHECK), canonical_solution=RIGHT),
    "asserts": Problem(
        task_id="asserts",
        entry_point="f",
        tests=AssertTests(("assert f(3) == 6", LINES)),
    ),
    "pairs": Problem(
        task_id="pairs",
        entry_point="f",
        tests=PairTests((Pair((3,), expected=6), Pair((0.1,), expected=0.2000001)), tolerance=1e-5),
    ),
    "unittest": Problem(task_id="unittest", tests=UnittestTests(UNITTEST)),
    "pytest": Problem(task_id="pytest", tests=PytestTests("from solution import f\ndef test_it(): assert f(3) == 6\n")),
    "stdin": Problem(
        task_id="stdin", tests=StdinTests((StdinPair("3\n", "6\n"), StdinPair("4", "8.0000001")), tolerance=1e-5)
    ),
}
ENDS = {
    "passed": RIGHT,
    "wrong_answer": WRONG,
    "exception": "def f(x): raise ValueError(x)\n",
    "timed_out": "def f(x):\n    while True: pass\n",
    "syntax_error": "def f(: x",
    "missing_entry_point": "def g(x): return 2 * x\n",
    "out_of_memory": "def f(x): return bytearray(10**10)\n",
    "output_limit": "def f(x):\n    with open('/tmp/x', 'wb') as file:\n        while True: file.write(bytes(2**20))\n",
    "forged": "import os\nos.kill(os.getppid(), 9)\n",
}
QUICK = replace(DEFAULT_LIMITS, cpu_s=0.5, wall_s=10.0, memory_mib=256, file_mib=16)


def sample(task: str, solution: str, **others: Any) -> Sample:
    return Sample(task_id=task, solution=solution, **others)


def evaluated(*samples: Sample, problems: tuple[Problem, ...] = tuple(PROBLEMS.values()), **options: Any) -> Evaluation:
    return evaluate(problems, samples, **{"k": (1,), "limits": QUICK, **options})


@pytest.fixture(scope="module")
def every_kind() -> Evaluation:
    """A right and a wrong solution of each problem, and then each way to end, of one of them."""
    program = "print(int(input()) * {})\n"
    solutions = dict.fromkeys(PROBLEMS, (RIGHT, WRONG)) | {"stdin": (program.format(2), program.format(3))}
    given = [sample(name, solution) for name, both in solutions.items() for solution in both]
    return evaluated(*given, *(sample("check", solution) for solution in ENDS.values()))


@pytest.mark.parametrize("name", PROBLEMS)
def test_each_kind_of_tests_tells_right_from_wrong(every_kind: Evaluation, name: str) -> None:
    right, wrong = (end for end in every_kind.samples[:12] if end.task_id == name)
    assert (right.outcome, wrong.outcome) == ("passed", "wrong_answer"), wrong
    by_suite = name in {"unittest", "pytest"}
    assert {right.judged_by, wrong.judged_by} == {"suite" if by_suite else "output" if name == "stdin" else "values"}
    assert right.cpu_s > 0
    assert right.wall_s > 0


def test_a_wrong_answer_names_the_first_case_that_failed(every_kind: Evaluation) -> None:
    reasons = {end.task_id: end.reason for end in every_kind.samples[:12] if not end.passed}
    assert "assert candidate(3) == 6\nf(3) returned None" in reasons["check"]
    assert reasons["asserts"].startswith("assert 1: ")
    assert reasons["pairs"].startswith("pair 1: ")
    assert reasons["unittest"].startswith("T::test_it: ")
    assert reasons["stdin"] == "pair 1: line 1 is '9', expected '6'"


@pytest.mark.parametrize("outcome", ENDS)
def test_every_sample_ends_in_one_way_and_says_why(every_kind: Evaluation, outcome: str) -> None:
    end = every_kind.samples[12 + list(ENDS).index(outcome)]
    assert end.outcome == outcome, end
    assert bool(end.reason) == (outcome != "passed")


def test_the_samples_are_in_their_order_and_counted(every_kind: Evaluation) -> None:
    assert [end.index for end in every_kind.samples] == list(range(12 + len(ENDS)))
    assert every_kind.counts["passed"] == 7
    assert sum(every_kind.counts.values()) == 12 + len(ENDS)
    assert every_kind.pass_at_k[1] == pytest.approx((5 * 0.5 + 2 / 11) / 6)


def test_a_time_out_tells_which_time_it_was(every_kind: Evaluation) -> None:
    (end,) = (end for end in every_kind.samples if end.outcome == "timed_out")
    assert "CPU time" in end.reason
    assert end.cpu_s < 5


def test_tests_that_the_canonical_solution_fails_are_reported_and_still_count() -> None:
    broken = replace(PROBLEMS["check"], task_id="broken", canonical_solution=WRONG)
    found = evaluated(sample("broken", RIGHT), problems=(broken, PROBLEMS["check"]))
    assert [flaw.task_id for flaw in found.flaws] == ["broken"]
    assert "its canonical solution does not pass its tests (wrong_answer)" in found.flaws[0].reason
    assert (found.pass_at_k, found.unanswered) == ({1: 1.0}, ("check",))


def test_what_needs_more_than_plain_data_is_judged_by_a_suite() -> None:
    solution = "class Point:\n    def __init__(self, x): self.x = x\ndef f(x): return Point(x)\n"
    problem = Problem(
        task_id="point",
        entry_point="f",
        tests=CheckTests("def check(candidate):\n    assert candidate(3).x == 3\n"),
        canonical_solution=solution,
    )
    right, wrong = evaluated(sample("point", solution), sample("point", RIGHT), problems=(problem,)).samples
    assert (right.outcome, right.judged_by) == ("passed", "suite")
    assert (wrong.outcome, wrong.judged_by) == ("wrong_answer", "suite")


def test_equal_samples_run_once_and_each_has_a_result() -> None:
    first, second = evaluated(sample("check", RIGHT, sample_id="a"), sample("check", RIGHT, sample_id="b")).samples
    assert (first.index, first.sample_id, second.index, second.sample_id) == (0, "a", 1, "b")
    assert (first.cpu_s, first.wall_s) == (second.cpu_s, second.wall_s)


def test_it_may_be_awaited() -> None:
    found = asyncio.run(evaluate.aio([PROBLEMS["check"]], [sample("check", RIGHT)], (1, 2)))
    assert found.pass_at_k[1] == 1.0
    assert math.isnan(found.pass_at_k[2])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": (0,)}, "k=0"),
        ({"k": 0}, "k=0"),
        ({"judge": "exit code"}, "'exit code' is no way to judge"),
        ({"judge": "suite", "problems": (PROBLEMS["pairs"],)}, "'pairs' has PairTests, which judge='suite'"),
        ({"problems": (Problem(task_id="c", tests=ProgramTests("int main;")),)}, "'c' has ProgramTests, which judge="),
        ({"workers": 0}, "workers=0"),
        ({"limits": Limits(wall_s=math.nan)}, "limits: wall_s=nan is no limit"),
        ({"limits": Limits(memory_mib=1)}, "1 MiB are less than an interpreter needs"),
        ({"problems": ()}, "no problems"),
        ({"problems": (replace(PROBLEMS["check"], entry_point=""),)}, "'check': its entry_point is ''"),
        ({"problems": (replace(PROBLEMS["pairs"], entry_point="f g"),)}, "'pairs': its entry_point is 'f g'"),
        ({"problems": (PROBLEMS["check"], PROBLEMS["check"])}, "two problems have the task_id 'check'"),
    ],
)
def test_invalid_arguments_are_refused_before_anything_runs(given: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        evaluated(sample("check", RIGHT), **given)


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        (CheckTests("def check(f:\n"), "the tests, line 1: SyntaxError"),
        (CheckTests(""), "nothing in its tests that a sample could fail"),
        (AssertTests(("assert f(1) ==",)), "SyntaxError"),
        (CheckTests("def check(candidate): candidate(1)"), "nothing in its tests"),
        (CheckTests("def verify(candidate): assert candidate(1)"), r"define no check\(candidate\)"),
        (AssertTests(()), "nothing in its tests"),
        (AssertTests(("f(1)",)), "nothing in its tests"),
        (AssertTests((), setup="assert True"), "nothing in its tests"),
        (PairTests(()), "nothing in its tests"),
        (PairTests((Pair((object(),)),)), "pair 1 holds what is no plain data"),
        (PytestTests("from solution import f\n"), "nothing in its tests"),
        (StdinTests(()), "nothing in its tests"),
    ],
)
def test_tests_that_cannot_run_are_refused_with_the_id_of_their_problem(tests: Tests, message: str) -> None:
    broken = Problem(task_id="broken/1", entry_point="f", tests=tests)
    with pytest.raises(RequestError, match=f"problem 'broken/1': .*{message}"):
        evaluated(sample("check", RIGHT), problems=(PROBLEMS["check"], broken))


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([], "no samples"),
        ([sample("nowhere", RIGHT, source="s.jsonl", line=7)], r"s\.jsonl:7: .* 'nowhere' is for none"),
    ],
)
def test_invalid_samples_are_refused(samples: list[Sample], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        evaluated(*samples, problems=(PROBLEMS["check"],))


@pytest.mark.parametrize("program", ["x = 1\0", "x" * 50_000_000, "s = '\ud800'\n", "(" * 100_000])
def test_what_is_no_program_fails_without_being_run(program: str) -> None:
    (end,) = evaluated(sample("check", program), problems=(PROBLEMS["check"],)).samples
    assert end.outcome == "syntax_error"
    assert end.cpu_s == 0
