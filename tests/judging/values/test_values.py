"""Honest solutions judged by values, in all that checks do; and what is said of those that are wrong."""

from __future__ import annotations

import base64
import marshal
import math
import zlib
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import Any

import pytest
from backends import ISOLATING, open_backend
from suites import environment_with

from flyteplugins_codegen.errors import RequestError, SandboxError
from flyteplugins_codegen.judging.values.inside.start import MODULES
from flyteplugins_codegen.judging.values.run import (
    AssertList,
    CheckFunction,
    Checks,
    Pair,
    Pairs,
    ValuesJob,
    case_names,
    judged,
    new_nonce,
    run_many,
    run_values,
    sandboxed,
)
from flyteplugins_codegen.models.run import ValuesReport
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox

HONEST = Path(__file__).parents[2] / "support" / "honest_values.txt"
ADD = "def add(a, b):\n    return a + b\n"
SUBTRACT = "def add(a, b):\n    return a - b\n"
ASSERTS = AssertList(("assert add(1, 2) == 3", "assert add('a', 'b') == 'ab'"))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("bubblewrap") as opened:
        yield opened


@pytest.fixture(scope="module", params=[*ISOLATING, "shared", "plain"])
def every_sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with open_backend(request.param, image=lambda: request.getfixturevalue("container_image")) as opened:
        yield opened


def job(solution: str, checks: Checks | str, entry_point: str = "f", wall_s: float = 20) -> ValuesJob:
    checks = AssertList((checks,)) if isinstance(checks, str) else checks
    return ValuesJob(solution=solution, entry_point=entry_point, checks=checks, limits=Limits(wall_s=wall_s))


def kind(report: ValuesReport) -> str:
    return report.cause.kind if report.cause else "passed"


# --- every kind of check, in every sandbox ----------------------------------------------------------------------------

CHECK = "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate([1], [2]) == [1, 2]\n"
KINDS = [CheckFunction(CHECK), ASSERTS, Pairs((Pair((1, 2), expected=3), Pair((1.5,), {"b": 1}, expected=2.5)))]


@pytest.mark.parametrize("checks", KINDS, ids=lambda checks: type(checks).__name__)
def test_a_right_solution_passes_and_a_wrong_one_does_not(every_sandbox: Sandbox, checks: Checks) -> None:
    report = run_values(every_sandbox, job(ADD, checks, "add"))
    assert report.cause is None
    assert (report.judged_by, {case.outcome for case in report.cases}) == ("values", {"passed"})
    assert [case.name for case in report.cases] == list(case_names(checks))
    assert report.isolation
    assert 0 < report.wall_s < 20
    assert kind(run_values(every_sandbox, job(SUBTRACT, checks, "add"))) == "test_failed"


def test_many_are_judged_in_their_order_and_told_as_they_end(every_sandbox: Sandbox) -> None:
    solutions = [ADD, SUBTRACT, "def add(a, b): (", ADD]
    told: dict[int, Any] = {}
    results = run_many(
        every_sandbox, (job(solution, ASSERTS, "add") for solution in solutions), on_result=told.__setitem__
    )
    assert [kind(result) for result in results if isinstance(result, ValuesReport)] == [
        "passed",
        "test_failed",
        "syntax_error",
        "passed",
    ]
    assert [told[index] for index in range(4)] == results


# --- what checks do ---------------------------------------------------------------------------------------------------


def honest_solutions() -> Iterator[tuple[str, ValuesJob]]:
    """Each of the text file: a title, a solution, an assert or more."""
    for part in HONEST.read_text().split("=== ")[1:]:
        title, _, texts = part.partition("\n")
        solution, check = texts.split("--- checked by\n")
        yield title, job(solution, check)


@pytest.fixture(scope="module")
def honest(sandbox: Sandbox) -> dict[str, Any]:
    jobs = dict(honest_solutions())
    return dict(zip(jobs, run_many(sandbox, jobs.values()), strict=True))


@pytest.mark.parametrize("title", [title for title, _ in honest_solutions()])
def test_a_check_may_do_so(honest: dict[str, Any], title: str) -> None:
    assert honest[title].cause is None


def test_an_entry_point_may_be_a_method(sandbox: Sandbox) -> None:
    solution = "class Solution:\n    def solve(self, x): return x + 1\n"
    assert run_values(sandbox, job(solution, Pairs((Pair((1,), expected=2),)), "Solution().solve")).passed


def test_asserts_share_their_setup_and_each_is_a_case(sandbox: Sandbox) -> None:
    checks = AssertList(("assert f(n) == 4", "n += 1\nassert f(n) == 6", "assert f(n) == 5"), setup="n = 2")
    report = run_values(sandbox, job("def f(x): return 2 * x", checks))
    assert [case.outcome for case in report.cases] == ["passed", "passed", "failed"]


def test_a_script_of_checks_is_one_case(sandbox: Sandbox) -> None:
    """As evalplus publishes MBPP+."""
    script = "inputs = [[1], [2]]\nresults = [2, 4]\nfor i, r in zip(inputs, results):\n    assert f(*i) == r\n"
    assert run_values(sandbox, job("def f(x): return 2 * x", script)).passed


def test_pairs_are_compared_as_they_ask(sandbox: Sandbox) -> None:
    solution = "def f(x): return (x / 3, float('nan'))\n"
    pair = Pair((1.0,), expected=[0.333333, math.nan])
    assert kind(run_values(sandbox, job(solution, Pairs((pair,), relative_tolerance=1e-5)))) == "test_failed"
    assert kind(run_values(sandbox, job(solution, Pairs((pair,), from_json=True)))) == "test_failed"
    assert run_values(sandbox, job(solution, Pairs((pair,), relative_tolerance=1e-5, from_json=True))).passed


def test_true_is_no_one_in_a_pair(sandbox: Sandbox) -> None:
    assert kind(run_values(sandbox, job("def f(x): return True", Pairs((Pair((1,), expected=1),))))) == "test_failed"


SORTS = """
import numpy as np

def f(x):
    x[0] = 9
    return np.sort(x)[::-1]
"""
SORTED = """
import numpy as np
x = np.array([1, 3, 2])
assert np.allclose(f(x), [9, 3, 2]) and x[0] == 9
assert f(x).dtype == np.int64
"""
EQUAL_ARRAY = """
import numpy as np

class E(np.ndarray):
    def __eq__(self, other): return True
    def __array_function__(self, *_): return True

def f(x):
    return np.zeros(3).view(E)
"""

HALF = """
def f(x):
    return [f(y) for y in x] if isinstance(x, list) else x / 2
"""
HALVES = """
import numpy as np

def assertion(out, exp):
    assert np.allclose(out, exp)
    np.testing.assert_allclose(out, exp)

for inp, exp in ((3, 1.5), ([3.0], [1.5]), ([], [])):
    assertion(f(inp), exp)
"""

PACKED = base64.b64encode(zlib.compress(b'["bare",[-4,0,1]]\n2.0')).decode()
ROOT = CheckFunction(
    f"# It raises.\nimport sys\ncheck = sys.modules['compare'].Cases({PACKED!r}, 'root', 0.0).check\n"
)


def test_arrays_are_plain_their_subclasses_are_not_and_nothing_is_close_to_something(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    environment = environment_with(tmp_path_factory.mktemp("numpy") / "packages", "numpy")
    with open_sandbox("bubblewrap", environment=environment) as opened:
        assert run_values(opened, job(SORTS, SORTED)).cause is None
        assert kind(run_values(opened, job(EQUAL_ARRAY, SORTED))) == "test_failed"
        assert run_values(opened, job(HALF, HALVES)).cause is None
        assert kind(run_values(opened, job("def f(x): return []", HALVES))) == "test_failed"
        # A root modulo 256: in its own type the polynomial is zero there.
        assert (
            kind(run_values(opened, job("import numpy as np\ndef f(x): return np.int8(126)\n", ROOT))) == "test_failed"
        )
        assert run_values(opened, job("import numpy as np\ndef f(x): return np.int8(-2)\n", ROOT)).passed
        pairs = Pairs((Pair(([3, 1],), expected=3), Pair(([2.5],), expected=2.5)))
        assert run_values(opened, job("import numpy as np\ndef f(x): return np.max(x)\n", pairs)).passed


# --- what fails, and what is said of it -------------------------------------------------------------------------------


def test_a_failure_shows_the_statement_the_call_and_what_it_gave(sandbox: Sandbox) -> None:
    report = run_values(sandbox, job(SUBTRACT, ASSERTS, "add"))
    assert report.cause
    assert report.cause.subject == "assert 1"
    assert report.cause.message == "assert add(1, 2) == 3\nadd(1, 2) returned -1\n1 more did not pass: assert 2"
    second = report.cases[1]
    assert second.message.endswith("add('a', 'b') raised TypeError: unsupported operand type(s) for -: 'str' and 'str'")
    assert second.traceback == "assert 2:1: assert add('a', 'b') == 'ab'\nsolution.py:2: return a - b"


EVALPLUS = """
def assertion(out, exp, atol):
    exact_match = out == exp
    assert exact_match

def check(candidate):
    inputs, results = [[1, 2], [3, 4]], [3, 7]
    for inp, exp in zip(inputs, results):
        assertion(candidate(*inp), exp, 0)
"""


def test_a_failure_in_a_helper_shows_what_its_names_hold(sandbox: Sandbox) -> None:
    report = run_values(sandbox, job("def f(a, b): return 3", CheckFunction(EVALPLUS)))
    assert report.cause
    assert report.cause.message == "assert exact_match\nf(3, 4) returned 3\nexact_match = False"
    assert report.cases[0].traceback.splitlines() == [
        "checks:9: assertion(candidate(*inp), exp, 0)",
        "checks:4: assert exact_match",
    ]


def test_a_pair_shows_what_was_expected_and_where_it_differs(sandbox: Sandbox) -> None:
    pairs = Pairs((Pair(([1, 2],), {"by": "é"}, expected={"a": [1, 3]}),))
    report = run_values(sandbox, job("def f(x, by): return {'a': x}", pairs))
    assert report.cause
    told = "f([1, 2], by='é') returned {'a': [1, 2]}, expected {'a': [1, 3]}; at ['a'][1]: 2, expected 3"
    assert report.cause.message == told


def test_what_is_long_is_shortened(sandbox: Sandbox) -> None:
    solution = "def f(x): return [['x' * 9999] * 9999] * 99\n"
    report = run_values(sandbox, job(solution, Pairs((Pair((list(range(9999)),), expected="y" * 9999),))))
    assert report.cause
    assert len(report.cause.message) <= 2000


def test_many_failures_are_told_though_not_all_their_texts(sandbox: Sandbox) -> None:
    pairs = Pairs(tuple(Pair(("x" * 99,), expected="y" * number) for number in range(5000)))
    report = run_values(sandbox, job("def f(x): return x", pairs))
    assert {case.outcome for case in report.cases[100:]} == {"failed"}
    assert (report.cases[0].message != "", report.cases[-1].message) == (True, "")


def test_what_was_printed_is_shown(sandbox: Sandbox) -> None:
    solution = "def f(x):\n    print('hello')\n    return 'x' * x"
    report = run_values(sandbox, job(solution, "print('said')\nassert f(1) == 2"))
    assert report.output == "hello\nsaid"


@pytest.mark.parametrize(
    ("solution", "checks", "expected"),
    [
        ("def f(x): (", "assert f(1)", "syntax_error"),
        ("import no_such_module\ndef f(x): pass", "assert f(1)", "missing_module"),
        ("def f(x): import no_such_module", "assert f(1)", "missing_module"),
        ("1 / 0\ndef f(x): pass", "assert f(1)", "exception"),
        ("def f(x): return x[1]", "assert f([])", "exception"),
        ("def g(x): pass", "assert f(1)", "missing_entry_point"),
        ("f = 3", "assert f(1)", "missing_entry_point"),
        ("def f(x): return 1", "assert f(1) == 2", "test_failed"),
        ("def f(x): return None", "assert len(f(1)) == 2", "test_failed"),
        ("def f(x): return object()", "x = f(1)\nassert isinstance(x, int), x", "test_failed"),
        ("def f(x): return 2", "import sys\nsys.stdout.close()\nassert f(1) == 3", "test_failed"),
        ("def f(x): return 1", "assert f(1) == (", "broken_tests"),
        ("def f(x): return 1", AssertList(("assert f(1)",), setup="1 / 0"), "broken_tests"),
        ("def f(x): return 1", AssertList(("assert f(1)",), setup="assert f(1) == 2"), "test_failed"),
        ("def f(x): return 1", CheckFunction("def check(f): assert f(1) == 2\ncheck(f)"), "test_failed"),
        ("def f(x): return 1", CheckFunction("def checks(f): assert f(1)"), "broken_tests"),
        ("def f(x): return 1", CheckFunction("def check(f): assert f(1)", context="def"), "broken_tests"),
        ("def f(x): return 1", AssertList(()), "nothing_ran"),
        ("def f(x): return 1", AssertList(("f(1)",)), "nothing_ran"),
        ("def f(x): return 1", Pairs(()), "nothing_ran"),
        ("def f(x): return 1", CheckFunction("def check(f): assert True"), "nothing_ran"),
        ("def f(x): return 1", CheckFunction("def check(f): pass"), "nothing_ran"),
        ("def f(x): return 1", "class A: pass\nassert f(A()) == 1", "not_by_values"),
        ("def f(x): return 1", "import io\nassert f(io.StringIO()) == 1", "not_by_values"),
        ("def f(x): return 1\ndef g(x): return 1", "assert g(1) == 1", "not_by_values"),
        ("def f(x):\n    while True: pass", "assert f(1)", "timed_out"),
        ("def f(x): return 1", "while True: assert f(1)", "timed_out"),
        ("while True: pass", "assert f(1)", "timed_out"),
        ("def f(x): return [0] * 10**9", "assert f(1)", "out_of_memory"),
        ("def f(x): raise MemoryError", "assert f(1)", "out_of_memory"),
    ],
)
def test_each_way_to_fail_has_its_cause(sandbox: Sandbox, solution: str, checks: str, expected: str) -> None:
    wall_s = 1 if expected == "timed_out" else 20
    limited = job(solution, checks, wall_s=wall_s)
    report = run_values(sandbox, replace(limited, limits=replace(limited.limits, memory_mib=256)))
    assert kind(report) == expected
    assert report.cause
    assert report.cause.message
    assert not report.passed


def test_time_that_is_up_is_said_of_the_call_that_ran(sandbox: Sandbox) -> None:
    solution = "def f(x):\n    while x > 1: pass\n    return x\n"
    checks = AssertList(("assert f(1) == 1", "assert f(2) == 2", "assert f(3) == 3"))
    report = run_values(sandbox, job(solution, checks, wall_s=1))
    assert report.cause
    assert (report.cause.kind, report.cause.subject) == ("timed_out", "assert 2")
    assert report.cause.message == "it had not ended after 1 s while f(2) was running"
    assert [case.outcome for case in report.cases] == ["passed", "missing", "missing"]


def test_cpu_time_that_is_up_is_time_that_is_up(sandbox: Sandbox) -> None:
    limited = job("def f(x):\n    while True: pass", "assert f(1)")
    assert kind(run_values(sandbox, replace(limited, limits=Limits(wall_s=30, cpu_s=1)))) == "timed_out"


# --- what is not the candidate's fault --------------------------------------------------------------------------------


@pytest.mark.parametrize("program", [b"import nothing", b"while True: pass", b"x = [0] * 10**9"])
def test_an_interpreter_that_cannot_run_the_judge_is_nobodys_failure(sandbox: Sandbox, program: bytes) -> None:
    nonce, limited = new_nonce(), job(ADD, ASSERTS, "add", wall_s=1)
    made = sandboxed(limited, nonce)
    limits = replace(made.limits, memory_mib=256)
    with pytest.raises(SandboxError, match="did not start"):
        judged(limited, nonce, sandbox.run(replace(made, program={"judge.py": program}, limits=limits)))


def test_a_solution_may_have_all_the_processes_that_it_is_given(sandbox: Sandbox) -> None:
    one = replace(job(ADD, ASSERTS, "add"), limits=Limits(wall_s=20, processes=2))
    assert run_values(sandbox, one).cause is None


class Broken:
    kind = "none"

    def run(self, _: Job) -> Execution:
        return Execution(status="sandbox_error", message="no disk")

    def map(self, jobs: Any, *, on_result: Any, **_: Any) -> list[Execution]:
        executions = [self.run(each) for each in jobs]
        for index, execution in enumerate(executions):
            on_result(index, execution)
        return executions

    def close(self) -> None:
        pass


def test_a_sandbox_that_fails_is_told_as_such() -> None:
    with pytest.raises(SandboxError, match="no disk"):
        run_values(Broken(), job(ADD, ASSERTS, "add"))
    [result] = run_many(Broken(), [job(ADD, ASSERTS, "add")])
    assert isinstance(result, SandboxError)


@pytest.mark.parametrize("value", [object(), lambda: 3, Path("x")])
def test_a_pair_of_what_is_no_plain_data_is_refused(sandbox: Sandbox, value: Any) -> None:
    for pair in (Pair((value,)), Pair((), {"a": [value]}), Pair((), expected={1: value})):
        with pytest.raises(RequestError, match="pair 2 holds what is no plain data"):
            run_values(sandbox, job(ADD, Pairs((Pair((Decimal(1),)), pair))))


@pytest.mark.parametrize("entry_point", ["", "f(", "f g", "import os", "x = 1"])
def test_an_entry_point_that_is_no_expression_is_refused(entry_point: str) -> None:
    with pytest.raises(RequestError, match="entry point"):
        job(ADD, ASSERTS, entry_point)


def test_an_interpreter_of_another_version_judges_the_same(sandbox: Sandbox) -> None:
    """It cannot take the modules as they were compiled here, and compiles their source."""
    nonce = new_nonce()
    made = sandboxed(job(ADD, ASSERTS, "add"), nonce)
    ours = made.program[MODULES]
    assert isinstance(ours, bytes)
    version, compiled, sources = marshal.loads(ours)  # noqa: S302 - of our own making
    assert version == MAGIC_NUMBER
    theirs = marshal.dumps((b"1234", compiled[::-1], sources), 2)
    execution = sandbox.run(replace(made, program={**made.program, MODULES: theirs}))
    assert judged(job(ADD, ASSERTS, "add"), nonce, execution).passed


LAID_OUT = """
import os

def f(name):
    return os.path.exists("/app/" + name)
"""


def test_warm_workers_have_the_judge_imported_before_they_fork(sandbox: Sandbox) -> None:
    by_the_job, ahead = (job(LAID_OUT, f"assert f('judge.py') and f({MODULES!r}) is {way}") for way in (True, False))
    assert run_values(sandbox, by_the_job).cause is None
    assert [kind(result) for result in run_many(sandbox, [ahead]) if isinstance(result, ValuesReport)] == ["passed"]
