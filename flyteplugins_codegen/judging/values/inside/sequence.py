"""Has several solutions judged in one sandbox, in turn: each by a judge of its own, none where another left its mark.

A part of the program that judges by values: standard library only, started as `python /app/judge.py`, which holds
nothing but a call of `main`. On stdin comes for each solution a head, then what its judge reads.

    this process      reads the heads, which tell sizes and limits, and nothing of any solution
    `- judge          reads one solution and its checks, and ends with its verdict
       `- judged      runs the solution

A solution could leave files, processes, or this process with other limits than it had. Whatever a judged process leaves
running becomes a child of this one. Where anything is found that was not there before, nothing more is judged: what is
left is for another sandbox.
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

# Of a head: the bytes that follow, whole seconds of processor time (0: no limit), how many solutions come after this.
NUMBERS, NUMBER_BYTES = 3, 4
_IN_ORDER = (0, GAVE_UP << 8)  # how a judge ends that had its say and was not hurt
GONE_S = 0.1  # how long killed processes may take to go
FOLDERS = ("/tmp", "/dev/shm", "/var/outputs")  # noqa: S108 - a sandbox's own
TABLES = ("/proc/self/limits", "/proc/sysvipc/shm", "/proc/sysvipc/msg", "/proc/sysvipc/sem")


def main() -> NoReturn:
    """Judge what stdin holds."""
    change_process(CLOSE_MEMORY, TAKE_ORPHANS)
    if hasattr(resource, "RLIMIT_MSGQUEUE"):  # of message queues, nothing shows that one was left
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0))
    size, cpu_s, left = _read_head()
    before = state() if left else ()
    while left:
        judge = os.fork()
        if judge == 0:
            _begin(size, cpu_s)
        _, status = os.waitpid(judge, 0)
        if status not in _IN_ORDER or not _is_alone() or state() != before:
            os._exit(CUT_SHORT)
        size, cpu_s, left = _read_head()
    _begin(size, cpu_s)


def _read_head() -> list[int]:
    head = read_exactly(0, NUMBERS * NUMBER_BYTES)
    starts = range(0, NUMBERS * NUMBER_BYTES, NUMBER_BYTES)
    return [int.from_bytes(head[start : start + NUMBER_BYTES], "big") for start in starts]


def _begin(size: int, cpu_s: int) -> NoReturn:
    """Become a judge."""
    if cpu_s:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))  # SIGXCPU, then SIGKILL
    judge_one(size)


def _is_alone() -> bool:
    """Whether nothing runs any more of what was forked from here."""
    for _ in range(int(GONE_S / 0.001)):
        try:
            ended, _status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if not ended:
            sleep(0.001)
    return False


def state() -> State:
    """What a solution could have changed for those that come after it."""
    turns = [getattr(os, name)(0) for name in ("sched_getscheduler", "sched_getaffinity") if hasattr(os, name)]
    # On stderr they all print: one that does not wait, or signals what it is used for, fails them.
    turns += [os.getpriority(os.PRIO_PROCESS, 0), fcntl(2, F_GETFL)]
    return turns, [_listed(folder) for folder in FOLDERS], [_read(table) for table in TABLES]


def _listed(folder: str) -> tuple[int, list[str]]:
    """What is in a folder, and who may look and write there, which its owner, any solution, can change."""
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
