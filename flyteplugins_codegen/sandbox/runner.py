"""Runs a solution's tests inside the sandbox and tells the judge outside, one record per test, what became of each.

One file, standard library and pytest only; it is copied to /app and started as `python /app/runner.py` with a nonce on
stdin. Two processes, so that what is told never rests on the judged process alone:

- The **parent** imports nothing of the solution's. It forks first and reads the nonce then, so that the judged process
  never held it, makes its own memory unreadable to others, relays what the child reports, each line marked with the
  nonce, keeps the child's stdout and stderr apart from its own, and adds how the child really ended.
- The **child** was there before the solution: it imports pytest, opens its channel (a pipe that no other program
  inherits and every forked process loses, with a key that only a C object holds), takes note of what pytest, unittest,
  importlib and builtins are made of, and only then imports `solution`, and after that the tests.

What is reported of a test comes from pytest's reports and must agree with what the plugin saw itself: that there was no
exception, and that the test function returned. What was replaced in the libraries noted above is told as tampering.
No process can guard itself against everything that runs in it: code that goes looking for the plugin's own objects can
still lie, and an object that claims to be equal to everything passes an `assert`. Where values can be compared outside,
compare them there.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from typing import Any, NoReturn, TypeAlias

    Pipe: TypeAlias = tuple[int, int]
    Send: TypeAlias = Callable[..., None]  # a kind, then names and values in turn
    Told: TypeAlias = tuple[str, ...]
    Names: TypeAlias = Mapping[str, Any]

APP = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  -- pathlib would cost each start 5 ms
SOLUTION, TESTS = "solution.py", "test_solution.py"
OUTPUTS_VARIABLE = "FLYTE_CODEGEN_OUTPUTS"
MAX_TEXT_CHARS = 8_000
MAX_FRAMES = 16
MAX_RELAYED_CHARS = 600_000
MAX_LINE_BYTES = 10 * (2 * MAX_TEXT_CHARS + 4_000)  # a character is escaped by at most 10 bytes
MAX_FORGED = 3
MAX_KEPT_OUTPUT_BYTES = 16_384
PATIENCE_S = 0.1
IMPORT_FAILED, BROKEN = 70, 71
GUARDED = frozenset(
    ("builtins", "pytest", "_pytest", "pluggy", "unittest", "importlib", "_frozen_importlib", "ast", "io", "os")
) | {"_frozen_importlib_external", "pathlib", "posix", "functools", "contextlib"}
DESCRIPTORS, FUNCTION = (property, classmethod, staticmethod), type(lambda: None)


def main() -> None:
    """Fork the judged process, then supervise it."""
    reports, output, go = os.pipe(), os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        _become_judged(reports, output, go)
    for ours in (reports[1], output[1], go[0]):
        os.close(ours)
    supervise(child, reports[0], output[0], go[1])
    os._exit(0)  # everything is told, and taking the interpreter down in order would take 4 ms


# --- the parent -------------------------------------------------------------------------------------------------------


def supervise(child: int, reports: int, output: int, go: int) -> None:
    """Relay what the child tells until it has ended, then tell how it ended."""
    import signal
    from contextlib import suppress

    nonce = sys.stdin.readline().strip()
    _hide_memory()
    relay, kept = Relay(nonce), bytearray()
    relay.tell({"kind": "begun"})  # before the solution can be there: what fails from here on is not the environment
    with suppress(BrokenPipeError):  # a child that could not even import pytest has ended already
        os.write(go, b"!")
    os.close(go)
    status = _pump(child, {reports: relay.feed, output: kept.extend}, kept)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(status)
    relay.close(code, bytes(kept))


def _pump(child: int, sinks: dict[int, Callable[[bytes], None]], kept: bytearray) -> int:
    """Read until the child has ended and nothing more comes; a descendant that holds a pipe is not waited for long."""
    import select
    from time import monotonic

    open_ends, status, deadline = set(sinks), None, 0.0
    while open_ends and (status is None or monotonic() < deadline):
        ready, _, _ = select.select(open_ends, (), (), PATIENCE_S)
        for end in ready:
            chunk = os.read(end, 65_536)
            sinks[end](chunk)
            del kept[MAX_KEPT_OUTPUT_BYTES // 2 : -MAX_KEPT_OUTPUT_BYTES // 2]
            open_ends -= set() if chunk else {end}
        if status is None:
            ended, code = os.waitpid(child, os.WNOHANG)
            status, deadline = (code, monotonic() + PATIENCE_S) if ended else (None, 0.0)
    return os.waitpid(child, 0)[1] if status is None else status


def _hide_memory() -> None:
    """Make /proc/<parent>/mem, fd and environ unreadable to the judged process, which runs as the same user."""
    import ctypes

    set_dumpable = 4  # prctl(2): PR_SET_DUMPABLE
    ctypes.CDLL(None).prctl(set_dumpable, 0, 0, 0, 0)


class Relay:
    """Turns the child's sealed lines into JSON lines marked with the nonce. What is not sealed is told as forged."""

    def __init__(self, nonce: str) -> None:
        self._nonce = nonce
        self._seal: Any = None
        self._expected = self._forged = 0
        self._rest = b""
        self._left = MAX_RELAYED_CHARS

    def feed(self, chunk: bytes) -> None:
        """Take what came through the pipe; a line may come in parts."""
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self._take(line)
        if len(self._rest) > MAX_LINE_BYTES:
            self._tell_forged(self._rest)
            self._rest = b""

    def close(self, status: int, output: bytes) -> None:
        """Tell how the child ended, and how many lines were not its plugin's."""
        text = output.decode(errors="replace")
        self.tell({"kind": "exit", "status": status, "forged": self._forged, "output": text})

    def tell(self, record: dict[str, Any]) -> None:
        """Write one record to the judge, with long texts left out once too many have been told."""
        import json

        text = json.dumps(record)
        if len(text) > self._left:
            text = json.dumps({key: value for key, value in record.items() if key not in ("message", "traceback")})
        self._left -= len(text)
        sys.stdout.write(f"{self._nonce} {text}\n")
        sys.stdout.flush()

    def _take(self, line: bytes) -> None:
        import hashlib

        if self._seal is None:
            self._seal = hashlib.blake2b(key=bytes.fromhex(line.decode()), digest_size=16)
            return
        fields = self._unsealed(line)
        if fields is None:
            self._tell_forged(line)
            return
        self._expected += 1
        kind, *values = fields
        self.tell({"kind": kind, **dict(zip(values[::2], values[1::2], strict=True))})

    def _unsealed(self, line: bytes) -> list[str] | None:
        """A sealed line's fields; None for any other, of which nothing else is looked at before its seal."""
        sealed, _, body = line.partition(b"\t")
        seal = self._seal.copy()
        seal.update(body)
        number, *fields = body.split(b"\t")
        if sealed != seal.hexdigest().encode() or number != str(self._expected).encode():
            return None
        return [field.decode("unicode_escape") for field in fields]

    def _tell_forged(self, line: bytes) -> None:
        self._forged += 1
        if self._forged <= MAX_FORGED:
            self.tell({"kind": "forged", "text": line[:200].decode("ascii", "replace")})


# --- the child --------------------------------------------------------------------------------------------------------


def _become_judged(reports: Pipe, output: Pipe, go: Pipe) -> NoReturn:
    """Leave the parent's descriptors, run the tests, and end without any handler of the solution's."""
    import fcntl

    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output[1], 1)
    os.dup2(output[1], 2)
    channel = fcntl.fcntl(reports[1], fcntl.F_DUPFD_CLOEXEC, 200)
    ready = fcntl.fcntl(go[0], fcntl.F_DUPFD_CLOEXEC, 201)
    os.closerange(3, 200)
    send = open_channel(channel)
    try:
        status = run_tests(send, ready)
    except BaseException as error:  # noqa: BLE001  -- whatever it is, the parent must hear of it
        send("broken", "message", f"{type(error).__name__}: {error}")
        status = BROKEN
    os._exit(status)


def open_channel(descriptor: int) -> Send:
    """The function that reports a record: a kind, then names and values in turn.

    The key goes to the parent first, while nothing but this file and the standard library has run; after that only
    the C object of the hash holds it.
    """
    import hashlib
    from functools import partial
    from itertools import count

    key = os.urandom(32)
    os.write(descriptor, key.hex().encode() + b"\n")
    blank, numbers, write = hashlib.blake2b(key=key, digest_size=16), count(), os.write
    os.register_at_fork(after_in_child=partial(os.close, descriptor))

    def send(*fields: str) -> None:
        body = b"\t".join(field.encode("unicode_escape") for field in (str(next(numbers)), *fields))
        seal = blank.copy()
        seal.update(body)
        rest = seal.hexdigest().encode() + b"\t" + body + b"\n"
        while rest:
            rest = rest[write(descriptor, rest) :]

    return send


def run_tests(send: Send, ready: int) -> int:
    """Run the tests with the plugin; the status to end with."""
    import tempfile

    for variable in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(variable, None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        pytest = import_pytest()
    except ImportError as error:
        send("no_pytest", "message", f"{type(error).__name__}: {error}")
        return BROKEN
    os.chdir(APP)
    sys.argv[:] = ["pytest"]
    options = ["-q", "--no-header", "--color=no", "--tb=short", "--noconftest", "--import-mode=importlib"]
    options += ["-p", "no:cacheprovider", "-o", "verbosity_assertions=2", "-c", os.devnull, f"--rootdir={APP}"]
    options += [f"--basetemp={tempfile.mkdtemp(prefix='tests-')}/t", f"{APP}/{TESTS}"]
    mark_hooks(pytest.hookimpl)
    run, flush, exit_at_once = pytest.main, sys.stdout.flush, os._exit
    status = int(run(options, plugins=[Plugin(send, ready, pytest.xfail.Exception)]))
    send("end", "status", str(status))
    flush()
    return exit_at_once(status)


def import_pytest() -> Any:
    """Import it and keep the garbage collector off it: pytest collects five times as it ends, 25 ms in all."""
    import gc

    gc.disable()
    import pytest

    gc.freeze()
    gc.enable()
    return pytest


class Plugin:
    """Reports the import of the solution, every test that starts and every test that ends.

    Its hooks are marked by `mark_hooks`, because pytest is imported only after the fork. What it needs while the
    solution is there it holds itself.
    """

    def __init__(self, send: Send, ready: int, xfailed: type[BaseException]) -> None:
        self._send, self._ready = send, ready
        self._describe = Describer({name: _lines(name) for name in (SOLUTION, TESTS)})
        self._clear = Clearer(os.environ.get(OUTPUTS_VARIABLE, "/var/outputs"))
        self._exit = os._exit
        self._xfailed = xfailed
        self._returned: set[str] = set()
        self._results: dict[str, Result] = {}
        self._note: Note | None = None

    def pytest_collection(self, session: Any) -> None:
        """Import the solution before the tests, so that a failure to import is told as its own."""
        self._note = Note(session.config.pluginmanager)
        os.read(self._ready, 1)
        finders = list(sys.meta_path)
        self._import_solution()
        # A finder of the solution's must not come before those that find the tests.
        sys.meta_path[:] = finders + [finder for finder in sys.meta_path if finder not in finders]
        if sys.modules.pop("test_solution", None) is not None:
            self._send("tampered", "text", "sys.modules['test_solution'] was there before the tests")
        self._report_tampering()

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        """Tell why the tests could not be collected."""
        if not hasattr(node, "runtest"):
            error = call.excinfo.value
            self._send("collect_failed", *self._describe(error.__cause__ or error))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Tell that a test starts, and give it an empty folder for its outputs."""
        self._send("started", "name", nodeid)
        self._clear()

    def pytest_pyfunc_call(self, pyfuncitem: Any) -> Generator[None, Any, Any]:
        """Note that the test's function returned."""
        result = yield
        self._returned.add(pyfuncitem.nodeid)
        return result

    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, Any]:
        """Take the report of a phase, with the exception that it was made from."""
        # Taken first: of a unittest.SkipTest, pytest keeps only the text and replaces the exception by its own.
        raised = call.excinfo.value if call.excinfo else None
        report = yield
        raised = raised or (call.excinfo.value if call.excinfo else None)  # unittest's cases come only by pytest's hook
        result = self._results.setdefault(item.nodeid, Result())
        result.add(report, raised, self._describe)
        if report.skipped and raised is not None and self._is_given_up(report, raised) and _is_of_solution(raised):
            why = f"the solution skipped the test, which is not its own to skip: {type(raised).__name__}"
            result.deny(why, *self._describe(raised)[-2:])
        is_unittest = hasattr(item, "addFailure")  # unittest calls its functions itself
        if report.when == "call" and report.passed and not is_unittest and item.nodeid not in self._returned:
            result.deny("the test was reported as passed, but its function never returned")
        return report

    def _is_given_up(self, report: Any, raised: BaseException) -> bool:
        """Whether an exception skipped the test; a test that a mark expects to fail raised any other."""
        return not hasattr(report, "wasxfail") or isinstance(raised, self._xfailed)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Tell what became of a test."""
        self._send("finished", "name", nodeid, *self._results.pop(nodeid, Result()).fields())

    def pytest_sessionfinish(self) -> None:
        """Look once more, when the last test has cleaned up after itself."""
        self._report_tampering()

    def _import_solution(self) -> None:
        import importlib

        try:
            importlib.import_module("solution")
        except BaseException as error:  # noqa: BLE001  -- SystemExit on import is a failure like any other
            self._send("import_failed", *self._describe(error))
            self._send("end", "status", str(IMPORT_FAILED))
            self._exit(IMPORT_FAILED)

    def _report_tampering(self) -> None:
        for text in self._note.differences() if self._note else ():
            self._send("tampered", "text", text)


def mark_hooks(hookimpl: Any) -> None:
    """Mark those of the plugin's hooks that need more than their name."""
    hookimpl(tryfirst=True)(Plugin.pytest_collection)
    hookimpl(wrapper=True, tryfirst=True)(Plugin.pytest_pyfunc_call)
    hookimpl(wrapper=True, tryfirst=True)(Plugin.pytest_runtest_makereport)
    hookimpl(trylast=True)(Plugin.pytest_sessionfinish)


class Clearer:
    """Empties the folder of outputs, with functions that were there before the solution."""

    def __init__(self, folder: str) -> None:
        from shutil import rmtree

        self._folder, self._rmtree, self._scandir, self._remove = folder, rmtree, os.scandir, os.remove

    def __call__(self) -> None:
        """Never raises: what cannot be removed is left for the test to meet."""
        try:
            with self._scandir(self._folder) as entries:
                for entry in list(entries):
                    if entry.is_dir(follow_symlinks=False):
                        self._rmtree(entry.path, ignore_errors=True)
                    else:
                        self._remove(entry.path)
        except OSError:
            return


class Result:
    """What became of one test over its phases; the first thing that went wrong is told."""

    def __init__(self) -> None:
        self.outcome, self.seconds = "passed", 0.0
        self.told: Told = ()
        self.phases: set[str] = set()

    def add(self, report: Any, error: BaseException | None, describe: Describer) -> None:
        """Take the report of one phase, and the exception that was raised in it."""
        self.phases.add(report.when)
        self.seconds += report.duration
        expected_failure = hasattr(report, "wasxfail")
        if report.skipped:
            self._fail("skipped", describe(error) if error else ("message", str(report.longrepr)))
        elif report.failed or (error is not None and not expected_failure):
            outcome = "failed" if report.when == "call" else "error"
            self._fail(outcome, describe(error) if error else ("message", str(report.longrepr)))

    def deny(self, why: str, *told: str) -> None:
        """Fail a test that pytest calls passed or skipped."""
        self._fail("failed", ("message", why, *told))

    def fields(self) -> Told:
        """As the channel takes it."""
        outcome = self.outcome if "setup" in self.phases and "teardown" in self.phases else "missing"
        return ("outcome", outcome, "seconds", f"{self.seconds:.4g}", *self.told)

    def _fail(self, outcome: str, told: Told) -> None:
        if self.outcome in ("passed", "skipped"):
            self.outcome, self.told = outcome, told


class Describer:
    """An exception as names and values: its type, message, lines in the two files, and the module it misses."""

    def __init__(self, sources: dict[str, list[str]]) -> None:
        self._sources = sources

    def __call__(self, error: BaseException) -> Told:
        """Never raises, whatever the exception's own methods do."""
        name = type(error).__name__
        missing = (getattr(error, "name", None) or "") if isinstance(error, ModuleNotFoundError) else ""
        message = _text(lambda: _message(error), name)
        return ("type", name, "missing", str(missing), "message", message, "traceback", self._traceback(error))

    def _traceback(self, error: BaseException) -> str:
        lines: list[str] = []
        step = error.__traceback__
        while step is not None:
            name = step.tb_frame.f_code.co_filename.rpartition("/")[2]
            source = self._sources.get(name)
            if source is not None:
                code = source[step.tb_lineno - 1].strip() if 0 < step.tb_lineno <= len(source) else ""
                lines.append(f"{name}:{step.tb_lineno}: {code}")
            step = step.tb_next
        shown = lines if len(lines) <= MAX_FRAMES else [*lines[:4], "...", *lines[4 - MAX_FRAMES :]]
        return "\n".join(shown)[:MAX_TEXT_CHARS]


def _is_of_solution(error: BaseException | None) -> bool:
    """Whether code of the solution's raised it, or the unittest.SkipTest that pytest made it of."""
    while error is not None:
        step = error.__traceback__
        while step is not None:
            code, names = step.tb_frame.f_code, step.tb_frame.f_globals
            if code.co_filename.rpartition("/")[2] == SOLUTION or names.get("__name__") == "solution":
                return True
            step = step.tb_next
        before = error.__context__
        error = before if any(base.__name__ == "SkipTest" for base in type(before).__mro__) else None
    return False


def _message(error: BaseException) -> str:
    text = "".join(_only(error)).rstrip()
    assertion = "AssertionError: "
    if text.startswith(assertion + "assert "):
        text = text[len(assertion) :]
    if error.__cause__ is not None:
        text += "\ncaused by " + "".join(_only(error.__cause__)).rstrip()
    return text


def _only(error: BaseException) -> list[str]:
    import traceback

    return traceback.format_exception_only(type(error), error)


def _text(make: Callable[[], str], fallback: str) -> str:
    try:
        return make()[:MAX_TEXT_CHARS]
    except BaseException:  # noqa: BLE001  -- an exception whose own text raises
        return fallback


class Note:
    """What the libraries that judge are made of, taken before the solution is imported."""

    def __init__(self, plugins: Any) -> None:
        names = [name for name in sys.modules if name.partition(".")[0] in GUARDED]
        self._modules = {name: sys.modules[name] for name in names}
        self._plugins = plugins
        self._known_plugins = set(plugins.get_plugins())
        self._holders: list[tuple[str, Names, Names]] = []
        self._codes: list[tuple[str, Any, Any]] = []
        self._seen: set[int] = set()
        for name, module in self._modules.items():
            self._take(name, vars(module))

    def differences(self) -> list[str]:
        """What is not as it was, a sentence each."""
        found = [f"sys.modules[{name!r}] was replaced" for name in self._modules if not self._is_there(name)]
        for name, now, parts in self._holders:
            found += [f"{name}.{key} was replaced" for key, part in parts.items() if now.get(key) is not part]
        found += [f"{name}.__code__ was replaced" for name, part, code in self._codes if part.__code__ is not code]
        if set(self._plugins.get_plugins()) - self._known_plugins:
            found.append("a plugin was registered with pytest")
        if sys.gettrace() is not None or sys.getprofile() is not None:
            found.append("a trace or profile function was set")
        return found[:5]

    def _is_there(self, name: str) -> bool:
        return sys.modules.get(name) is self._modules[name]

    def _take(self, holder: str, names: Names) -> None:
        """Take down a module's or class's names, and each function and class that they lead to once: many share it."""
        parts = {name: part for name, part in names.items() if callable(part) or isinstance(part, DESCRIPTORS)}
        self._holders.append((holder, names, parts))
        for name, part in parts.items():
            if id(part) in self._seen:
                continue
            self._seen.add(id(part))
            if isinstance(part, FUNCTION):
                self._codes.append((f"{holder}.{name}", part, part.__code__))
            elif isinstance(part, type) and part.__module__.partition(".")[0] in GUARDED:
                self._take(f"{holder}.{name}", vars(part))


def _lines(name: str) -> list[str]:
    with open(f"{APP}/{name}", encoding="utf-8") as file:  # noqa: PTH123  -- as above, without pathlib
        return file.read().splitlines()


if __name__ == "__main__":
    main()
