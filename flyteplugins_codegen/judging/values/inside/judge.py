"""The judge: a trusted process inside the sandbox that runs the checks, for which it asks the judged process.

A part of the program that judges by values: standard library only, started by `turns`. On stdin come a nonce, the
solution and the checks, as one text of plain data.

The judged process is forked before that is read, and the judge's memory is closed to it: the solution can reach neither
the checks nor the values that they expect, nor the judge's stdout. The checks run here. Where they call the solution
they call a stub, which asks the judged process and makes of its answer new values of exact types (see `plain_data`); an
object of the solution's own equals nothing. What was found goes to stdout once, sealed with the nonce, so that nobody
else could have written it.
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
    from types import FrameType
    from typing import Any, TypeAlias

    from flyteplugins_codegen.judging.values.inside import plain_data
    from flyteplugins_codegen.judging.values.inside.compare import Difference
    from flyteplugins_codegen.judging.values.inside.plain_data import Tree
    from flyteplugins_codegen.judging.values.inside.protocol import text_of
    from flyteplugins_codegen.judging.values.inside.proxies import Asked, Fault, Judge

    Step: TypeAlias = tuple[FrameType, int, str]  # a frame of the checks', its line and that line's text
    Failure: TypeAlias = tuple[str, str, str, str]  # kind, subject and message of a Cause, and the traceback
    from collections.abc import Callable, Iterable, Iterator
    from typing import NoReturn

    from flyteplugins_codegen.judging.values.inside import compare, protocol
    from flyteplugins_codegen.judging.values.inside.batched_calls import Call, calls_of, others_of
    from flyteplugins_codegen.judging.values.inside.candidate import serve
    from flyteplugins_codegen.judging.values.inside.protocol import Slate
    from flyteplugins_codegen.judging.values.inside.proxies import KILL

    Case: TypeAlias = tuple[str, Callable[[], None]]
else:
    import compare
    import plain_data
    import protocol
    from batched_calls import calls_of, others_of
    from candidate import serve
    from protocol import Slate, text_of
    from proxies import KILL, Judge

# Why a case failed, in the words that a repair needs: the statement, the call, what it gave, where in the solution.

MAX_CHARS = 300
MAX_ITEMS = 64  # and a quarter of it one level below, and so on
MAX_DEPTH = 4
MAX_FRAMES = 12
MAX_TEXT_CHARS = 2_000
MAX_NAMES = 6
LONGEST_INT_BITS = 1_000


class WrongError(AssertionError):
    """A call did not give what a pair expects of it."""


def explain(peer: Judge, error: BaseException | None, sources: dict[str, str]) -> Failure:
    """Why a case failed. `error` is what it raised, if anything; `sources` are the checks' texts by their names."""
    asked, steps = peer.last, _steps(error, sources)
    fault = peer.ended or peer.fault
    if fault is not None:
        kind, subject, message = fault
        told = f"{call_text(asked)}: {message}" if asked else message
    elif asked is not None and error is asked.error:
        kind, subject, told = raised_fault(asked)
    else:
        kind, subject, told = "test_failed", "", _wrong(error, asked, steps)
    lines = [f"{frame.f_code.co_filename}:{line}: {text}" for frame, line, text in steps[-MAX_FRAMES:]]
    if asked is not None and asked.traceback:
        lines.append(asked.traceback)
    statement = f"{steps[-1][2]}\n" if steps else ""
    return kind, subject, (statement + told)[:MAX_TEXT_CHARS], "\n".join(lines)[:MAX_TEXT_CHARS]


def raised_fault(asked: Asked) -> Fault:
    """What to say where a call raised an exception that no check expected."""
    told = f"{call_text(asked)} raised {asked.raised}: {asked.text}"
    if asked.missing:
        return "missing_module", asked.missing, told
    return "out_of_memory" if asked.raised == "MemoryError" else "exception", asked.raised, told


def wrong_pair(asked: Asked, expected: Any, differing: Difference) -> WrongError:
    """The failure of a pair, with what was expected, and where in it the difference is."""
    place, found, wanted = differing
    told = f"{call_text(asked)} {_outcome(asked)}, expected {shown(expected)}"
    return WrongError(f"{told}; at {place}: {shown(found)}, expected {shown(wanted)}" if place else told)


def call_text(asked: Asked) -> str:
    """A call as Python writes it, with its arguments as they were before it; the import of the solution as that."""
    if asked.is_import:
        return "importing the solution"
    args, kwargs = _arguments(asked, plain_data.Reader(Elsewhere, []))
    given = [shown(arg) for arg in args] + [f"{name}={shown(value)}" for name, value in kwargs.items()]
    return f"{asked.name}({', '.join(given)})"


def _arguments(asked: Asked, reader: plain_data.Reader) -> tuple[list[Any], dict[str, Any]]:
    """Those by position and by name, as they were told."""
    if isinstance(asked.given, bytes):
        return plain_data.read_call(plain_data.read_text(asked.given), Elsewhere)
    args, kwargs = (reader.value(tree) for tree in asked.given)
    return args, kwargs


def _result(asked: Asked) -> Any:
    """What was answered; its tree goes on with the numbers of the arguments', unless those were told with others."""
    reader = plain_data.Reader(Elsewhere, [])
    if not isinstance(asked.given, bytes):
        _arguments(asked, reader)
    return reader.value(asked.result)


class Elsewhere:
    """Shows an object that is on the other side."""

    def __init__(self, tree: Tree) -> None:
        self._text = f"<{tree[3]}>" if len(tree) > 3 else "<an object of the solution's>"  # noqa: PLR2004 - its class

    def __repr__(self) -> str:
        return self._text


def _wrong(error: BaseException | None, asked: Asked | None, steps: list[Step]) -> str:
    """What a statement of a check found."""
    told = []
    if asked is not None and asked.is_answered and not isinstance(error, WrongError):
        told.append(f"{call_text(asked)} {_outcome(asked)}")
    text = text_of(error) if error is not None else ""
    if isinstance(error, WrongError):
        told.append(text)
    elif text or not isinstance(error, AssertionError):
        told.append(f"{type(error).__name__}: {text}")
    return "\n".join([*told, *(_names(*steps[-1]) if steps else ())])


def _outcome(asked: Asked) -> str:
    if asked.raised:
        return f"raised {asked.raised}: {asked.text}"
    return f"returned {shown(_result(asked))}"


def _steps(error: BaseException | None, sources: dict[str, str]) -> list[Step]:
    """Where in the checks an exception passed, the innermost last: its frame, line and text."""
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
    """The plain values of the names in a statement: what was expected may stand in one."""
    words = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in text).split()
    values = {**frame.f_globals, **frame.f_locals}
    plain = [word for word in dict.fromkeys(words) if word in values and _is_plain(values[word])]
    return [f"{word} = {shown(values[word])}" for word in plain[:MAX_NAMES]]


def _is_plain(value: Any) -> bool:
    name = plain_data.type_name(type(value))
    return (
        type(value) in (type(None), bool, int, float, str) or name in plain_data.MUTABLE or name in plain_data.IMMUTABLE
    )


# --- values as text ---------------------------------------------------------------------------------------------------


def shown(value: Any, depth: int = 0) -> str:
    """A value as Python writes it, shortened where it is long."""
    kind = type(value)
    if kind is int:
        return repr(value) if value.bit_length() < LONGEST_INT_BITS else f"<an int of {value.bit_length()} bits>"
    if kind in (str, bytes, bytearray):
        return repr(value) if len(value) <= MAX_CHARS else f"{value[:MAX_CHARS]!r}... ({len(value)} long)"
    if kind in (list, tuple, set, frozenset, dict):
        return _shown_parts(value, kind, depth + 1) if depth < MAX_DEPTH else f"<{kind.__name__} of {len(value)}>"
    if hasattr(kind, "__len__") and len(value) > MAX_CHARS:
        return f"<{kind.__name__} of {len(value)}>"
    try:
        return repr(value)[:MAX_CHARS]
    except BaseException:  # noqa: BLE001 - an object of the solution's, in a value that is otherwise plain
        return f"<{kind.__name__}>"


def _shown_parts(value: Any, kind: type, depth: int) -> str:
    most = MAX_ITEMS >> 2 * (depth - 1)
    parts = [shown(part, depth) for part in islice(value, most)]
    if kind is dict:
        parts = [f"{key}: {shown(item, depth)}" for key, item in zip(parts, value.values(), strict=False)]
    text = ", ".join(parts) + (f", ... ({len(value)} in all)" if len(value) > most else "")
    if kind is tuple:
        return f"({text},)" if len(value) == 1 else f"({text})"
    if kind is list:
        return f"[{text}]"
    if kind is frozenset:
        return f"frozenset({{{text}}})" if value else "frozenset()"
    return f"{{{text}}}" if value or kind is dict else "set()"


SEAL_BYTES = 16
MOST_AT_ONCE = 1 << 20
LONGEST_S = 1e6  # of what a timer takes
MAX_TOLD_BYTES = 200_000
# Not 0, with which the loss of a process to the memory limit would pass for nothing: the judged process is gone, or the
# cases could not begin, or not end in time.
CUT_SHORT, GAVE_UP = 3, 4
# Where a name that the checks do not import may come from, if the solution says that it has it from there too.
KNOWN_MODULES = frozenset(
    ("bisect", "cmath", "collections", "copy", "datetime", "decimal", "fractions", "functools", "heapq", "itertools")
) | {"json", "math", "numpy", "operator", "pandas", "random", "re", "statistics", "string", "typing"}
ALIASES = {"np": "numpy", "pd": "pandas"}


def judge_one(size: int) -> NoReturn:
    """Fork the judged process, then judge what the next `size` bytes of stdin hold."""
    questions, answers, slate = os.pipe(), os.pipe(), Slate()
    child = os.fork()
    if child == 0:
        os.close(questions[1])
        os.close(answers[0])
        serve(questions[0], answers[1], slate)
    os.close(questions[0])
    os.close(answers[1])
    judge(Judge(protocol.Link(answers[0], questions[1]), slate, child), child, size)


def judge(peer: Judge, child: int, size: int) -> NoReturn:
    """Read the job, run its checks against the solution, and tell what was found."""
    nonce, wall_s, solution, entry_point, checks = plain_data.read_text(read_exactly(0, size))
    report = Report(bytes.fromhex(nonce), peer, child, take_stdout())
    report.begin(wall_s)
    try:
        plan = Plan(*checks)
    except Exception as error:  # noqa: BLE001 - a compiler has many ways to refuse a text
        report.close(_broken(error))
    try:
        cases = plan.prepare(peer, solution, entry_point)
    except BaseException as error:  # noqa: BLE001 - SystemExit too: nothing ends the judge but itself
        report.close(_why_not(peer, error, plan.sources))
    for name, run in cases:
        report.run(name, run, plan.sources)
    report.close(None)


def _why_not(peer: Judge, error: BaseException, sources: dict[str, str]) -> Fault:
    """Why the cases could not begin."""
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
    """The next bytes; fewer where there are no more. What comes after them is not touched: it is another judge's."""
    chunks = []
    while size and (chunk := os.read(descriptor, min(size, MOST_AT_ONCE))):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def take_stdout() -> int:
    """What stdout was, from now on for the report alone: where the solution prints, the checks print too."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    return stdout


class NoEntryPointError(Exception):
    """The solution has nothing to call under the name that the checks call."""


class Report:
    """What was found, told once: when all cases have run, when they cannot be, or when their time is up."""

    def __init__(self, nonce: bytes, peer: Judge, child: int, stdout: int) -> None:
        self._nonce, self._peer, self._child, self._stdout = nonce, peer, child, stdout
        self._cases: list[Tree] = []
        self._left = MAX_TOLD_BYTES
        self._running = ""
        self._wall_s = 0.0
        self._begun = 0.0

    def begin(self, wall_s: float) -> None:
        """Tell that all that judging needs is there, and begin to count the time."""
        self._wall_s = wall_s
        self._begun = perf_counter()
        self.tell(["begun"])
        _signal.signal(_signal.SIGINT, _signal.SIG_IGN)  # it could only be the solution's
        _signal.signal(_signal.SIGALRM, self._end_in_time)
        _signal.setitimer(_signal.ITIMER_REAL, min(wall_s, LONGEST_S))

    def run(self, name: str, run: Callable[[], None], sources: dict[str, str]) -> None:
        """Run a case and take down what became of it; close where nothing more can be asked."""
        peer = self._peer
        peer.begin_case()
        compare.refuse_emptiness()
        self._running = name
        started = perf_counter()
        error = _raised_by(run)
        told: Failure = ("", "", "", "")
        if error is not None or peer.fault or peer.ended:  # a check may have caught what must fail it
            told = explain(peer, error, sources)
        self._cases.append([name, *self._fitting(*told), perf_counter() - started])
        if peer.ended:
            self.close(None)

    def _fitting(self, kind: str, subject: str, message: str, traceback: str) -> list[Tree]:
        """A failure, without its texts once too much has been told."""
        self._left -= len(ascii(message + traceback))
        return [kind, subject, message, traceback] if self._left > 0 else [kind, subject, "", ""]

    def close(self, fault: Fault | None) -> NoReturn:
        """Tell everything, and end both processes."""
        _signal.signal(_signal.SIGALRM, _signal.SIG_IGN)
        _try(os.killpg, self._child, KILL)  # it may have ended, or not yet begun
        _try(sys.stdout.flush)  # a check may have closed it
        cpu_s = process_time() + self._peer.end()
        self.tell(["ended", self._peer.calls, self._cases, fault, cpu_s, perf_counter() - self._begun])
        os._exit(CUT_SHORT if self._peer.ended else GAVE_UP if fault else 0)

    def _end_in_time(self, *_: object) -> None:
        asked = self._peer.last
        what = call_text(asked) if asked and not asked.is_answered else self._running
        where = f" while {what} was running" if what else ""
        self.close(("timed_out", self._running, f"it had not ended after {self._wall_s:g} s{where}"))

    def tell(self, record: list[Tree]) -> None:
        """Write a line that nobody else could have written."""
        text = plain_data.write_text(record)
        rest = _seal(self._nonce, text) + b" " + text + b"\n"
        while rest:
            rest = rest[os.write(self._stdout, rest) :]


def _try(function: Callable[..., None], *args: Any) -> None:
    try:  # noqa: SIM105 - contextlib would cost each start 3 ms
        function(*args)
    except (OSError, ValueError):
        pass


def _raised_by(run: Callable[[], None]) -> BaseException | None:
    try:
        run()
    except BaseException as error:  # noqa: BLE001 - whatever a check raises fails it
        return error
    return None


def _seal(nonce: bytes, text: bytes) -> bytes:
    return blake2b(text, key=nonce, digest_size=SEAL_BYTES).hexdigest().encode()


class Plan:
    """The checks, read but not yet run: `pairs`, or texts: a context, a source, and perhaps asserts.

    `sources` has every text by the name that it is compiled under.
    """

    def __init__(self, texts: list[tuple[str, str]], pairs: Tree) -> None:
        self.sources: dict[str, str] = dict(texts)
        self._codes = [compile(text, name, "exec", dont_inherit=True) for name, text in texts]
        self._pairs = pairs

    def prepare(self, peer: Judge, solution: str, entry_point: str) -> Iterable[Case]:
        """Load the solution and run what comes before the cases. Raises what either of them raises."""
        origins, candidate = peer.load(solution, entry_point)
        if candidate is None:
            raise NoEntryPointError(f"the solution has nothing named {entry_point} that can be called")
        number = peer.number_of(candidate)
        candidate.in_turn = lambda cases: calls_of(peer, number, cases)  # type: ignore[attr-defined]  # a function has
        candidate.others = lambda cases: others_of(peer, number, cases)  # type: ignore[attr-defined]  # the same
        if self._pairs is not None:
            pairs, tolerances, from_json = self._pairs
            return _pair_cases(peer, candidate, pairs, compare.Rule(*tolerances, from_json=from_json))
        names = _new_names()
        context, source, *asserts = self._codes
        exec(context, names)  # noqa: S102 - the checks are what is trusted here
        names[entry_point] = candidate  # before the others: it need not be asked for a second time
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
    peer: Judge, candidate: Callable[..., Any], pairs: list[tuple[str, str]], rule: compare.Rule
) -> Iterator[Case]:
    def run(call: Call) -> None:
        is_as_wanted, found = call.result()
        if is_as_wanted:
            return
        wanted = _plain(plain_data.read_text(call.wanted))
        differing = compare.difference(found, wanted, rule)
        if differing is not None and peer.last is not None:
            raise wrong_pair(peer.last, wanted, differing)

    cases = ((given.encode("ascii"), expected.encode("ascii")) for given, expected in pairs)
    for number, call in enumerate(candidate.in_turn(cases), 1):  # type: ignore[attr-defined]  # a stub has it
        yield f"pair {number}", _bound(run, call)


def _bound(function: Callable[..., None], *args: Any) -> Callable[[], None]:
    """As `functools.partial`, which would cost each start 3 ms."""
    return lambda: function(*args)


def _plain(tree: Tree) -> Any:
    return plain_data.Reader(_refuse, []).value(tree)


def _refuse(_: Tree) -> Any:
    raise plain_data.MalformedError("an object among the values of a pair")


def _new_names() -> dict[str, Any]:
    """The names of a new module, which classes that the checks define find as their own."""
    module = type(sys)("checks")
    sys.modules["checks"] = module
    return vars(module)


def _known(name: str, origin: str) -> Any:
    """What a well-known library has under this name; the solution says only which."""
    library = ALIASES.get(name, name)
    if origin == library and library in KNOWN_MODULES:
        return __import__(library)
    public = origin.lstrip("_")  # `heapq.heappush` says that it is of `_heapq`
    return getattr(__import__(public), name, None) if public in KNOWN_MODULES else None
