"""Runs one script on many cases, one after the other, inside the sandbox, and reports the outputs of each.

Standard library only; copied to /app and started as `python /app/runner.py`, with the order on stdin as JSON. It
imports what the script imports once. Then every case gets a fork of its own that runs the script as `python solution.py
...` would, without anything of a test framework. The outputs are read when the fork has ended, and go to a stdout that
the forks do not have.

As with mutants, a script that means to can disturb this process. It could only claim outputs of its own: what it writes
when it is run for itself is compared, too.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import importlib
import json
import os
import shutil
import signal
import sys
import time

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

APP = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib would cost each start 5 ms
OUTPUTS = os.environ.get("FLYTE_CODEGEN_OUTPUTS", "/var/outputs")
_ERRORS = "/tmp/stderr-of-case"  # noqa: S108 - the sandbox has a /tmp of its own
_ERROR_CHARS = 2_000
_FOLDER_FILES = 50


def main() -> None:
    """Run every case of the order as long as there is time."""
    report = os.fdopen(os.dup(1), "w", buffering=1)
    order = json.loads(sys.stdin.buffer.read())
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nothing, stream)
    _import_all(order["modules"])
    code = _compiled(order["program"])
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    ends_at = time.monotonic() + order["wall_s"]
    for number, arguments in enumerate(order["cases"]):
        left_s = ends_at - time.monotonic()
        if left_s <= 0:
            break
        _empty_outputs()
        status = _run_case(code, arguments, min(left_s, order["case_s"]), report)
        outputs = _read_outputs(order["outputs"], order["max_bytes"]) if status == 0 else {}
        line = {"case": number, "status": status, "error": "" if status == 0 else _read_error(), "outputs": outputs}
        report.write(f"{order['nonce']} {json.dumps(line)}\n")
    report.flush()
    os._exit(0)


def _import_all(names: Sequence[str]) -> None:
    """Import those of the modules that exist, so that no fork has to. A missing one fails its case later."""
    for name in names:
        if name not in sys.modules and name != "solution":
            with contextlib.suppress(BaseException):
                importlib.import_module(name)
    gc.freeze()  # so that garbage collection in a fork copies no pages


def _compiled(program: str) -> Any:
    return compile(program, f"{APP}/solution.py", "exec", dont_inherit=True)


def _run_case(code: Any, arguments: Sequence[str], wall_s: float, report: Any) -> int | None:
    """The exit status of the script on one case, negative for a signal, None if its time ran out."""
    child = os.fork()
    if child == 0:
        report.close()
        _become_script(code, arguments)
    ends_at = time.monotonic() + wall_s
    ended, status = 0, 0
    while not ended and (left_s := ends_at - time.monotonic()) > 0:
        ended, status = os.waitpid(child, os.WNOHANG)
        if not ended:
            signal.sigtimedwait({signal.SIGCHLD}, min(left_s, 0.05))
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        os.waitpid(child, 0)
        return None
    return os.waitstatus_to_exitcode(status)


def _become_script(code: Any, arguments: Sequence[str]) -> None:
    """In the fork: run the script as the main program, and end as an interpreter does."""
    os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    os.dup2(os.open(_ERRORS, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), 2)
    script = f"{APP}/solution.py"
    sys.argv[:] = [script, *arguments]
    sys.path[:] = [APP, *(path for path in sys.path if path != APP)]
    module = type(sys)("__main__")
    module.__dict__.update(__file__=script, __builtins__=__builtins__)
    sys.modules["__main__"] = module
    status = 1
    try:
        exec(code, module.__dict__)  # noqa: S102 - inside the sandbox
        status = 0
    except SystemExit as ending:
        status = _exit_status(ending.code)
    except BaseException:  # noqa: BLE001 - whatever the script raises
        import traceback

        traceback.print_exc()
    finally:
        _leave(status)


def _exit_status(code: object) -> int:
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def _leave(status: int) -> None:
    """End the fork as an interpreter ends, but for taking its modules apart, which takes longer than most scripts."""
    with contextlib.suppress(BaseException):
        import atexit
        import threading

        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
        atexit._run_exitfuncs()  # noqa: SLF001 - there is no other way to run them
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BaseException):
            stream.flush()
    os._exit(status)


def _read_error() -> str:
    """The last characters that the script wrote to its stderr."""
    try:
        with open(_ERRORS, "rb") as file:  # noqa: PTH123 - as above, without pathlib
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4 * _ERROR_CHARS))
            return file.read().decode(errors="replace")[-_ERROR_CHARS:]
    except OSError:
        return ""


def _read_outputs(names: Sequence[str], max_bytes: int) -> dict[str, Any]:
    """Each output that exists: a file as base64, a folder as such texts by name; None for one that is too large."""
    outputs: dict[str, Any] = {}
    for name in names:
        path = f"{OUTPUTS}/{name}"
        with contextlib.suppress(OSError):
            outputs[name] = _read_folder(path, max_bytes) if os.path.isdir(path) else _read_file(path, max_bytes)  # noqa: PTH112 - as above, without pathlib
    return outputs


def _read_folder(path: str, max_bytes: int) -> dict[str, str | None] | None:
    names = sorted(os.listdir(path))  # noqa: PTH208 - as above, without pathlib
    if len(names) > _FOLDER_FILES:
        return None
    return {name: _read_file(f"{path}/{name}", max_bytes) for name in names if os.path.isfile(f"{path}/{name}")}  # noqa: PTH113 - as above, without pathlib


def _read_file(path: str, max_bytes: int) -> str | None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(max_bytes + 1)
    return base64.b64encode(content).decode() if len(content) <= max_bytes else None


def _empty_outputs() -> None:
    for entry in os.scandir(OUTPUTS):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.unlink(entry.path)  # noqa: PTH108 - as above, without pathlib


if __name__ == "__main__":
    main()
