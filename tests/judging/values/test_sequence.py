"""Solutions judged by values in one sandbox, in turn: each as if it were alone, whatever the one before it left."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from backends import ISOLATING, open_backend
from forged_values import CHECK, RIGHT, WRONG, forgeries

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.judging.values.run import ValuesBatch, ValuesJob
from flyteplugins_codegen.judging.values.tests import AssertTests, CheckTests, Pair, PairTests, ValuesTests
from flyteplugins_codegen.models.run import ValuesReport
from flyteplugins_codegen.sandbox.contract import Execution, Limits, Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox

LEAVES = {each.title: each.solution for each in forgeries() if "def all_others" in each.solution}
LIMITS = Limits(wall_s=5, cpu_s=2, memory_mib=256, processes=32, output_mib=8)
ENDLESS = "def f(x):\n    while True: pass\n"
KILLS = "import os\nos.kill(os.getppid(), 9)\n"
KILLS_ALL = "import os\nfor number in range(2, 100):\n    try: os.kill(number, 9)\n    except OSError: pass\n"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("bubblewrap") as opened:
        yield opened


def job(solution: str, tests: ValuesTests | None = None, limits: Limits = LIMITS) -> ValuesJob:
    return ValuesJob(solution=solution, entry_point="f", tests=tests or CheckTests(CHECK), limits=limits)


def told(reports: list[ValuesReport | None]) -> list[str]:
    return ["again" if report is None else report.cause.kind if report.cause else "passed" for report in reports]


def judged(sandbox: Sandbox, *jobs: ValuesJob) -> list[ValuesReport | None]:
    batch = ValuesBatch(jobs)
    return batch.reports(sandbox.map([batch.sandbox_job()], workers=1)[0])


@pytest.mark.parametrize("kind", ISOLATING)
def test_each_solution_is_judged_by_its_own_tests(kind: str, request: pytest.FixtureRequest) -> None:
    asserts, pairs = AssertTests(("assert f(1) == 2", "assert f(2) == 5")), PairTests((Pair((1,), expected=2),))
    with open_backend(kind, image=lambda: request.getfixturevalue("container_image")) as sandbox:
        reports = judged(sandbox, job(RIGHT), job(WRONG), job(RIGHT, asserts), job("def g(): 1"), job(RIGHT, pairs))
    assert told(reports) == ["passed", "test_failed", "test_failed", "missing_entry_point", "passed"]
    assert [len(report.cases) for report in reports if report] == [1, 1, 2, 1, 1]
    assert all(report.cpu_s > 0 and report.wall_s > 0 for report in reports if report)


def test_what_ends_badly_is_judged_and_what_comes_after_it_is_for_another_sandbox(sandbox: Sandbox) -> None:
    ends = "import os\ndef f(x): os._exit(0)\n"
    assert told(judged(sandbox, job(RIGHT), job(ends), job(RIGHT))) == ["passed", "exception", "again"]


def test_processor_time_is_each_ones_own(sandbox: Sandbox) -> None:
    busy = "import time\ndef f(x):\n    while time.process_time() < 0.7: pass\n    return x + x\n"
    tight = Limits(wall_s=20, cpu_s=1)
    reports = judged(sandbox, *(job(f"{busy}# {number}", limits=tight) for number in range(3)))
    assert told(reports) == ["passed"] * 3
    assert all(0.6 < report.cpu_s < 1 for report in reports if report)
    assert told(judged(sandbox, job(RIGHT), job(ENDLESS, limits=tight), job(RIGHT))) == ["passed", "timed_out", "again"]


def test_each_has_its_own_time_on_the_clock(sandbox: Sandbox) -> None:
    sleeps = "import time\ndef f(x):\n    time.sleep({})\n    return x + x\n"
    reports = judged(sandbox, *(job(sleeps.format(time_s), limits=Limits(wall_s=1)) for time_s in (0.2, 9, 0.2)))
    assert told(reports) == ["passed", "timed_out", "passed"]


@pytest.mark.parametrize("solution", [KILLS, KILLS_ALL], ids=["its parent", "all"])
def test_who_ends_a_judge_is_not_judged_beside_others(sandbox: Sandbox, solution: str) -> None:
    assert told(judged(sandbox, job(RIGHT), job(solution), job(RIGHT))) == ["passed", "again", "again"]


def test_one_that_takes_all_the_memory_takes_it_from_nobody(sandbox: Sandbox) -> None:
    """A process that the kernel ends for it may be another's: whose doing that is, is certain of one that is alone."""
    bomb = "def f(x):\n    kept = []\n    while True: kept.append(bytearray(1 << 24))\n"
    first, bombed, last = told(judged(sandbox, job(RIGHT), job(bomb), job(RIGHT)))
    assert (first, bombed, last) in {("passed", "again", "again"), ("passed", "out_of_memory", "passed")}


@pytest.mark.parametrize("title", LEAVES)
def test_a_mark_that_one_leaves_reaches_no_other(sandbox: Sandbox, title: str) -> None:
    first, *others = told(judged(sandbox, job(LEAVES[title]), job(RIGHT), job(RIGHT)))
    assert first in {"test_failed", "exception", "timed_out", "again", "untrusted_report"}
    assert set(others) <= {"again", "passed"}
    # A process may be ended before it has left its group; and what is not permitted leaves nothing.
    assert set(others) == {"again"} or "process" in title or not title.startswith(("leaves", "fills"))


def test_a_sandbox_that_fails_is_told_as_such() -> None:
    batch = ValuesBatch((job(RIGHT), job(RIGHT)))
    with pytest.raises(SandboxError, match="no disk"):
        batch.reports(Execution(status="sandbox_error", message="no disk"))
    with pytest.raises(SandboxError, match="the judge did not start"):
        batch.reports(Execution(status="exited", exit_code=1, stderr=b"no such file"))
