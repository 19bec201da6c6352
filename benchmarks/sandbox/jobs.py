"""The jobs that are measured: an empty one, one of HumanEval's size, a suite of five tests, and a pandas script."""

from __future__ import annotations

from flyteplugins_codegen.judging.suites.run import SuiteJob
from flyteplugins_codegen.judging.values.run import ValuesJob
from flyteplugins_codegen.judging.values.tests import CheckTests
from flyteplugins_codegen.sandbox import Job

NOTHING = ("-I", "-c", "pass")

SOLUTION = '''
from typing import List


def below_zero_at(operations: List[int]) -> int:
    """The index of the first operation after which the balance is below zero, -1 where it never is.

    >>> below_zero_at([1, 2, -4, 5])
    2
    >>> below_zero_at([1, 2, 3])
    -1
    """
    balance = 0
    for index, operation in enumerate(operations):
        balance += operation
        if balance < 0:
            return index
    return -1
'''

CHECK = """
def check(candidate):
    assert candidate([]) == -1
    assert candidate([1, 2, -3, 1, 2, -3]) == -1
    assert candidate([1, 2, -4, 5, 6]) == 2
    assert candidate([1, -1, 2, -2, 5, -5, 4, -4]) == -1
    assert candidate([1, -1, 2, -2, 5, -5, 4, -5]) == 7
    assert candidate([1, -2, 2, -2, 5, -5, 4, -4]) == 1
    assert candidate(list(range(200)) + [-100_000]) == 200
"""

HUMAN_EVAL_SIZED = f"{SOLUTION}\n{CHECK}\ncheck(below_zero_at)\nprint('done')\n"

_SOLUTION = """
def total(prices, quantities):
    if len(prices) != len(quantities):
        raise ValueError("one quantity for each price")
    return sum(price * quantity for price, quantity in zip(prices, quantities))
"""

_TESTS = """
import pytest

from solution import total


def test_nothing():
    assert total([], []) == 0


def test_one():
    assert total([2.5], [2]) == pytest.approx(5.0)


@pytest.mark.parametrize("quantity", [0, 3])
def test_many(quantity):
    assert total([1, 2, 3], [quantity] * 3) == 6 * quantity


def test_lengths():
    with pytest.raises(ValueError):
        total([1], [])
"""

PANDAS = b"""
import io

import pandas as pd

rows = "\\n".join(f"2024-01-{day:02d},{day % 3},{day * 1.5}" for day in range(1, 29))
frame = pd.read_csv(io.StringIO("date,store,amount\\n" + rows), parse_dates=["date"])
print(frame.groupby("store")["amount"].agg(["mean", "sum"]).round(2).to_csv())
"""


def empty_job() -> Job:
    """A Python that does nothing."""
    return Job(command=("python", *NOTHING))


def human_eval_job() -> Job:
    """One problem's solution and its check, as a script."""
    return Job(command=("python", "/app/main.py"), program={"main.py": HUMAN_EVAL_SIZED.encode()})


def values_job() -> ValuesJob:
    """The same problem for the judge by values."""
    return ValuesJob(solution=SOLUTION, entry_point="below_zero_at", tests=CheckTests(CHECK))


def suite_job() -> SuiteJob:
    """Five test cases of four tests."""
    expected = ("test_nothing", "test_one", "test_many[0]", "test_many[1]", "test_lengths")
    return SuiteJob(solution=_SOLUTION, tests=_TESTS, expected=expected, origin="user")


def pandas_job() -> Job:
    """A small table read, grouped and written."""
    return Job(command=("python", "/app/main.py"), program={"main.py": PANDAS})
