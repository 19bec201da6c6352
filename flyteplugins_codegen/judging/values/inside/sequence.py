"""Has several solutions judged in one sandbox, one after the other, each by a judge process of its own.

Part of the program that judges by values; standard library only, started by `start`. For each solution, stdin holds a
head and then the text that its judge reads.

    this process      reads the heads, which hold sizes and limits, and nothing of any solution
    `- judge          reads one solution and its tests, and ends after its report
       `- candidate   executes the solution

A solution could leave files and processes behind, or change the limits of this process. Every process that a candidate
leaves running becomes a child of this one. If anything is found that was not there before, no more solutions are judged
here: the remaining ones need another sandbox.
"""

from __future__ import annotations

import os
import resource
from fcntl import F_GETFL, fcntl
from time import sleep

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from typing import Any, NoReturn, TypeAlias

    from flyteplugins_codegen.judging.values.inside.judge import CUT_SHORT, GAVE_UP, judge_one, read_exactly
    from flyteplugins_codegen.judging.values.inside.protocol import CLOSE_MEMORY, TAKE_ORPHANS, change_process

    State: TypeAlias = tuple[Any, ...]
else:
    from judge import CUT_SHORT, GAVE_UP, judge_one, read_exactly
    from protocol import CLOSE_MEMORY, TAKE_ORPHANS, change_process

# A head: the size of the text that follows, seconds of processor time (0: no limit), the number of solutions after it.
NUMBERS, NUMBER_BYTES = 3, 4
_IN_ORDER = (0, GAVE_UP << 8)  # the statuses of a judge that wrote its report
END_S = 0.1  # how long killed processes may take to disappear
FOLDERS = ("/tmp", "/dev/shm", "/var/outputs")  # noqa: S108 - a sandbox's own
TABLES = ("/proc/self/limits", "/proc/sysvipc/shm", "/proc/sysvipc/msg", "/proc/sysvipc/sem")


def main() -> NoReturn:
    """Judge every solution on stdin."""
    change_process(CLOSE_MEMORY, TAKE_ORPHANS)
    if hasattr(resource, "RLIMIT_MSGQUEUE"):  # a message queue that is left behind could not be found
        try:  # noqa: SIM105 - importing contextlib would cost each start some milliseconds
            resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0))
        except ValueError:  # Linux lets everybody lower it, gVisor's kernel nobody
            pass
    size, cpu_s, remaining = _read_head()
    before = state() if remaining else ()
    while remaining:
        judge = os.fork()
        if judge == 0:
            _begin(size, cpu_s)
        _, status = os.waitpid(judge, 0)
        if status not in _IN_ORDER or not _is_alone() or state() != before:
            os._exit(CUT_SHORT)
        size, cpu_s, remaining = _read_head()
    _begin(size, cpu_s)


def _read_head() -> list[int]:
    head = read_exactly(0, NUMBERS * NUMBER_BYTES)
    starts = range(0, NUMBERS * NUMBER_BYTES, NUMBER_BYTES)
    return [int.from_bytes(head[start : start + NUMBER_BYTES], "big") for start in starts]


def _begin(size: int, cpu_s: int) -> NoReturn:
    """Become the judge of one solution."""
    if cpu_s:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))  # SIGXCPU, then SIGKILL
    judge_one(size)


def _is_alone() -> bool:
    """Whether no descendant of this process is left."""
    for _ in range(int(END_S / 0.001)):
        try:
            ended, _status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if not ended:
            sleep(0.001)
    return False


def state() -> State:
    """Everything found that a solution could have changed for the next ones."""
    schedule = [getattr(os, name)(0) for name in ("sched_getscheduler", "sched_getaffinity") if hasattr(os, name)]
    # All of them print to stderr: made non-blocking, or sending signals, it would fail the next ones.
    schedule += [os.getpriority(os.PRIO_PROCESS, 0), fcntl(2, F_GETFL)]
    return schedule, [_entries(folder) for folder in FOLDERS], [_read(table) for table in TABLES]


def _entries(folder: str) -> tuple[int, list[str]]:
    """The mode and the entries of a folder; any solution owns the folder and can change its mode."""
    try:
        return os.stat(folder).st_mode, sorted(os.listdir(folder))  # noqa: PTH116, PTH208 - pathlib would cost 5 ms
    except OSError as error:
        return -(error.errno or 1), []


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)
