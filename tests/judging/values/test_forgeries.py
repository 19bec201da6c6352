"""Solutions that want to be judged right by values, and are not: every one is judged failed, in every sandbox."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pytest
from backends import ISOLATING, open_backend
from forged_values import CHECK, RIGHT, WRONG, forgeries

from flyteplugins_codegen.judging.values.run import ValuesJob, run_many, run_values
from flyteplugins_codegen.judging.values.tests import AssertTests, CheckTests, Pair, PairTests, ValuesTests
from flyteplugins_codegen.models.run import ValuesReport
from flyteplugins_codegen.sandbox.contract import Job, Limits, Sandbox

FORGERIES = {forgery.title: forgery for forgery in forgeries()}
LIMITS = Limits(wall_s=5, memory_mib=256, processes=64)
ASSERTS = ("assert f(3) == 6", "assert f('ab') == 'abab'")
PAIRS = (Pair((3,), expected=6), Pair(("ab",), expected="abab"))
EVERY_KIND = [CheckTests(CHECK), AssertTests(ASSERTS), PairTests(PAIRS)]


@pytest.fixture(scope="module", params=ISOLATING)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with open_backend(request.param, image=lambda: request.getfixturevalue("container_image")) as opened:
        yield opened


@pytest.fixture(scope="module")
def one_sandbox() -> Iterator[Sandbox]:
    with open_backend("bubblewrap") as opened:
        yield opened


def job(solution: str, tests: ValuesTests, context: str = "") -> ValuesJob:
    return ValuesJob(solution=solution, entry_point="f", tests=tests, context=context, limits=LIMITS)


def judged(sandbox: Sandbox, solution: str, tests: ValuesTests, context: str = "") -> str:
    report = run_values(sandbox, job(solution, tests, context))
    return report.cause.kind if report.cause else "passed"


def judge_all(sandbox: Sandbox, titles: Iterable[str]) -> dict[str, ValuesReport]:
    results = run_many(sandbox, [job(FORGERIES[title].solution, CheckTests(CHECK)) for title in titles])
    return {title: report for title, report in zip(titles, results, strict=True) if isinstance(report, ValuesReport)}


@pytest.fixture(scope="module", params=["bubblewrap", "warm"])
def reports(request: pytest.FixtureRequest) -> Mapping[str, ValuesReport]:
    with open_backend(request.param) as opened:
        return judge_all(opened, FORGERIES)


def assert_failed(report: ValuesReport) -> None:
    assert report.cause
    assert report.cause.message
    assert report.cause.kind != "not_by_values"  # which would send it to a judge that is easier to fool


@pytest.mark.parametrize("title", FORGERIES)
def test_a_forgery_is_judged_failed_and_says_why(reports: Mapping[str, ValuesReport], title: str) -> None:
    assert_failed(reports[title])


def test_in_a_container_the_same_program_judges(container_image: str) -> None:
    """Every tenth forgery, since each takes eight times as long there."""
    sample = [*FORGERIES][::10]
    with open_backend("container", image=lambda: container_image) as opened:
        reports = judge_all(opened, sample)
    assert [*reports] == sample
    for report in reports.values():
        assert_failed(report)


@pytest.mark.parametrize("tests", EVERY_KIND, ids=lambda tests: type(tests).__name__)
def test_the_honest_solution_passes_the_same_tests_and_a_wrong_one_does_not(
    sandbox: Sandbox, tests: ValuesTests
) -> None:
    assert judged(sandbox, RIGHT, tests) == "passed"
    assert judged(sandbox, WRONG, tests) == "test_failed"


@pytest.mark.parametrize("title", [title for title, forgery in FORGERIES.items() if forgery.fools_one_process])
def test_one_process_for_solution_and_check_is_fooled(one_sandbox: Sandbox, title: str) -> None:
    program = f"{FORGERIES[title].solution}\n{CHECK}\ncheck(f)\n"
    execution = one_sandbox.run(Job(command=("python", "/app/main.py"), program={"main.py": program.encode()}))
    assert execution.exit_code == 0


# --- through what the checks themselves allow -------------------------------------------------------------------------

POLY = """
def poly(xs, x):
    return sum(c * x**n for n, c in enumerate(xs))

def f(xs):
    "A zero of the polynomial."
"""
ZERO = "def check(candidate):\n    assert abs(poly([-6, 2], candidate([-6, 2]))) < 1e-6\n"
FORGED_POLY = "def poly(xs, x): return 0\ndef f(xs): return None\n"


def test_a_helper_of_the_problem_is_the_problems_own(sandbox: Sandbox) -> None:
    assert judged(sandbox, FORGED_POLY, CheckTests(ZERO), POLY) == "test_failed"
    assert (
        judged(sandbox, POLY.replace('"A zero of the polynomial."', "return 3.0"), CheckTests(ZERO), POLY) == "passed"
    )


def test_a_helper_that_only_the_solution_has_decides_nothing(sandbox: Sandbox) -> None:
    assert judged(sandbox, FORGED_POLY, CheckTests(ZERO)) == "not_by_values"


def test_what_a_call_changes_in_its_arguments_is_not_what_is_expected_of_it(sandbox: Sandbox) -> None:
    numbers = [1, 2]
    tests = PairTests((Pair((numbers,), expected=numbers),))
    assert judged(sandbox, "def f(x):\n    x.clear()\n    return x\n", tests) == "test_failed"
    assert judged(sandbox, "def f(x): return x\n", tests) == "passed"


@pytest.mark.parametrize(
    ("solution", "check"),
    [
        ("def f(x): return 'x' * 3_000_000\n", "assert f(f(3) * 9) == 6"),
        ("def f(x):\n    x(object())\n", "assert f(lambda x: type(x)) == 6"),
        ("def f(x):\n    x('x' * 3_000_000)\n", "assert f(lambda x: 9 * x) == 6"),
        ("abs = len = sorted = None\ndef f(x): return object()\n", "assert f(sorted([abs(-3)])) == [6]"),
        ("def f(x): return object()\n", "assert f(f(3)) == 6"),
        ("class f:\n    def __init__(s, x): s.bit_length = lambda: 3\n", "assert f(3).bit_length() == 3"),
    ],
)
def test_a_solution_cannot_bring_about_that_it_is_judged_otherwise(sandbox: Sandbox, solution: str, check: str) -> None:
    assert judged(sandbox, solution, AssertTests((check,))) in {"test_failed", "exception"}


@pytest.mark.parametrize(
    "check",
    [
        "try:\n    assert f(3) == 6\nexcept BaseException:\n    pass\nassert True",
        "import contextlib\nwith contextlib.suppress(BaseException):\n    assert f(3) == 6\nassert True",
    ],
)
@pytest.mark.parametrize(
    "solution",
    [
        "def f(x): raise SystemExit(0)\n",
        "import os\ndef f(x): os._exit(0)\n",
        "class E:\n    __eq__ = lambda s, o: True\ndef f(x): return E()\n",
    ],
)
def test_a_check_that_catches_everything_does_not_save_it(sandbox: Sandbox, solution: str, check: str) -> None:
    assert judged(sandbox, solution, AssertTests((check,))) in {"test_failed", "exception"}
