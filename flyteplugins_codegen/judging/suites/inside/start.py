"""Runs a solution's tests inside the sandbox and tells the judge outside, one record per test, what became of each.

Standard library and pytest only; copied to /app with the parts of the folder `suite_runner`, all in one file
(`suite_program.py`), and started as `python /app/runner.py` with a nonce on stdin's first line and the text of the
tests after it. Two processes, so that what is told never rests on the judged process alone:

- The **parent** (`relay.py`) imports nothing of the solution's. It forks first and reads stdin then, so that the judged
  process never held the nonce; it relays what the child reports, each line marked with the nonce, keeps the child's
  stdout and stderr apart from its own, and adds how the child really ended.
- The **child** (`judged.py` and the rest) imports pytest, and is then handed the tests by the parent. Neither they nor
  its program are in `sys.modules` when the solution is imported.

`suite_runner/__init__.py` says what holds against a solution that wants to be taken for right, and what does not.
"""

from __future__ import annotations

import builtins
import os
import sys

# Before any function is made: what the solution does to the builtins does not reach functions with a copy of them.
globals()["__builtins__"] = dict(vars(builtins))

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType
    from typing import Any, NoReturn, TypeAlias

    Send: TypeAlias = Callable[..., None]  # a kind, then names and values in turn

APP = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  -- pathlib would cost each start 5 ms
FULL_NAME = "flyteplugins_codegen.judging.suites.inside"  # by which the parts import each other
# In the order in which they import each other.
PARTS = ("supervisor", "integrity", "variables", "reporting", "audit", "equality", "instrument", "judged")
ARCHIVE = "runner.parts"
FILE_NAME = "<suite_runner>/{}.py"
SET_DUMPABLE = 4  # prctl(2)
CHANNEL, READY = 200, 201  # beyond what the judged process closes
BROKEN = 71


def main() -> None:
    """Fork the judged process, then supervise it."""
    import _socket

    _hide_memory()
    ours, theirs = _socket.socketpair()  # no pipe: what is in one can be read back through /proc/self/fd
    ours.shutdown(_socket.SHUT_WR)
    theirs.shutdown(_socket.SHUT_RD)
    reports, channel = ours.detach(), theirs.detach()
    output, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        _become_judged(channel, output[1], go[0])
    for end in (channel, output[1], go[0]):
        os.close(end)
    supervisor = load({"supervisor": _read_parts()["supervisor"]})
    supervisor["supervise"](child, reports, output[0], go[1])
    os._exit(0)  # everything is told, and taking the interpreter down in order would take 4 ms


def _hide_memory() -> None:
    """Make /proc/<pid>/mem, fd and environ unreadable, for both processes: any job of theirs runs as the same user."""
    import _ctypes  # the bare functions, so that no `ctypes` is there for the solution

    itself: Any = None
    _ctypes.call_function(_ctypes.dlsym(_ctypes.dlopen(itself, 0), "prctl"), (SET_DUMPABLE, 0, 0, 0, 0))
    sys.modules.pop("_ctypes")


def _read_parts() -> dict[str, CodeType]:
    """The program of the parent, `supervisor`, and those of the child."""
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


def _become_judged(channel: int, output: int, ready: int) -> NoReturn:
    """Leave the parent's descriptors, run the tests, and end without any handler of the solution's."""
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
    except BaseException as error:  # noqa: BLE001  -- whatever it is, the parent must hear of it
        send("broken", "message", f"{type(error).__name__}: {error}")
        status = BROKEN
    os._exit(status)


def open_channel(descriptor: int) -> Send:
    """The function that reports a record: a kind, then names and values in turn.

    The key goes to the parent first, while nothing but this file and the standard library has run; after that only
    the C object of the hash holds it.
    """
    from _blake2 import blake2b
    from _thread import RLock
    from itertools import count

    key = os.urandom(32)
    os.write(descriptor, key.hex().encode() + b"\n")
    os.register_at_fork(after_in_child=_closing(descriptor))
    channel = (descriptor, os.write, blake2b(key=key, digest_size=16), count(), RLock())
    # Not a closure: reading these raises an audit event, reading a closure's cells does not.
    _send.__kwdefaults__ = {"channel": channel, "process": (os.getpid(), os.getpid, os._exit)}
    return _send


def _send(*fields: str, channel: tuple[Any, ...], process: tuple[Any, ...]) -> None:
    """Write a sealed and numbered line. A forked process that comes here is ended: it is not the one that is judged."""
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
    """Import pytest and the program, then take the tests from the parent and run them; the status to end with."""
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
    """Import it and keep the garbage collector off it: pytest collects five times as it ends, 25 ms in all."""
    import gc

    gc.disable()
    import pytest

    gc.freeze()
    gc.enable()
    return pytest


def load(parts: Mapping[str, CodeType]) -> dict[str, Any]:
    """The names of the last part, made out of code; no module of them stays in sys.modules."""
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
