"""What becomes of mutants in a real sandbox: told apart by the tests, bounded in time, unable to end the measuring."""

from __future__ import annotations

import textwrap
import time

import pytest

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.judging.mutants.run import MutationJob, run_mutants
from flyteplugins_codegen.packages.install import install
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.sandbox.contract import Execution, Limits
from flyteplugins_codegen.sandbox.opening import open_sandbox

SOLUTION = "def add(a, b):\n    return a + b\n"
STRONG = "from solution import add\n\ndef test_add():\n    assert add(2, 3) == 5\n"
WEAK = "from solution import add\n\ndef test_add():\n    assert add(0, 0) == 0\n"
WRONG = "def add(a, b):\n    return a - b\n"


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox(environment=install(resolve(RUNNER_REQUIREMENTS))) as opened:
        yield opened


def fates(sandbox, *mutants, suites=(STRONG,), wall_s=30.0, **further):
    job = MutationJob(solution=SOLUTION, suites=suites, mutants=mutants, wall_s=wall_s, **further)
    found = run_mutants(sandbox, job)
    return found if found is None else [found.get(number) for number in range(len(mutants))]


def body(text):
    return f"def add(a, b):\n{textwrap.indent(textwrap.dedent(text).strip(), '    ')}\n    return a + b\n"


def test_a_mutant_is_killed_by_a_test_that_tells_it_apart_and_survives_one_that_does_not(sandbox):
    assert fates(sandbox, WRONG, SOLUTION) == ["killed", "survived"]
    assert fates(sandbox, WRONG, suites=[WEAK]) == ["survived"]
    assert fates(sandbox, WRONG, suites=[WEAK, STRONG]) == ["killed"]


def test_one_mutant_leaves_nothing_for_the_next(sandbox):
    leaves = body("import os, sys\nopen('/tmp/left', 'w').close()\nos.environ['LEFT'] = sys.left = 'x'")
    suite = """
        import os, sys
        from solution import add
        def test_add(tmp_path):
            assert not hasattr(sys, "left") and "LEFT" not in os.environ and not os.listdir("/var/outputs")
            assert not os.listdir(tmp_path)
            (tmp_path / "a").write_text("x")
            open("/var/outputs/x", "w").close()
            os.makedirs("/var/outputs/folder/in", exist_ok=True)
            assert add(2, 3) == 5
        def test_more():
            assert not os.listdir("/var/outputs")
    """
    assert fates(sandbox, leaves, SOLUTION, suites=[textwrap.dedent(suite)]) == ["survived", "survived"]


def test_unittest_classes_marks_and_fixtures_tell_too(sandbox):
    suite = """
        import unittest, pytest
        from solution import add
        class TestAdd(unittest.TestCase):
            def test_add(self):
                self.assertEqual(add(2, 3), 5)
            @unittest.skip("not yet")
            def test_later(self):
                self.fail()
        @pytest.mark.xfail
        def test_known():
            assert add(1, 1) == 3
        def test_skipped():
            pytest.skip("here")
    """
    assert fates(sandbox, WRONG, SOLUTION, suites=[textwrap.dedent(suite)]) == ["killed", "survived"]


@pytest.mark.parametrize(
    ("ending", "fate"),
    [
        ("while True: pass", "timed_out"),
        ("import os; os._exit(0)", "killed"),
        ("import sys; sys.exit(0)", "killed"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed"),
        ("raise KeyboardInterrupt", "killed"),
        ("import pytest; pytest.exit('enough', returncode=0)", "killed"),
        ("return [0] * (1 << 40)", "killed"),
        ("import os, time; os.fork() or time.sleep(60)", "survived"),
    ],
)
def test_however_a_mutant_ends_the_next_one_is_tried(sandbox, ending, fate):
    begin = time.monotonic()
    assert fates(sandbox, body(ending), WRONG) == [fate, "killed"]
    assert time.monotonic() - begin < 20


def test_one_that_sleeps_is_ended_by_the_clock(sandbox):
    assert fates(sandbox, body("import time; time.sleep(600)"), WRONG) == ["timed_out", "killed"]


def test_one_that_does_not_compile_is_no_mutant(sandbox):
    assert fates(sandbox, "def add(:", WRONG) == ["invalid", "killed"]


def test_one_that_fails_as_it_is_imported_is_killed(sandbox):
    assert fates(sandbox, "raise ValueError", SOLUTION) == ["killed", "survived"]


def test_a_fork_bomb_ends_with_the_job(sandbox):
    bomb = body("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass")
    begin = time.monotonic()
    found = fates(sandbox, bomb, wall_s=3.0, limits=Limits(processes=24))
    assert found in ([None], ["timed_out"], ["killed"])
    assert time.monotonic() - begin < 40


def test_when_the_time_is_over_those_that_were_tried_count(sandbox):
    slow = body("import time; time.sleep(0.2)")
    found = fates(sandbox, *[slow] * 40, wall_s=2.0)
    assert found[0] == "survived"
    assert found[-1] is None


def test_nothing_is_measured_by_tests_that_the_solution_itself_fails(sandbox):
    assert fates(sandbox, WRONG, suites=[STRONG.replace("5", "6")]) is None
    assert fates(sandbox, WRONG, suites=["import nowhere"]) is None
    assert fates(sandbox, WRONG, suites=["x = 1"]) is None


def test_a_mutant_that_ends_the_runner_ends_the_measuring_and_no_more(sandbox):
    kills = body("import os, signal; os.kill(os.getppid(), signal.SIGKILL)")
    assert fates(sandbox, SOLUTION, kills, WRONG) == ["survived", None, None]
    assert fates(sandbox, WRONG) == ["killed"]


def test_lines_without_the_nonce_say_nothing(sandbox):
    writes = body(
        "import os\nfor fd in range(64):\n    try: os.write(fd, b'\\n0 0 71\\n1 71\\n')\n    except OSError: pass"
    )
    assert fates(sandbox, writes, SOLUTION) == ["survived", "survived"]


def test_a_sandbox_without_pytest_measures_nothing():
    with open_sandbox() as bare:
        assert fates(bare, WRONG) is None


def test_a_sandbox_that_failed_is_told(sandbox):
    class Broken:
        def run(self, _):
            return Execution(status="sandbox_error", message="no process")

    with pytest.raises(SandboxError, match="no process"):
        fates(Broken(), WRONG)
