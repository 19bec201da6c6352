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
from time import perf_counter, process_time

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, NoReturn, TypeAlias

    from flyteplugins_codegen.sandbox.values import comparison, exchange, explaining, judged, numpy_truth, plain_data
    from flyteplugins_codegen.sandbox.values.calls import Call, calls_of, others_of
    from flyteplugins_codegen.sandbox.values.plain_data import Tree
    from flyteplugins_codegen.sandbox.values.slate import Slate
    from flyteplugins_codegen.sandbox.values.stand_ins import KILL, Fault, Judge

    Case: TypeAlias = tuple[str, Callable[[], None]]
else:
    import comparison
    import exchange
    import explaining
    import judged
    import numpy_truth
    import plain_data
    from calls import calls_of, others_of
    from slate import Slate
    from stand_ins import KILL, Judge

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
        judged.serve(questions[0], answers[1], slate)
    os.close(questions[0])
    os.close(answers[1])
    judge(Judge(exchange.Link(answers[0], questions[1]), slate, child), child, size)


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
        return explaining.raised_fault(peer.last)
    if isinstance(error, NoEntryPointError):
        return "missing_entry_point", "", str(error)
    return explaining.explain(peer, error, sources)[:3] if peer.calls else _broken(error)


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
        numpy_truth.refuse_emptiness()
        self._running = name
        started = perf_counter()
        error = _raised_by(run)
        told: explaining.Failure = ("", "", "", "")
        if error is not None or peer.fault or peer.ended:  # a check may have caught what must fail it
            told = explaining.explain(peer, error, sources)
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
        what = explaining.call_text(asked) if asked and not asked.is_answered else self._running
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
            return _pair_cases(peer, candidate, pairs, comparison.Rule(*tolerances, from_json=from_json))
        names = _new_names()
        context, source, *asserts = self._codes
        exec(context, names)  # noqa: S102 - the checks are what is trusted here
        for name in self._names_used() & origins.keys():
            if name not in names and not hasattr(builtins, name):
                names[name] = _known(name, origins[name]) or peer.maker(name)
        names[entry_point] = candidate
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
    peer: Judge, candidate: Callable[..., Any], pairs: list[tuple[str, str]], rule: comparison.Rule
) -> Iterator[Case]:
    def run(call: Call) -> None:
        is_as_wanted, found = call.result()
        if is_as_wanted:
            return
        wanted = _plain(plain_data.read_text(call.wanted))
        differing = comparison.difference(found, wanted, rule)
        if differing is not None and peer.last is not None:
            raise explaining.wrong_pair(peer.last, wanted, differing)

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
