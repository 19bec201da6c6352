"""Honest programs pass, though they log, look at functions, compare in their own ways and are patched by tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from forgeries import honest_programs, programs_with_tables
from suites import all_judged, environment_with, judged, kind, statuses_of_pytest, suite_job

from flyteplugins_codegen.models.run import SuiteReport
from flyteplugins_codegen.sandbox.contract import Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox

HONEST = {program.name: suite_job(program.solution, program.tests) for program in honest_programs()}
TABLES = {program.name: program for program in programs_with_tables()}


@pytest.fixture(scope="module")
def warm(suite_sandbox: Sandbox) -> Mapping[str, SuiteReport]:
    return all_judged(suite_sandbox, HONEST)


@pytest.fixture(scope="module")
def with_pandas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    environment = environment_with(tmp_path_factory.mktemp("pandas") / "packages", "pytest==9.2.0", "pandas")
    with open_sandbox("bubblewrap", environment=environment) as opened:
        yield opened


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_program_passes(suite_sandbox: Sandbox, name: str) -> None:
    report = judged(suite_sandbox, HONEST[name].solution, HONEST[name].tests)
    assert report.cause is None
    assert {test.outcome for test in report.tests} == {"passed"}


@pytest.mark.parametrize("name", HONEST)
def test_it_passes_in_a_warm_worker_too(warm: Mapping[str, SuiteReport], name: str) -> None:
    assert warm[name].cause is None


def test_honest_programs_pass_with_pytest_alone(suite_sandbox: Sandbox) -> None:
    assert statuses_of_pytest(suite_sandbox, HONEST) == dict.fromkeys(HONEST, 0)


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_compared_by_functions_that_are_as_they_were(with_pandas: Sandbox, name: str) -> None:
    report = judged(with_pandas, TABLES[name].solution, TABLES[name].tests, wall_s=60)
    assert kind(report) == ("untrusted_report" if TABLES[name].is_seen else "passed")
