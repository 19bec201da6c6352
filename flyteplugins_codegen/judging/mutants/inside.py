"""Runs suites against mutants of a solution, one after the other, inside the sandbox, and reports the fate of each.

Standard library and pytest only; copied to /app and started as `python /app/runner.py`, with the order on stdin as
JSON. It imports pytest and the job's libraries once. Then every mutant, and before them the solution itself, gets a
fork of its own, in which pytest imports the tests and runs them until one fails; the exit status is the result. This
process runs nothing of the solution, and writes the line about each fork to a stdout that the forks do not have.

A fork has a limit of processor time, and a longer one of wall time in case it sleeps; what it leaves in its session's
process group is killed with it. All forks belong to one user in one sandbox, so a solution that means to can disturb
this process. That ends the measurement and nothing else: the sandbox holds as it does for every job.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import shutil
import signal
import sys
import time
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

APP = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib would cost each start 5 ms
OUTPUTS = os.environ.get("FLYTE_CODEGEN_OUTPUTS", "/var/outputs")
SURVIVED, KILLED, INVALID = 70, 71, 72
CPU_FACTOR, CPU_AT_LEAST_S = 4, 0.25
WALL_FACTOR, WALL_AT_LEAST_S = 10, 1.0


def main() -> None:
    """Import what all mutants need, then run pytest up to its collection of the tests."""
    output = os.fdopen(os.dup(1), "w", buffering=1)
    order = json.loads(sys.stdin.buffer.read())
    _leave_streams()
    for variable in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(variable, None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import pytest

    os.chdir(APP)
    sys.argv[:] = ["pytest"]
    sys.path.insert(0, APP)
    _import_all(order["modules"])
    paths = [f"{APP}/{name}.py" for name in order["suites"]]
    pytest.main(
        [*order["options"], f"--rootdir={APP}", f"--basetemp=/tmp/tests-{os.getpid()}", *paths], [_Forks(order, output)]
    )


def _import_all(names: Sequence[str]) -> None:
    """Import those of the modules that exist, so that no fork has to. A missing one fails its test later."""
    for name in names:
        if name not in sys.modules and not name.startswith(("solution", "test_solution")):
            with contextlib.suppress(BaseException):
                importlib.import_module(name)
    gc.freeze()  # so that garbage collection in a fork copies no pages


def _read_names(descriptor: int) -> list[str]:
    """The modules that the solution's own run had loaded at its end, lazily imported ones included."""
    os.set_blocking(descriptor, False)
    with contextlib.suppress(BlockingIOError), os.fdopen(descriptor, "rb") as file:
        return (file.read() or b"").decode(errors="replace").split()
    return []


def _leave_streams() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


class _Forks:
    """The plugin: pytest reaches `pytest_collection` once in this process, and continues from there in every fork."""

    def __init__(self, order: dict[str, Any], output: Any) -> None:
        self._order = order
        self._output = output
        self._finished = 0
        self._loading: int | None = None
        self._ends_at = time.monotonic() + order["wall_s"]

    def pytest_collection(self, session: Any) -> None:
        """Fork for the solution and, if its tests pass, for every mutant as long as there is time."""
        vars(session.config.option).update(trace=False, usepdb=False)  # options of a blocked plugin that others read
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        begin, cpu = time.monotonic(), os.times()
        loaded, self._loading = os.pipe()
        status = self._try(self._order["solution"], self._order["wall_s"], self._order["wall_s"])
        if status is None:
            return  # in the fork: pytest continues
        self._report("solution", status)
        os.close(self._loading)
        self._loading = None
        _import_all(_read_names(loaded))
        now = os.times()
        cpu_s = (now.children_user + now.children_system) - (cpu.children_user + cpu.children_system)
        cpu_s = max(CPU_FACTOR * cpu_s, CPU_AT_LEAST_S)
        wall_s = max(WALL_FACTOR * (time.monotonic() - begin), WALL_AT_LEAST_S)
        for number, code in self._order["mutants"] if status == SURVIVED else ():
            left_s = self._ends_at - time.monotonic()
            if left_s <= 0:
                break
            status = self._try(code, cpu_s, min(wall_s, left_s))
            if status is None:
                return
            if status or wall_s <= left_s:  # otherwise the time of the measurement was up
                self._report(number, status)
        os._exit(0)

    def _report(self, what: object, status: int) -> None:
        self._output.write(f"{self._order['nonce']} {what} {status}\n")

    def _try(self, code: str, cpu_s: float, wall_s: float) -> int | None:
        """The exit status of a fork, 0 if its time ran out; None in the fork itself."""
        child = os.fork()
        if child:
            return _wait(child, wall_s)
        os.setsid()
        self._output.close()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        signal.setitimer(signal.ITIMER_PROF, cpu_s)  # SIGPROF kills it
        self._order.clear()
        _import_from(code)
        return None

    def pytest_runtest_logstart(self) -> None:
        """Give each test an empty folder for its outputs."""
        for entry in os.scandir(OUTPUTS):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)  # noqa: PTH108 - as above, without pathlib

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """End at the first failure, before pytest describes it."""
        if call.excinfo is not None and not _is_expected(item, call.excinfo.value):
            os._exit(KILLED)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """End at a failure that only pytest sees."""
        if report.failed:
            os._exit(KILLED)

    pytest_collectreport = pytest_runtest_logreport

    def pytest_keyboard_interrupt(self) -> None:
        """End where pytest would stop: `KeyboardInterrupt` and `pytest.exit`."""
        os._exit(KILLED)

    def pytest_runtest_logfinish(self) -> None:
        """Count finished tests."""
        self._finished += 1

    def pytest_sessionfinish(self, session: Any, exitstatus: int) -> None:
        """End as survived if every test has finished and passed, otherwise as killed."""
        has_passed = exitstatus == 0 and self._finished == session.testscollected
        if self._loading is not None:
            os.write(self._loading, " ".join(sys.modules).encode()[:60_000])  # a pipe holds that much
        os._exit(SURVIVED if has_passed else KILLED)


def _is_expected(item: Any, error: BaseException) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"Skipped", "SkipTest", "XFailed"}) or item.get_closest_marker("xfail") is not None


def _wait(child: int, wall_s: float) -> int:
    """The fork's exit status, 0 if its time ran out, -1 for another ending. Its process group is killed."""
    ends_at = time.monotonic() + wall_s
    ended = 0
    while not ended and (left_s := ends_at - time.monotonic()) > 0:
        ended, status = os.waitpid(child, os.WNOHANG)
        if not ended:
            signal.sigtimedwait({signal.SIGCHLD}, min(left_s, 0.05))
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        os.waitpid(child, 0)
        return 0
    if os.WIFSIGNALED(status):
        return 0 if os.WTERMSIG(status) == signal.SIGPROF else -1
    return os.WEXITSTATUS(status) or -1


def _import_from(code: str) -> None:
    """Make `import solution` execute this code."""
    path = f"{APP}/solution.py"
    try:
        compiled = compile(code, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        os._exit(INVALID)

    class Mutated(MetaPathFinder, Loader):
        def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
            del path, target
            return (
                spec_from_file_location(fullname, f"{APP}/solution.py", loader=self) if fullname == "solution" else None
            )

        def create_module(self, spec: ModuleSpec) -> None:
            del spec

        def exec_module(self, module: ModuleType) -> None:
            exec(compiled, vars(module))  # noqa: S102 - inside the sandbox

    sys.meta_path.insert(0, Mutated())


if __name__ == "__main__":
    main()
