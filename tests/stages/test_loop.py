from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution, Request
from flyteplugins_codegen.models.run import (
    Attempt,
    Cause,
    Run,
    ScriptRun,
    SuiteReport,
    TestOutcome,
    TestReport,
    TestStrength,
)
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import ModelCall
from flyteplugins_codegen.stages.actions import (
    AddPackages,
    AddSystemPackages,
    BuildEnvironment,
    DropTests,
    Finish,
    FirstDraft,
    JudgeSideBySide,
    MeasureStrength,
    Redraft,
    Repair,
    RunTests,
    StrengthenTests,
)
from flyteplugins_codegen.stages.attempts import (
    carry_out,
    with_calls,
    with_changed,
    with_next,
    with_round,
    with_unusable,
)
from flyteplugins_codegen.stages.lineage import base_attempt
from flyteplugins_codegen.stages.loop import describe_cause, next_action

PLAN = CodePlan(description="d", approach="a")
LOCK = EnvironmentLock(python="3.11", platform="linux", digest="d")
PASSED = TestReport(runs=(ScriptRun(case="samples", status="exited", exit_code=0),))


def new_run(**settings):
    return Run(settings=Settings(model="openai/x", **settings), request=Request(prompt="p"))


def with_last(run, **changes):
    return with_changed(run, len(run.attempts), **changes)


def drafted(run, *packages):
    candidate = Candidate(plan=PLAN, solution=CodeSolution(code="x = 1\n", packages=packages), tests="t")
    return with_next(run, "first_draft", "why", candidate)


def failed(kind, subject="", message="m"):
    cause = Cause(kind=kind, subject=subject, message=message, is_certain=kind == "missing_module")
    return TestReport(suites=(SuiteReport(origin="generated", expected=("test_a",), cause=cause),))


def test_the_actions_after_a_right_first_answer():
    run = new_run()
    assert isinstance(next_action(run), FirstDraft)
    run = drafted(run)
    assert isinstance(next_action(run), BuildEnvironment)
    run = with_last(run, environment=LOCK)
    assert isinstance(next_action(run), RunTests)
    run = with_last(run, report=PASSED)
    assert isinstance(next_action(run), MeasureStrength)
    run = with_last(run, strength=TestStrength(share=1.0))
    assert next_action(run) == Finish(success=True, reason="attempt 1 passed")


def test_a_failed_test_is_repaired_by_a_call():
    run = with_last(drafted(new_run()), environment=LOCK, report=failed("test_failed", "test_a", "assert 1 == 2"))
    assert next_action(run) == Repair(reason="test failed (test_a): assert 1 == 2")


def test_an_environment_that_cannot_be_built_is_repaired_without_running_anything():
    report = TestReport(build_cause=Cause(kind="package_unavailable", subject="nope", message="no such distribution"))
    run = with_last(drafted(new_run()), report=report)
    assert isinstance(next_action(run), Repair)


@pytest.mark.parametrize(
    ("report", "package"),
    [
        (failed("missing_module", "cv2"), "opencv-python"),
        (failed("missing_module", "humanize"), "humanize"),
        (failed("exception", "", "ImportError: Missing optional dependency 'openpyxl'.  Use pip"), "openpyxl"),
    ],
)
def test_a_missing_package_costs_no_call(report, package):
    run = with_last(drafted(new_run(), "pandas"), environment=LOCK, report=report)
    action = next_action(run)
    assert isinstance(action, AddPackages)
    assert action.packages[0].startswith(package)
    again = carry_out(run, action)
    assert again.attempts[-1].candidate.solution.packages == ("pandas", *action.packages)
    assert isinstance(next_action(again), BuildEnvironment)


OTHER_NAMES = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "Crypto": "pycryptodome",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "pymupdf",
    "git": "gitpython",
    "google.protobuf": "protobuf",
    "jwt": "pyjwt",
    "magic": "python-magic",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "pptx": "python-pptx",
    "ruamel.yaml": "ruamel-yaml",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "usb": "pyusb",
    "win32api": "pywin32",
    "win32com": "pywin32",
    "yaml": "pyyaml",
}


@pytest.mark.parametrize(("module", "distribution"), OTHER_NAMES.items())
def test_an_import_name_that_differs_from_its_distribution_costs_no_call(module, distribution):
    run = with_last(drafted(new_run()), environment=LOCK, report=failed("missing_module", module))
    assert next_action(run).packages == (distribution,)


@pytest.mark.parametrize("module", ["google", "ruamel", "azure", "azure.storage"])
def test_a_name_that_several_distributions_share_adds_none_of_them(module):
    run = with_last(drafted(new_run()), environment=LOCK, report=failed("missing_module", module))
    assert isinstance(next_action(run), Repair)


SYSTEM_NEEDS = {
    "ImportError: libGL.so.1: cannot open shared object file: No such file or directory": "libgl1",
    "OSError: libgomp.so.1: cannot open shared object file: No such file or directory": "libgomp1",
    "ImportError: failed to find libmagic.  Check your installation": "libmagic1",
    "ImportError: libxml2.so.2: cannot open shared object file: No such file or directory": "libxml2",
    "ImportError: libpq.so.5: cannot open shared object file: No such file or directory": "libpq5",
    "ImportError: no pq wrapper available.\n- couldn't import 'ctypes': libpq library not found": "libpq5",
    "OSError: cannot load library 'libsndfile.so': libsndfile.so: cannot open shared object file": "libsndfile1",
    "ImportError: Bad git executable.\nThe git executable must be specified": "git",
    **{
        f"subprocess.py, in _execute_child\nFileNotFoundError: [Errno 2] No such file or directory: '{program}'": name
        for program, name in {
            "ffmpeg": "ffmpeg",
            "tesseract": "tesseract-ocr",
            "pdftotext": "poppler-utils",
            "dot": "graphviz",
            "git": "git",
            "/usr/bin/git": "git",
            "curl": "curl",
        }.items()
    },
}


@pytest.mark.parametrize(("message", "package"), SYSTEM_NEEDS.items())
def test_an_absent_library_or_command_costs_no_call(message, package):
    run = with_last(drafted(new_run()), environment=LOCK, report=failed("exception", "", message))
    assert next_action(run) == AddSystemPackages(packages=(package,), reason=describe_cause(run.attempts[-1]))


def test_a_module_that_is_missing_though_its_package_is_installed_goes_to_the_model():
    lock = LOCK.model_copy(update={"requirements": "Humanize==4.1 \\\n    --hash=sha256:00\n"})
    run = with_last(drafted(new_run()), environment=lock, report=failed("missing_module", "humanize"))
    assert isinstance(next_action(run), Repair)


def test_a_missing_module_that_is_no_certain_cause_goes_to_the_model():
    cause = Cause(kind="missing_module", subject="humanize", message="m")
    report = TestReport(runs=(ScriptRun(case="samples", status="exited", cause=cause),))
    assert isinstance(next_action(with_last(drafted(new_run()), environment=LOCK, report=report)), Repair)


def test_an_absent_library_is_named_for_the_image_and_ends_the_run_where_this_machine_lacks_it():
    report = failed("exception", "ImportError", "ImportError: libGL.so.1: cannot open shared object file: No such file")
    run = with_last(drafted(new_run()), environment=LOCK, report=report)
    action = next_action(run)
    assert isinstance(action, AddSystemPackages)
    again = carry_out(run, action)
    assert again.attempts[-1].candidate.solution.system_packages == ("libgl1",)
    assert again.attempts[-1].action == "add_system_packages"
    ended = next_action(with_last(again, environment=LOCK, report=report))
    assert isinstance(ended, Finish)
    assert not ended.success
    assert "apt-get install libgl1" in ended.reason


def test_the_last_iteration_ends_the_run_and_says_what_failed():
    run = with_last(drafted(new_run(max_iterations=1)), environment=LOCK, report=failed("test_failed", "test_a"))
    action = next_action(run)
    assert isinstance(action, Finish)
    assert not action.success
    assert action.reason == "no success after 1 attempt; the last failed with test failed (test_a): m"


def test_a_report_in_which_nothing_ran_is_no_success():
    run = with_last(drafted(new_run()), environment=LOCK, report=TestReport())
    action = next_action(run)
    assert isinstance(action, Repair)
    assert "nothing ran" in action.reason


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("it ended with 1\nTraceback (most recent call last):\n  File ...\nKeyError: 'a'", "exception: KeyError: 'a'"),
        ("it ended with 1\nsomething on stderr", "exception (KeyError): it ended with 1"),
        ("", "exception (KeyError): "),
    ],
)
def test_a_cause_is_described_in_one_line_by_its_exception(message, line):
    assert Cause(kind="exception", subject="KeyError", message=message).summary == line


def test_the_users_examples_come_before_everything_else_among_the_causes():
    def cause(message):
        return Cause(kind="exception", message=message)

    report = TestReport(
        runs=(
            ScriptRun(case="samples", status="exited", cause=cause("samples")),
            ScriptRun(case="example 1", status="exited", cause=cause("example")),
        ),
        suites=(
            SuiteReport(origin="generated", cause=cause("generated tests")),
            SuiteReport(origin="user", cause=cause("user's tests")),
        ),
    )
    assert [cause.message for cause in report.causes] == ["example", "user's tests", "samples", "generated tests"]


GENERATED = "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n"
ASKING = FirstDraft | Redraft | Repair | StrengthenTests


def suite_report(failing):
    tests = tuple(TestOutcome(name=name, outcome="failed", message=f"assert {name}") for name in failing)
    cause = Cause(kind="test_failed", subject=failing[0], message="assert") if failing else None
    suite = SuiteReport(origin="generated", expected=("test_a", "test_b"), tests=tests, cause=cause)
    return TestReport(runs=PASSED.runs, suites=(suite,))


REPORTS = st.sampled_from(
    [
        suite_report(()),
        suite_report(("test_a",)),
        suite_report(("test_a", "test_b")),
        failed("missing_module", "humanize"),
        failed("exception", "ImportError", "ImportError: libGL.so.1: cannot open shared object file"),
        failed("timed_out"),
        TestReport(build_cause=Cause(kind="package_unavailable", message="no such distribution")),
        TestReport(),
    ]
)


def candidates(draw, count):
    made = [
        Candidate(plan=PLAN, solution=CodeSolution(code=f"x = {draw(st.integers(0, 3))}\n"), tests=GENERATED)
        for _ in range(count)
    ]
    return [Attempt(number=1, action="fresh_draft", reason="r", candidate=candidate) for candidate in made]


def carried_out(draw, run, action):  # noqa: PLR0911 - one for each action
    """The run after an action with an arbitrary outcome."""
    if isinstance(action, ASKING) and draw(st.integers(0, 2)) == 0:
        return without_answer(draw, run, action)
    if isinstance(action, FirstDraft | Redraft):
        return with_round(run, candidates(draw, action.count))
    if isinstance(action, BuildEnvironment):
        return with_last(run, environment=LOCK)
    if isinstance(action, RunTests | JudgeSideBySide):
        return judged_all(draw, run)
    if isinstance(action, AddPackages | AddSystemPackages | DropTests):
        return carry_out(run, action)
    base = base_attempt(run)
    if isinstance(action, MeasureStrength):
        return with_changed(run, base.number, strength=TestStrength(share=draw(st.floats(0, 1))))
    name = "repair"
    if isinstance(action, StrengthenTests):
        name, run = "strengthen_tests", with_calls(run, (ModelCall(purpose="stronger_tests", model="m"),))
    return with_next(run, name, "r", base.candidate, parent=base.number, blame=draw(BLAMES))


def without_answer(draw, run, action):
    """The run after a question that the budget did not allow, or that got no usable reply."""
    if not isinstance(action, Repair | Redraft) or draw(st.booleans()):
        return run.model_copy(update={"stopped": "the budget is spent"})
    name = "repair" if isinstance(action, Repair) else "fresh_draft"
    return with_unusable(run, name, action.reason, ["no JSON"] * getattr(action, "count", 1))


def judged_all(draw, run):
    for attempt in run.attempts:
        if attempt.report is None:
            run = with_changed(run, attempt.number, environment=LOCK, report=draw(REPORTS))
    return run


BLAMES = st.sampled_from(["solution", "tests", "environment"])


@settings(max_examples=60, deadline=None)
@given(data=st.data(), max_iterations=st.integers(1, 12), count=st.none() | st.integers(1, 4))
def test_every_run_ends_within_its_iterations_and_asks_no_model_once_it_is_stopped(data, max_iterations, count):
    run = new_run(max_iterations=max_iterations, candidates=count)
    for _ in range(20 * max_iterations + 20):
        action = next_action(run)
        assert action == next_action(Run.model_validate_json(run.model_dump_json())), "decided by what travels alone"
        if isinstance(action, Finish):
            break
        assert not (run.stopped and isinstance(action, ASKING))
        run = carried_out(data.draw, run, action)
    assert isinstance(action, Finish)
    tried = [attempt for attempt in run.attempts if attempt.action != "drop_tests"]
    assert len(tried) <= max_iterations
    assert action.reason
