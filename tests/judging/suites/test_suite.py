"""Suites judged from outside: honest ones by what they do, forged ones as failed, whatever they claim."""

from __future__ import annotations

import marshal
from dataclasses import replace

import pytest
from suites import RIGHT, TESTS, WRONG, judged, kind, run_suites, suite_job

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.judging.suites.run import SuiteJob, run_suite
from flyteplugins_codegen.models.run import SuiteReport
from flyteplugins_codegen.sandbox.contract import Execution, Job, Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox


@pytest.fixture
def sandbox(suite_sandbox: Sandbox) -> Sandbox:
    return suite_sandbox


# --- honest -----------------------------------------------------------------------------------------------------------


def test_a_right_solution_passes_with_every_test_named(sandbox: Sandbox) -> None:
    report = judged(sandbox, RIGHT)
    assert report.cause is None
    assert report.exit_code == 0
    assert [test.name for test in report.tests] == [
        "test_zero",
        "test_some[1]",
        "test_some[2]",
        "TestMore::test_negative",
    ]
    assert {test.outcome for test in report.tests} == {"passed"}


def test_a_wrong_solution_fails_with_the_assertion_explained(sandbox: Sandbox) -> None:
    report = judged(sandbox, WRONG)
    assert report.cause is not None
    assert (report.cause.kind, report.cause.subject) == ("test_failed", "test_some[1]")
    failed = next(test for test in report.tests if test.name == "test_some[1]")
    assert failed.message == "assert 3 == (2 * 1)\n +  where 3 = double(1)"
    assert failed.traceback == "test_solution.py:10: assert double(x) == 2 * x"
    assert "2 more did not pass: test_some[2], TestMore::test_negative" in report.cause.message


def test_a_failure_inside_the_solution_shows_its_line(sandbox: Sandbox) -> None:
    report = judged(sandbox, "def double(x):\n    return {}[x]\n")
    assert report.tests[0].message == "KeyError: 0"
    assert report.tests[0].traceback == "test_solution.py:6: assert double(0) == 0\nsolution.py:2: return {}[x]"


VOLATILE = """
import tempfile, time

class Thing:
    pass

def double(x):
    time.sleep(0.02 * x)
    open(tempfile.mkdtemp() + "/none") if x == 0 else None
    return Thing() if x > 1 else {"a", "b", "c", Thing}
"""


def test_the_same_failure_has_the_same_text_at_every_run(sandbox: Sandbox) -> None:
    tests = TESTS + "\ndef test_path(tmp_path):\n    assert not tmp_path\n"
    reports = [judged(sandbox, VOLATILE, tests) for _ in range(2)]
    assert len({report.cause.model_dump_json() for report in reports if report.cause}) == 1
    assert len({tuple((test.name, test.message, test.traceback) for test in report.tests) for report in reports}) == 1
    assert len({report.output for report in reports}) == 1


SCRIPT = """
import argparse
from pathlib import Path

def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--sales", required=True)
    options = parser.parse_args(arguments)
    lines = Path(options.sales).read_text().splitlines()
    with open("/var/outputs/rows", "x") as file:
        file.write(str(len(lines)))

if __name__ == "__main__":
    main()
"""
SCRIPT_TESTS = """
import subprocess, sys
from pathlib import Path
from solution import main

def test_as_a_program(tmp_path):
    sales = tmp_path / "sales"
    sales.write_text("a\\nb\\n")
    subprocess.run([sys.executable, "solution.py", "--sales", str(sales)], check=True)
    assert Path("/var/outputs/rows").read_text() == "2"

def test_as_a_function(tmp_path):
    assert not list(Path("/var/outputs").iterdir())
    sales = tmp_path / "sales"
    sales.write_text("a\\n")
    main(["--sales", str(sales)])
    assert Path("/var/outputs/rows").read_text() == "1"
"""


def test_a_script_can_be_run_again_by_every_test_with_empty_outputs(sandbox: Sandbox) -> None:
    assert judged(sandbox, SCRIPT, SCRIPT_TESTS).cause is None


UNITTEST = """
import unittest
from unittest import mock
import solution

class Doubling(unittest.TestCase):
    def setUp(self): self.two = 2
    def test_two(self): self.assertEqual(solution.double(self.two), 4)
    def test_patched(self):
        with mock.patch("solution.double", return_value=9), mock.patch("builtins.print"):
            self.assertEqual(solution.double(1), 9)

def test_raises(monkeypatch):
    import pytest
    monkeypatch.setattr("builtins.input", lambda: "3")
    with pytest.raises(TypeError):
        solution.double(None)
"""


def test_unittest_mocks_and_monkeypatching_pass_for_what_they_are(sandbox: Sandbox) -> None:
    assert judged(sandbox, RIGHT, UNITTEST).cause is None
    report = judged(sandbox, WRONG, UNITTEST)
    assert report.cause is not None
    assert report.cause.subject == "Doubling::test_two"
    assert "6 != 4" in report.cause.message


def test_a_solution_that_changes_harmless_things_passes(sandbox: Sandbox) -> None:
    solution = (
        "import builtins, logging, sys, threading, warnings\nbuiltins._ = str\nlogging.captureWarnings(True)\n"
        "sys.path.append('/tmp')\nwarnings.simplefilter('ignore')\nprint('hello')\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    assert judged(sandbox, solution + RIGHT).cause is None


MANY = 6_000


def test_thousands_of_cases_are_all_reported(sandbox: Sandbox) -> None:
    tests = f"import pytest\n@pytest.mark.parametrize('x', range({MANY}))\ndef test_case(x): assert x >= 0\n"
    report = judged(sandbox, RIGHT, tests, wall_s=60)
    assert report.cause is None
    assert len(report.tests) == MANY


class CuttingSandbox:
    """Keeps less of a stream than a job asks for."""

    kind = "bubblewrap"

    def __init__(self, sandbox: Sandbox, keep_bytes: int) -> None:
        self._sandbox, self._keep_bytes = sandbox, keep_bytes

    def run(self, job: Job) -> Execution:
        execution = self._sandbox.run(job)
        kept = execution.stdout[: self._keep_bytes]
        return replace(execution, stdout=kept, stdout_cut=len(execution.stdout) - len(kept))


@pytest.mark.parametrize("keep_bytes", [60, 500, 900])
def test_a_report_that_was_cut_is_not_trusted(sandbox: Sandbox, keep_bytes: int) -> None:
    report = judged(CuttingSandbox(sandbox, keep_bytes), RIGHT)
    assert kind(report) == "untrusted_report"
    assert "was cut after" in report.cause.message


def test_a_failure_told_in_other_alphabets_is_not_taken_for_a_forgery(sandbox: Sandbox) -> None:
    report = judged(sandbox, "def double(x):\n    raise ValueError('" + "\U0001f600" * 8_000 + "')\n")
    assert kind(report) == "test_failed"


def test_of_many_lines_that_others_wrote_a_few_are_relayed(sandbox: Sandbox) -> None:
    writing = "import os\nfor _ in range(2_000): os.write(200, (b'forged ' * 30 + b'\\n') * 50)\n"
    report = judged(sandbox, writing + RIGHT)
    assert kind(report) == "untrusted_report"
    assert "something other than the runner wrote to its channel" in report.cause.message
    assert report.exit_code is not None, "the end was cut off by what others wrote"


# --- honest, and failing in other ways --------------------------------------------------------------------------------


def test_a_syntax_error_of_the_solution_is_told_without_a_run(sandbox: Sandbox) -> None:
    report = judged(sandbox, "def double(x):\n    return 2 *\n")
    assert report.cause is not None
    assert report.cause.is_certain
    assert report.cause.kind == "syntax_error"
    assert "solution.py, line 2" in report.cause.message
    assert "return 2 *\n" in report.cause.message
    assert report.wall_s == 0


def test_return_outside_a_function_is_a_syntax_error_too(sandbox: Sandbox) -> None:
    assert kind(judged(sandbox, "return 1")) == "syntax_error"


@pytest.mark.parametrize("where", ["solution", "function", "tests"])
def test_a_missing_module_is_named_wherever_it_is_imported(sandbox: Sandbox, where: str) -> None:
    line = "import no_such_module.part"
    solution = {"solution": f"{line}\n{RIGHT}", "function": f"def double(x):\n    {line}\n"}.get(where, RIGHT)
    report = judged(sandbox, solution, f"{line}\n{TESTS}" if where == "tests" else TESTS)
    assert report.cause is not None
    assert (report.cause.kind, report.cause.subject) == ("missing_module", "no_such_module")
    assert report.cause.is_certain


def test_an_error_on_import_is_the_solution_s_and_not_the_tests(sandbox: Sandbox) -> None:
    report = judged(sandbox, "1 / 0\n")
    assert report.cause is not None
    assert (report.cause.kind, report.cause.subject) == ("exception", "ZeroDivisionError")
    assert "solution.py:1: 1 / 0" in report.cause.message
    assert {test.outcome for test in report.tests} == {"missing"}


def test_a_solution_that_runs_on_import_is_told_to_guard_its_main(sandbox: Sandbox) -> None:
    report = judged(sandbox, SCRIPT.replace('if __name__ == "__main__":', "if True:"))
    assert report.cause is not None
    assert report.cause.kind == "exception"
    assert "__name__ == '__main__'" in report.cause.message


@pytest.mark.parametrize(
    "tests",
    [
        "def test_a(:\n",
        "1 / 0\ndef test_a(): assert True\n",
        "from solution import tripple\ndef test_a(): assert True\n",
        "def test_a(no_such_fixture): assert True\n",
    ],
)
def test_tests_that_fail_by_their_own_fault_are_broken(sandbox: Sandbox, tests: str) -> None:
    expected = ("test_a",)
    report = run_suite(sandbox, SuiteJob(solution=RIGHT, tests=tests, expected=expected, origin="generated"))
    assert kind(report) == "broken_tests"
    assert report.cause
    assert report.cause.message


def test_a_name_that_the_user_s_tests_ask_for_is_the_solution_s_to_define(sandbox: Sandbox) -> None:
    tests = "from solution import tripple\ndef test_a(): assert True\n"
    report = judged(sandbox, RIGHT, tests, "user")
    assert report.cause is not None
    assert (report.cause.kind, report.cause.subject) == ("exception", "ImportError")


def test_a_suite_that_hangs_names_the_test(sandbox: Sandbox) -> None:
    report = judged(sandbox, "def double(x):\n    while x: pass\n    return x\n", wall_s=2)
    assert report.cause is not None
    assert (report.cause.kind, report.cause.subject) == ("timed_out", "test_some[1]")
    assert [test.outcome for test in report.tests] == ["passed", "missing", "missing", "missing"]


def test_a_crash_is_told_with_its_signal_and_its_test(sandbox: Sandbox) -> None:
    report = judged(sandbox, "import os\ndef double(x):\n    os.abort() if x else None\n    return x\n")
    assert report.cause is not None
    assert (report.cause.kind, report.cause.subject) == ("exception", "test_some[1]")
    assert "SIGABRT" in report.cause.message


def test_a_lack_of_memory_is_told_with_its_limit_and_its_test(sandbox: Sandbox) -> None:
    hungry = "def double(x):\n    rest = b'1' * (x << 29)\n    return x\n"
    job = suite_job(hungry)
    report = run_suite(sandbox, replace(job, limits=replace(job.limits, memory_mib=256)))
    assert report.cause is not None
    assert (report.cause.kind, report.cause.subject) == ("out_of_memory", "test_some[1]")
    assert "256 MiB" in report.cause.message


def test_a_source_without_tests_is_nothing_that_ran(sandbox: Sandbox) -> None:
    assert kind(judged(sandbox, RIGHT, "def helper(): pass")) == "nothing_ran"


SKIPPING = "import pytest\nfrom solution import double\n@pytest.mark.skip(reason='later')\ndef test_a(): assert False\n"


def test_a_suite_of_which_everything_is_skipped_is_nothing_that_ran(sandbox: Sandbox) -> None:
    assert kind(judged(sandbox, RIGHT, SKIPPING, "user")) == "nothing_ran"


def test_a_skip_is_the_user_s_right_and_not_a_model_s(sandbox: Sandbox) -> None:
    tests = SKIPPING + "def test_b(): assert double(1) == 2\n"
    assert kind(judged(sandbox, RIGHT, tests, "user")) == "passed"
    assert kind(judged(sandbox, RIGHT, tests, "generated")) == "test_failed"


ABANDONMENTS = (
    "import pytest; pytest.skip('no')",
    "import pytest; pytest.xfail('no')",
    "import pytest; pytest.importorskip('no_such_module')",
    "import unittest; raise unittest.SkipTest('no')",
    "exec('import unittest; raise unittest.SkipTest()')",
)
TWO_STYLES = """
import unittest
import pytest
from solution import double

class Doubling(unittest.TestCase):
    def test_none(self): self.assertEqual(double(0), 0)
    def test_one(self): self.assertEqual(double(1), 2)

@pytest.mark.xfail(reason="known")
def test_marked(): assert double(1) == 2

def test_two(): assert double(2) == 4
"""


@pytest.mark.parametrize("body", ABANDONMENTS)
def test_a_solution_cannot_skip_the_user_s_tests(sandbox: Sandbox, body: str) -> None:
    report = judged(sandbox, f"def double(x):\n    if x: {body}\n    return 0\n", TWO_STYLES, "user")
    assert {test.name: test.outcome for test in report.tests} == {
        "Doubling::test_none": "passed",
        "Doubling::test_one": "failed",
        "test_marked": "failed",
        "test_two": "failed",
    }
    assert kind(report) == "test_failed"


OWN_SKIPS = """
import unittest
import pytest
from solution import double

class Doubling(unittest.TestCase):
    def test_given_up(self):
        try: double(None)
        except TypeError: self.skipTest("it takes no None")

def test_given_up_here():
    try: double(None)
    except TypeError: pytest.xfail("it takes no None")

@pytest.mark.xfail(reason="known")
def test_marked(): assert double(None) is None

def test_two(): assert double(2) == 4
"""


def test_what_the_user_s_tests_give_up_themselves_is_skipped(sandbox: Sandbox) -> None:
    report = judged(sandbox, RIGHT.replace("2 * x", "2 + x + x - 2"), OWN_SKIPS, "user")
    assert [test.outcome for test in report.tests] == ["skipped", "skipped", "skipped", "passed"]
    assert report.cause is None


def test_a_test_that_is_hidden_by_a_condition_is_missed(sandbox: Sandbox) -> None:
    tests = "from solution import double\nif double(1) == 2:\n    def test_a(): pass\ndef test_b(): assert True\n"
    report = judged(sandbox, WRONG, tests)
    assert report.cause is not None
    assert (report.cause.kind, report.cause.subject) == ("untrusted_report", "test_a")


def test_an_environment_without_pytest_is_not_the_candidate_s_fault() -> None:
    with open_sandbox("bubblewrap", environment=None) as bare:
        environment = bare.run(Job(command=("python", "-c", "import pytest")))
        assert environment.exit_code == 1, "the bare interpreter of this machine has pytest of its own"
        with pytest.raises(SandboxError, match="no pytest"):
            judged(bare, RIGHT)


class FailingSandbox:
    kind = "none"

    def run(self, _job: Job) -> Execution:
        return Execution(status="sandbox_error", message="no room on the disk")

    def map(self, jobs, *, workers, on_result):  # noqa: ARG002  -- the contract's
        return [on_result(number, self.run(job)) for number, job in enumerate(jobs)]


def test_a_failure_of_the_sandbox_is_never_the_program_s() -> None:
    with pytest.raises(SandboxError, match="no room on the disk"):
        judged(FailingSandbox(), RIGHT)


def test_tests_see_the_variables_that_the_agent_sets(sandbox: Sandbox) -> None:
    tests = "import os\n\ndef test_it():\n    assert os.environ['REGION'] == 'north'\n"
    job = SuiteJob(solution="", tests=tests, expected=("test_it",), origin="generated", env={"REGION": "north"})
    assert run_suite(sandbox, job).passed


def test_the_judged_process_cannot_read_the_nonce_s_holder(sandbox: Sandbox) -> None:
    solution = (
        "import os\ndef double(x):\n    parent = f'/proc/{os.getppid()}'\n"
        "    for name in ('environ', 'fd/0', 'fd/1'):\n"
        "        try: open(f'{parent}/{name}', 'rb')\n"
        "        except PermissionError: continue\n"
        "        raise AssertionError(name)\n"
        "    return 2 * x\n"
    )
    assert judged(sandbox, solution).cause is None


def test_assertions_hold_though_python_is_told_to_leave_them_out(sandbox: Sandbox) -> None:
    tests = "'''PYTEST_DONT_REWRITE'''\nfrom solution import double\ndef test_it():\n    assert double(1) == 2\n"
    job = replace(suite_job(WRONG, tests), env={"PYTHONOPTIMIZE": "2"})
    assert kind(run_suite(sandbox, job)) == "test_failed"


class OlderSandbox:
    """Runs a program whose compiled parts were made by another Python."""

    kind = "bubblewrap"

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def run(self, job: Job) -> Execution:
        _, codes, sources = marshal.loads(job.program["runner.parts"])  # noqa: S302  -- our own
        parts = marshal.dumps((b"another", codes[:9], sources), 4)
        return self._sandbox.run(replace(job, program={**job.program, "runner.parts": parts}))


def test_another_version_of_python_compiles_the_runner_itself(sandbox: Sandbox) -> None:
    assert judged(OlderSandbox(sandbox), RIGHT).cause is None


def test_many_suites_are_judged_as_each_is_on_its_own(sandbox: Sandbox) -> None:
    jobs = [suite_job(RIGHT), suite_job("def double("), suite_job(WRONG), suite_job(RIGHT, "x = 1"), suite_job(RIGHT)]
    seen: dict[int, SuiteReport] = {}
    reports = run_suites(sandbox, iter(jobs), workers=2, on_result=seen.__setitem__)
    assert [kind(report) for report in reports] == ["passed", "syntax_error", "test_failed", "nothing_ran", "passed"]
    assert [seen[index] for index in range(len(jobs))] == reports
    alone = run_suite(sandbox, jobs[2])
    assert alone.cause == reports[2].cause
    assert [(test.name, test.outcome, test.message, test.traceback) for test in alone.tests] == [
        (test.name, test.outcome, test.message, test.traceback) for test in reports[2].tests
    ]
    assert {report.judged_by for report in reports} == {"suite"}


def test_a_failure_of_the_sandbox_ends_a_run_of_many() -> None:
    with pytest.raises(SandboxError, match="no room on the disk"):
        run_suites(FailingSandbox(), [suite_job(RIGHT)])


def test_the_tests_are_not_on_the_disk(sandbox: Sandbox) -> None:
    tests = (
        "from pathlib import Path\nfrom solution import found\n"
        "def test_it():\n    assert Path(__file__).with_name('solution.py').exists()\n    assert found() == []\n"
    )
    solution = (
        "import os\ndef found():\n"
        "    paths = [os.path.join(at, name) for at, _, names in os.walk('/app') for name in names]\n"
        "    return [path for path in paths if b'with_' + b'name' in open(path, 'rb').read()]\n"
    )
    assert judged(sandbox, solution, tests).cause is None


def test_a_test_s_name_is_no_way_to_its_code(sandbox: Sandbox) -> None:
    tests = "import inspect\nfrom solution import double\ndef test_it():\n    assert double(1) == 2\n"
    report = judged(sandbox, RIGHT, tests + "def test_mine():\n    assert test_it.__code__.co_name == 'test_it'\n")
    assert report.cause is None, "the tests may look at their own code"
