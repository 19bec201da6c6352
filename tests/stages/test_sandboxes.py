from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from flyteplugins_codegen.judging.suites.run import SuiteJob, run_suite
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution, Request
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.packages.resolve import resolve
from flyteplugins_codegen.sandbox.contract import Job
from flyteplugins_codegen.sandbox.warm.fork import ZygoteSandbox
from flyteplugins_codegen.sandbox.warm.pool import ZygoteKind
from flyteplugins_codegen.stages.sandboxes import RunSandboxes

CANDIDATE = Candidate(plan=CodePlan(description="d", approach="a"), solution=CodeSolution(code="x = 1\n"))
OTHER = CANDIDATE.model_copy(update={"solution": CodeSolution(code="x = 2\n")})
RUN = Run(settings=Settings(model="openai/x"), request=Request(prompt="p"))
HELLO = Job(command=("python", "/app/hello.py"), program={"hello.py": b"print('hello')\n"})


@pytest.fixture
def sandboxes() -> Iterator[RunSandboxes]:
    opened = RunSandboxes()
    yield opened
    opened.close()


def test_only_the_first_script_of_an_environment_does_not_run_in_a_warm_worker(sandboxes: RunSandboxes) -> None:
    first, second = (sandboxes.for_candidate(RUN, candidate, resolve(())) for candidate in (CANDIDATE, OTHER))
    ran = [sandbox.run(HELLO) for opened in (first, second) for sandbox in (opened.scripts, opened.suites)]
    assert [execution.stdout for execution in ran] == [b"hello\n"] * 4
    assert ["warm" in execution.isolation for execution in ran] == [False, True, True, True]


def test_sandboxes_opened_ahead_are_ready_for_a_candidate_without_packages(
    sandboxes: RunSandboxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[ZygoteKind] = []
    start = ZygoteSandbox.start
    monkeypatch.setattr(ZygoteSandbox, "start", lambda self, kind: started.append(kind) or start(self, kind))
    sandboxes.open_ahead(RUN)
    sandboxes.open_ahead(RUN)
    opened = sandboxes.for_candidate(RUN, CANDIDATE, resolve(()))
    suite = SuiteJob(solution="", tests="def test_it():\n    assert 1 == 1\n", expected=["test_it"], origin="generated")
    assert run_suite(opened.suites, suite).passed
    assert len(started) == 1
    other = sandboxes.for_candidate(RUN, CANDIDATE, resolve(("humanize",)))
    assert run_suite(other.suites, suite).passed
    assert len(started) == 2


def test_workers_have_what_the_first_candidate_imports(sandboxes: RunSandboxes) -> None:
    candidate = CANDIDATE.model_copy(update={"solution": CodeSolution(code="import humanize\n")})
    asking = Job(command=("python", "/app/ask.py"), program={"ask.py": b"import sys; print('humanize' in sys.modules)"})
    first, second = (sandboxes.for_candidate(RUN, item, resolve(("humanize",))) for item in (candidate, CANDIDATE))
    ran = [sandbox.run(asking).stdout for sandbox in (first.scripts, first.suites, second.scripts)]
    assert ran == [b"False\n", b"True\n", b"True\n"]


def test_opening_ahead_waits_for_nothing_and_ends_with_the_sandboxes(sandboxes: RunSandboxes) -> None:
    started = time.perf_counter()
    sandboxes.open_ahead(
        RUN.model_copy(update={"settings": Settings(model="openai/x", base_packages=("no-such-thing",))})
    )
    assert time.perf_counter() - started < 1  # a package index was not waited for
    sandboxes.close()
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("sandboxes-ahead")]


def test_a_candidate_with_other_packages_has_its_own_sandboxes_and_the_older_ones_stay(
    sandboxes: RunSandboxes,
) -> None:
    older = sandboxes.for_candidate(RUN, CANDIDATE, resolve(()))
    newer = sandboxes.for_candidate(RUN, CANDIDATE, resolve(("humanize",)))
    needing = Job(command=("python", "-c", "import humanize"))
    assert newer.scripts.run(needing).exit_code == 0
    assert older.scripts.run(needing).exit_code == 1


def test_packages_that_only_tests_import_are_not_there_for_scripts(sandboxes: RunSandboxes) -> None:
    candidate = CANDIDATE.model_copy(update={"tests": "import humanize\n"})
    opened = sandboxes.for_candidate(RUN, candidate, resolve(()))
    needing = Job(command=("python", "-c", "import humanize"))
    assert (opened.scripts.run(needing).exit_code, opened.suites.run(needing).exit_code) == (1, 0)
