"""Runs a solution's tests inside the sandbox and reports to the judge outside, one record for each test.

Standard library and pytest only. It is copied to /app as `runner.py`, with the other modules of this folder in one
archive, and started as `python /app/runner.py` with a nonce on the first line of stdin and the text of the tests after
it. There are two processes, so that a report never rests on the candidate's process alone:

- The **parent** (`supervisor.py`) imports nothing of the solution. It forks first and reads stdin after that, so that
the
  candidate's process never held the nonce. It forwards the child's reports, each line marked with the nonce, keeps the
  child's stdout and stderr apart from its own, and adds how the child really ended.
- The **child** (`candidate.py` and the rest) imports pytest, and is then given the tests by the parent. Neither they
nor
  its program are in `sys.modules` when the solution is imported.

The docstring of this folder says what holds against a solution that wants to pass without being right, and what does
not.
"""

from __future__ import annotations

import builtins
import os
import sys

# Before any function is defined: functions with a copy of the builtins do not see what the solution does to them.
globals()["__builtins__"] = dict(vars(builtins))

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType
    from typing import Any, NoReturn, TypeAlias

    Send: TypeAlias = Callable[..., None]  # a kind, then names and values in turn

APP = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  -- pathlib would cost each start 5 ms
FULL_NAME = "flyteplugins_codegen.judging.suites.inside"  # the name by which the modules import each other
# Each module comes after those that it imports.
PARTS = ("supervisor", "integrity", "variables", "reporting", "audit", "equality", "instrument", "candidate")
ARCHIVE = "runner.parts"
FILE_NAME = "<suite_runner>/{}.py"
SET_DUMPABLE = 4  # prctl(2)
CHANNEL, READY = 200, 201  # above the descriptors that the candidate's process closes
BROKEN = 71


def main() -> None:
    """Fork the candidate's process, then supervise it."""
    import _socket

    _hide_memory()
    ours, theirs = _socket.socketpair()  # not a pipe: its content can be read back through /proc/self/fd
    ours.shutdown(_socket.SHUT_WR)
    theirs.shutdown(_socket.SHUT_RD)
    reports, channel = ours.detach(), theirs.detach()
    output, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        _become_candidate(channel, output[1], go[0])
    for end in (channel, output[1], go[0]):
        os.close(end)
    supervisor = load({"supervisor": _read_parts()["supervisor"]})
    supervisor["supervise"](child, reports, output[0], go[1])
    os._exit(0)  # the report is complete, and an ordinary exit would take 4 ms


def _hide_memory() -> None:
    """Make /proc/<pid>/mem, fd and environ unreadable for other processes of the same user; the child inherits it."""
    import _ctypes  # its bare functions, so that the solution finds no imported `ctypes`

    itself: Any = None
    _ctypes.call_function(_ctypes.dlsym(_ctypes.dlopen(itself, 0), "prctl"), (SET_DUMPABLE, 0, 0, 0, 0))
    sys.modules.pop("_ctypes")


def _read_parts() -> dict[str, CodeType]:
    """The code of all modules: `supervisor` for the parent, the others for the child."""
    import marshal
    from importlib import _bootstrap_external

    with open(f"{APP}/{ARCHIVE}", "rb") as file:  # noqa: PTH123  -- as above, without pathlib
        magic, codes, sources = marshal.loads(file.read())  # noqa: S302  -- our own
    if magic == _bootstrap_external.MAGIC_NUMBER:
        found: dict[str, CodeType] = marshal.loads(codes)  # noqa: S302  -- our own
        return found
    return {
        name: compile(source, FILE_NAME.format(name), "exec", dont_inherit=True) for name, source in sources.items()
    }


# --- the child --------------------------------------------------------------------------------------------------------


def _become_candidate(channel: int, output: int, ready: int) -> NoReturn:
    """Close the parent's descriptors, run the tests, and end without running exit handlers of the solution."""
    import fcntl

    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    channel = fcntl.fcntl(channel, fcntl.F_DUPFD_CLOEXEC, CHANNEL)
    ready = fcntl.fcntl(ready, fcntl.F_DUPFD_CLOEXEC, READY)
    os.closerange(3, CHANNEL)
    send = open_channel(channel)
    try:
        status = _run_tests(send, ready)
    except BaseException as error:  # noqa: BLE001  -- the parent must learn of any failure
        send("broken", "message", f"{type(error).__name__}: {error}")
        status = BROKEN
    os._exit(status)


def open_channel(descriptor: int) -> Send:
    """The function that reports a record: a kind, then names and values in turn.

    The key is sent to the parent first, while only this file and the standard library have run. After that, only the C
    object of the hash holds it.
    """
    from _blake2 import blake2b
    from _thread import RLock
    from itertools import count

    key = os.urandom(32)
    os.write(descriptor, key.hex().encode() + b"\n")
    os.register_at_fork(after_in_child=_closing(descriptor))
    channel = (descriptor, os.write, blake2b(key=key, digest_size=16), count(), RLock())
    # Not a closure: reading these defaults raises an audit event, reading a closure's cells does not.
    _send.__kwdefaults__ = {"channel": channel, "process": (os.getpid(), os.getpid, os._exit)}
    return _send


def _send(*fields: str, channel: tuple[Any, ...], process: tuple[Any, ...]) -> None:
    """Write a sealed and numbered line. In a forked process, end that process instead."""
    judged, getpid, end = process
    if getpid() != judged:
        end(BROKEN)
    descriptor, write, blank, numbers, lock = channel
    with lock:
        body = b"\t".join(str.encode(field, "unicode_escape") for field in (str(next(numbers)), *fields))
        seal = blank.copy()
        seal.update(body)
        rest = seal.hexdigest().encode() + b"\t" + body + b"\n"
        while rest:
            rest = rest[write(descriptor, rest) :]


def _closing(descriptor: int) -> Callable[[], None]:
    from functools import partial

    return partial(os.close, descriptor)


def _run_tests(send: Send, ready: int) -> int:
    """Import pytest and the program, then read the tests from the parent and run them; the exit status."""
    import marshal

    for variable in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(variable, None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        pytest = import_pytest()
    except ImportError as error:
        send("no_pytest", "message", f"{type(error).__name__}: {error}")
        return BROKEN
    parts = _read_parts()
    del parts["supervisor"]
    run: Callable[..., int] = load(parts)["run_tests"]
    with open(ready, "rb") as file:
        given: list[bytes] = marshal.loads(file.read())  # noqa: S302  -- the parent's own
    return run(pytest, send, APP, given)


def import_pytest() -> Any:
    """Import pytest, and exclude it from garbage collection: pytest collects five times at its end, 25 ms in all."""
    import gc

    gc.disable()
    import pytest

    gc.freeze()
    gc.enable()
    return pytest


def load(parts: Mapping[str, CodeType]) -> dict[str, Any]:
    """Execute the modules' code; the names of the last one. None of the modules stays in sys.modules."""
    from types import ModuleType

    names: dict[str, Any] = {}
    for part in (name for name in PARTS if name in parts):
        module = sys.modules[f"{FULL_NAME}.{part}"] = ModuleType(part)
        names = vars(module)
        names["__builtins__"] = globals()["__builtins__"]
        exec(parts[part], names)  # noqa: S102  -- our own
    for part in parts:
        del sys.modules[f"{FULL_NAME}.{part}"]
    return names


if __name__ == "__main__":
    main()
