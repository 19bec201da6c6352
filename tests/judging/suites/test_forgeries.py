"""Solutions that forge a pass, or look their answers up: each is judged failed, in a cold sandbox and in a warm one."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from forgeries import forgeries, reaching_program
from suites import RIGHT, WRONG, all_judged, judged, kind, statuses_of_pytest, suite_job

from flyteplugins_codegen.judging.suites.run import run_suite
from flyteplugins_codegen.models.run import SuiteReport
from flyteplugins_codegen.sandbox.contract import Sandbox

FORGERIES = {forgery.name: forgery for forgery in forgeries()}
JOBS = {name: suite_job(forgery.solution, forgery.tests, wall_s=10) for name, forgery in FORGERIES.items()}

# A warm sandbox runs the same guards in another start of the interpreter: a third of the forgeries shows that.
WARM = [*FORGERIES][::3]


@pytest.fixture(scope="module")
def cold(suite_sandbox: Sandbox) -> Mapping[str, SuiteReport]:
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(JOBS, pool.map(lambda job: run_suite(suite_sandbox, job), JOBS.values()), strict=True))


@pytest.fixture(scope="module")
def warm(suite_sandbox: Sandbox) -> Mapping[str, SuiteReport]:
    return all_judged(suite_sandbox, {name: JOBS[name] for name in WARM})


@pytest.mark.parametrize(("way", "name"), [*(("cold", name) for name in FORGERIES), *(("warm", name) for name in WARM)])
def test_a_forgery_is_judged_failed_and_says_why(request: pytest.FixtureRequest, way: str, name: str) -> None:
    report: SuiteReport = request.getfixturevalue(way)[name]
    assert report.cause
    assert report.cause.message
    if FORGERIES[name].is_seen:
        assert kind(report) == "untrusted_report"


def test_the_forgeries_do_fool_pytest_on_its_own(suite_sandbox: Sandbox) -> None:
    fooling = {name: forgery for name, forgery in FORGERIES.items() if forgery.fools_pytest}
    jobs = {name: suite_job(forgery.solution.replace(RIGHT, WRONG), forgery.tests) for name, forgery in fooling.items()}
    ended = statuses_of_pytest(suite_sandbox, jobs)
    assert ended == dict.fromkeys(fooling, 0)


def test_no_name_of_any_module_leads_to_the_judge(suite_sandbox: Sandbox) -> None:
    program = reaching_program()
    report = judged(suite_sandbox, program.solution, program.tests)
    assert report.cause is None
    assert statuses_of_pytest(suite_sandbox, {"reach": suite_job(program.solution, program.tests)}) == {"reach": 1}
