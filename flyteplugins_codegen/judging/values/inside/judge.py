"""The judge: a trusted process inside the sandbox that runs the tests and asks the candidate's process for results.

Part of the program that judges by values; standard library only, started by `sequence`. stdin holds a nonce, the
solution and the tests, as one text of plain data.

The candidate's process is forked before that is read, and the judge's memory is closed to it: the solution can reach
neither the tests nor the expected values, nor the judge's stdout. The tests run here. Where they call the solution,
they call a stub, which asks the candidate's process and builds new values of exact types from its answer (see
`plain_data`); an object of the solution's own equals nothing. The report goes to stdout, sealed with the nonce, so that
no other process could have written it.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # part of every Python; `signal` would cost each start 3 ms
import builtins
import os
import sys
from _blake2 import blake2b  # `hashlib` would cost each start 3 ms
from itertools import islice
from time import perf_counter, process_time

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType
    from typing import Any, NoReturn, TypeAlias

    from flyteplugins_codegen.judging.values.inside import compare, plain_data, protocol
    from flyteplugins_codegen.judging.values.inside.batched_calls import Call, calls_of, unexpected_calls
    from flyteplugins_codegen.judging.values.inside.candidate import serve
    from flyteplugins_codegen.judging.values.inside.compare import Difference
    from flyteplugins_codegen.judging.values.inside.plain_data import Tree
    from flyteplugins_codegen.judging.values.inside.protocol import SharedBuffer, exception_text
    from flyteplugins_codegen.judging.values.inside.proxies import KILL, CallRecord, Fault, JudgePeer

    Case: TypeAlias = tuple[str, Callable[[], None]]
    Step: TypeAlias = tuple[FrameType, int, str]  # a frame of the tests, its line and that line's text
    FailureTexts: TypeAlias = tuple[str, str, str, str]  # kind, subject and message of a Cause, and the traceback
else:
    import compare
    import plain_data
    import protocol
    from batched_calls import calls_of, unexpected_calls
    from candidate import serve
    from protocol import SharedBuffer, exception_text
    from proxies import KILL, JudgePeer

SEAL_BYTES = 16
MOST_AT_ONCE = 1 << 20
LONGEST_S = 1e6  # the longest time that a timer accepts
MAX_TOLD_BYTES = 200_000
# Exit statuses: the candidate's process has ended; the cases could not begin, or did not end in time. With status 0,
# the loss of a process to the memory limit would go unnoticed.
CUT_SHORT, GAVE_UP = 3, 4
# Modules that may provide a name that the tests use without importing it, if the solution has the name from there.
KNOWN_MODULES = frozenset(
    ("bisect", "cmath", "collections", "copy", "datetime", "decimal", "fractions", "functools", "heapq", "itertools")
) | {"json", "math", "numpy", "operator", "pandas", "random", "re", "statistics", "string", "typing"}
ALIASES = {"np": "numpy", "pd": "pandas"}
# Of explanations of failures.
MAX_CHARS = 300
MAX_ITEMS = 64  # of a container; a quarter of it on each level below
MAX_DEPTH = 4
MAX_FRAMES = 12
MAX_TEXT_CHARS = 2_000
MAX_NAMES = 6
LONGEST_INT_BITS = 1_000


def judge_one(size: int) -> NoReturn:
    """Fork the candidate's process, then judge the solution in the next `size` bytes of stdin."""
    questions, answers, buffer = os.pipe(), os.pipe(), SharedBuffer()
    child = os.fork()
    if child == 0:
        os.close(questions[1])
        os.close(answers[0])
        serve(questions[0], answers[1], buffer)
    os.close(questions[0])
    os.close(answers[1])
    judge(JudgePeer(protocol.Link(answers[0], questions[1]), buffer, child), child, size)


def judge(peer: JudgePeer, child: int, size: int) -> NoReturn:
    """Read the job, run its tests against the solution, and report."""
    nonce, wall_s, solution, entry_point, checks = plain_data.read_text(read_exactly(0, size))
    report = SealedReport(bytes.fromhex(nonce), peer, child, take_stdout())
    report.begin(wall_s)
    try:
        plan = JudgingPlan(*checks)
    except Exception as error:  # noqa: BLE001 - compiling fails in many ways
        report.close(_broken(error))
    try:
        cases = plan.prepare(peer, solution, entry_point)
    except BaseException as error:  # noqa: BLE001 - SystemExit too: only the judge ends itself
        report.close(_preparation_fault(peer, error, plan.sources))
    for name, run in cases:
        report.run(name, run, plan.sources)
    report.close(None)


def _preparation_fault(peer: JudgePeer, error: BaseException, sources: dict[str, str]) -> Fault:
    """The fault that kept the cases from beginning."""
    fault = peer.ended or peer.fault
    if fault is not None:
        return fault
    if peer.last is not None and error is peer.last.error:
        return raised_fault(peer.last)
    if isinstance(error, NoEntryPointError):
        return "missing_entry_point", "", str(error)
    return explain(peer, error, sources)[:3] if peer.calls else _broken(error)


def _broken(error: BaseException) -> Fault:
    return "broken_tests", "", f"the checks cannot be run: {type(error).__name__}: {error}"


def read_exactly(descriptor: int, size: int) -> bytes:
    """The next `size` bytes, or fewer at the end. The bytes after them are not read: they belong to another judge."""
    chunks = []
    while size and (chunk := os.read(descriptor, min(size, MOST_AT_ONCE))):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def take_stdout() -> int:
    """A descriptor of stdout for the report alone; from now on the tests print to stderr, as the solution does."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    return stdout


class NoEntryPointError(Exception):
    """The solution defines nothing that can be called by the name of the entry point."""


class SealedReport:
    """The report, written once: when all cases have run, when they cannot begin, or when their time is up."""

    def __init__(self, nonce: bytes, peer: JudgePeer, child: int, stdout: int) -> None:
        self._nonce, self._peer, self._child, self._stdout = nonce, peer, child, stdout
        self._cases: list[Tree] = []
        self._left = MAX_TOLD_BYTES
        self._running = ""
        self._wall_s = 0.0
        self._begun = 0.0

    def begin(self, wall_s: float) -> None:
        """SealedReport that the judge has started, and start its clock."""
        self._wall_s = wall_s
        self._begun = perf_counter()
        self.write(["begun"])
        _signal.signal(_signal.SIGINT, _signal.SIG_IGN)  # only the solution could send it
        _signal.signal(_signal.SIGALRM, self._end_in_time)
        _signal.setitimer(_signal.ITIMER_REAL, min(wall_s, LONGEST_S))

    def run(self, name: str, run: Callable[[], None], sources: dict[str, str]) -> None:
        """Run a case and record its result; close if no more questions can be asked."""
        peer = self._peer
        peer.begin_case()
        compare.refuse_emptiness()
        self._running = name
        started = perf_counter()
        error = _exception_of(run)
        failure: FailureTexts = ("", "", "", "")
        if error is not None or peer.fault or peer.ended:  # a test may have caught the exception that must fail it
            failure = explain(peer, error, sources)
        self._cases.append([name, *self._fitting(*failure), perf_counter() - started])
        if peer.ended:
            self.close(None)

    def _fitting(self, kind: str, subject: str, message: str, traceback: str) -> list[Tree]:
        """A failure, without its texts once the report has become too long."""
        self._left -= len(ascii(message + traceback))
        return [kind, subject, message, traceback] if self._left > 0 else [kind, subject, "", ""]

    def close(self, fault: Fault | None) -> NoReturn:
        """Write the report, and end both processes."""
        _signal.signal(_signal.SIGALRM, _signal.SIG_IGN)
        _try(os.killpg, self._child, KILL)  # it may have ended, or may not have called setsid yet
        _try(sys.stdout.flush)  # a test may have closed it
        cpu_s = process_time() + self._peer.end()
        self.write(["ended", self._peer.calls, self._cases, fault, cpu_s, perf_counter() - self._begun])
        os._exit(CUT_SHORT if self._peer.ended else GAVE_UP if fault else 0)

    def _end_in_time(self, *_: object) -> None:
        record = self._peer.last
        what = call_text(record) if record and not record.is_answered else self._running
        where = f" while {what} was running" if what else ""
        self.close(("timed_out", self._running, f"it had not ended after {self._wall_s:g} s{where}"))

    def write(self, record: list[Tree]) -> None:
        """Write one sealed line."""
        text = plain_data.write_text(record)
        rest = _seal(self._nonce, text) + b" " + text + b"\n"
        while rest:
            rest = rest[os.write(self._stdout, rest) :]


def _try(function: Callable[..., None], *args: Any) -> None:
    try:  # noqa: SIM105 - contextlib would cost each start 3 ms
        function(*args)
    except (OSError, ValueError):
        pass


def _exception_of(run: Callable[[], None]) -> BaseException | None:
    try:
        run()
    except BaseException as error:  # noqa: BLE001 - any exception fails the test
        return error
    return None


def _seal(nonce: bytes, text: bytes) -> bytes:
    return blake2b(text, key=nonce, digest_size=SEAL_BYTES).hexdigest().encode()


class JudgingPlan:
    """The tests, compiled but not yet run: `pairs`; or texts, namely a context, a source, and perhaps asserts.

    `sources` has every text by the file name that it is compiled under.
    """

    def __init__(self, texts: list[tuple[str, str]], pairs: Tree) -> None:
        self.sources: dict[str, str] = dict(texts)
        self._codes = [compile(text, name, "exec", dont_inherit=True) for name, text in texts]
        self._pairs = pairs

    def prepare(self, peer: JudgePeer, solution: str, entry_point: str) -> Iterable[Case]:
        """Load the solution and run the context and the source; the cases to run. Raises their exceptions."""
        origins, candidate = peer.load(solution, entry_point)
        if candidate is None:
            raise NoEntryPointError(f"the solution has nothing named {entry_point} that can be called")
        number = peer.number_of(candidate)
        candidate.in_turn = lambda cases: calls_of(peer, number, cases)  # type: ignore[attr-defined]  # a function may have attributes
        candidate.others = lambda cases: unexpected_calls(peer, number, cases)  # type: ignore[attr-defined]  # the same
        if self._pairs is not None:
            pairs, tolerances, from_json = self._pairs
            return _pair_cases(peer, candidate, pairs, compare.PairRule(*tolerances, from_json=from_json))
        names = _new_names()
        context, source, *asserts = self._codes
        exec(context, names)  # noqa: S102 - the tests are trusted
        names[entry_point] = candidate  # before the loop, which would ask for it again
        for name in self._names_used() & origins.keys():
            if name not in names and not hasattr(builtins, name):
                names[name] = _known(name, origins[name]) or peer.maker(name)
        exec(source, names)  # noqa: S102 - as above
        if asserts:
            return [(code.co_filename, _bound(exec, code, names)) for code in asserts]
        check = names.get("check")
        if not callable(check):
            raise TypeError("they define no function check(candidate)")
        return [("check", lambda: check(candidate))]

    def _names_used(self) -> set[str]:
        used: set[str] = set()
        waiting = list(self._codes)
        while waiting:
            code = waiting.pop()
            used.update(code.co_names)
            waiting += [part for part in code.co_consts if type(part) is type(code)]
        return used


def _pair_cases(
    peer: JudgePeer, candidate: Callable[..., Any], pairs: list[tuple[str, str]], rule: compare.PairRule
) -> Iterator[Case]:
    def run(call: Call) -> None:
        is_expected, result = call.result()
        if is_expected:
            return
        wanted = _plain(plain_data.read_text(call.expected))
        differing = compare.difference(result, wanted, rule)
        if differing is not None and peer.last is not None:
            raise wrong_pair(peer.last, wanted, differing)

    cases = ((given.encode("ascii"), expected.encode("ascii")) for given, expected in pairs)
    for number, call in enumerate(candidate.in_turn(cases), 1):  # type: ignore[attr-defined]  # set in `prepare`
        yield f"pair {number}", _bound(run, call)


def _bound(function: Callable[..., None], *args: Any) -> Callable[[], None]:
    """As `functools.partial`, which would cost each start 3 ms."""
    return lambda: function(*args)


def _plain(tree: Tree) -> Any:
    return plain_data.Reader(_refuse, []).value(tree)


def _refuse(_: Tree) -> Any:
    raise plain_data.MalformedError("an object among the values of a pair")


def _new_names() -> dict[str, Any]:
    """The namespace of a new module `checks`, in which classes that the tests define find their module."""
    module = type(sys)("checks")
    sys.modules["checks"] = module
    return vars(module)


def _known(name: str, origin: str) -> Any:
    """The object that a well-known module has under this name; the solution only says which module."""
    library = ALIASES.get(name, name)
    if origin == library and library in KNOWN_MODULES:
        return __import__(library)
    public = origin.lstrip("_")  # `heapq.heappush` has the module `_heapq`
    return getattr(__import__(public), name, None) if public in KNOWN_MODULES else None


# --- why a case failed ------------------------------------------------------------------------------------------------


class WrongError(AssertionError):
    """The result of a call is not the expected one of its pair."""


def explain(peer: JudgePeer, error: BaseException | None, sources: dict[str, str]) -> FailureTexts:
    """Why a case failed. `error` is the exception that it raised, if any; `sources` the tests' texts by file name."""
    record, steps = peer.last, _steps(error, sources)
    fault = peer.ended or peer.fault
    if fault is not None:
        kind, subject, message = fault
        text = f"{call_text(record)}: {message}" if record else message
    elif record is not None and error is record.error:
        kind, subject, text = raised_fault(record)
    else:
        kind, subject, text = "test_failed", "", _explain_statement(error, record, steps)
    lines = [f"{frame.f_code.co_filename}:{line}: {text}" for frame, line, text in steps[-MAX_FRAMES:]]
    if record is not None and record.traceback:
        lines.append(record.traceback)
    statement = f"{steps[-1][2]}\n" if steps else ""
    return kind, subject, (statement + text)[:MAX_TEXT_CHARS], "\n".join(lines)[:MAX_TEXT_CHARS]


def raised_fault(record: CallRecord) -> Fault:
    """The fault for an exception that a call raised and no test expected."""
    text = f"{call_text(record)} raised {record.raised}: {record.text}"
    if record.missing:
        return "missing_module", record.missing, text
    return "out_of_memory" if record.raised == "MemoryError" else "exception", record.raised, text


def wrong_pair(record: CallRecord, expected: Any, differing: Difference) -> WrongError:
    """The failure of a pair, with the expected value and the place of the first difference in it."""
    location, found, wanted = differing
    text = f"{call_text(record)} {_outcome(record)}, expected {render(expected)}"
    return WrongError(f"{text}; at {location}: {render(found)}, expected {render(wanted)}" if location else text)


def call_text(record: CallRecord) -> str:
    """A call as Python source, with the arguments as they were before it; or `importing the solution`."""
    if record.is_import:
        return "importing the solution"
    args, kwargs = _arguments(record, plain_data.Reader(Elsewhere, []))
    given = [render(arg) for arg in args] + [f"{name}={render(value)}" for name, value in kwargs.items()]
    return f"{record.name}({', '.join(given)})"


def _arguments(record: CallRecord, reader: plain_data.Reader) -> tuple[list[Any], dict[str, Any]]:
    """The positional and the keyword arguments."""
    if isinstance(record.given, bytes):
        return plain_data.read_call(plain_data.read_text(record.given), Elsewhere)
    args, kwargs = (reader.value(tree) for tree in record.given)
    return args, kwargs


def _result(record: CallRecord) -> Any:
    """The result. Its tree continues the numbering of the arguments' trees, except for a batched call."""
    reader = plain_data.Reader(Elsewhere, [])
    if not isinstance(record.given, bytes):
        _arguments(record, reader)
    return reader.value(record.result)


class Elsewhere:
    """Prints like an object of the candidate's process."""

    def __init__(self, tree: Tree) -> None:
        self._text = f"<{tree[3]}>" if len(tree) > 3 else "<an object of the solution's>"  # noqa: PLR2004 - its class

    def __repr__(self) -> str:
        return self._text


def _explain_statement(error: BaseException | None, record: CallRecord | None, steps: list[Step]) -> str:
    """What went wrong in a statement of a test, and the values of the names in it."""
    parts = []
    if record is not None and record.is_answered and not isinstance(error, WrongError):
        parts.append(f"{call_text(record)} {_outcome(record)}")
    text = exception_text(error) if error is not None else ""
    if isinstance(error, WrongError):
        parts.append(text)
    elif text or not isinstance(error, AssertionError):
        parts.append(f"{type(error).__name__}: {text}")
    return "\n".join([*parts, *(_names(*steps[-1]) if steps else ())])


def _outcome(record: CallRecord) -> str:
    if record.raised:
        return f"raised {record.raised}: {record.text}"
    return f"returned {render(_result(record))}"


def _steps(error: BaseException | None, sources: dict[str, str]) -> list[Step]:
    """The frames of the tests in a traceback, the innermost last: each with its line number and text."""
    found: list[Step] = []
    step = error.__traceback__ if error is not None else None
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        if name in sources:
            lines = sources[name].splitlines()
            number = step.tb_lineno or 0
            text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
            found.append((step.tb_frame, number, text[:MAX_CHARS]))
        step = step.tb_next
    return found


def _names(frame: FrameType, _: int, text: str) -> list[str]:
    """The names in a statement that have plain values, with these values; one may be the expected value."""
    words = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in text).split()
    values = {**frame.f_globals, **frame.f_locals}
    plain = [word for word in dict.fromkeys(words) if word in values and _is_plain(values[word])]
    return [f"{word} = {render(values[word])}" for word in plain[:MAX_NAMES]]


def _is_plain(value: Any) -> bool:
    name = plain_data.type_name(type(value))
    return (
        type(value) in (type(None), bool, int, float, str) or name in plain_data.MUTABLE or name in plain_data.IMMUTABLE
    )


# --- values as text ---------------------------------------------------------------------------------------------------


def render(value: Any, depth: int = 0) -> str:
    """A value as Python source, shortened if it is long."""
    kind = type(value)
    if kind is int:
        return repr(value) if value.bit_length() < LONGEST_INT_BITS else f"<an int of {value.bit_length()} bits>"
    if kind in (str, bytes, bytearray):
        return repr(value) if len(value) <= MAX_CHARS else f"{value[:MAX_CHARS]!r}... ({len(value)} long)"
    if kind in (list, tuple, set, frozenset, dict):
        return _render_parts(value, kind, depth + 1) if depth < MAX_DEPTH else f"<{kind.__name__} of {len(value)}>"
    if hasattr(kind, "__len__") and len(value) > MAX_CHARS:
        return f"<{kind.__name__} of {len(value)}>"
    try:
        return repr(value)[:MAX_CHARS]
    except BaseException:  # noqa: BLE001 - a proxy inside a value that is otherwise plain
        return f"<{kind.__name__}>"


def _render_parts(value: Any, kind: type, depth: int) -> str:
    most = MAX_ITEMS >> 2 * (depth - 1)
    parts = [render(part, depth) for part in islice(value, most)]
    if kind is dict:
        parts = [f"{key}: {render(item, depth)}" for key, item in zip(parts, value.values(), strict=False)]
    text = ", ".join(parts) + (f", ... ({len(value)} in all)" if len(value) > most else "")
    if kind is tuple:
        return f"({text},)" if len(value) == 1 else f"({text})"
    if kind is list:
        return f"[{text}]"
    if kind is frozenset:
        return f"frozenset({{{text}}})" if value else "frozenset()"
    return f"{{{text}}}" if value or kind is dict else "set()"
