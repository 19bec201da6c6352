"""Proxies in the tests for the solution: functions that ask the candidate's process, and objects that equal nothing.

PartProxy of the program that judges by values; standard library only. It runs inside the sandbox, in the judge.

A result is plain data, built anew here, or an `Opaque` that refers to an object in the candidate's process. An opaque
result can be called, tested for truth and passed back. Anything else that a test does with it fails the test, even if
the test catches the exception, since an object of the solution's could answer whatever suits it. Objects that a test
itself makes through a name that only the solution defines, such as the `Node` of its tree, have attributes and methods.
"""

from __future__ import annotations

import os
from _thread import RLock  # `threading` would cost each start 1 ms

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, TypeAlias

    from flyteplugins_codegen.judging.values.inside import compare, plain_data, protocol
    from flyteplugins_codegen.judging.values.inside.plain_data import Tree
    from flyteplugins_codegen.judging.values.inside.protocol import Given, SharedBuffer

    Fault: TypeAlias = tuple[str, str, str]  # as a Cause has it: kind, subject, message
else:
    import compare
    import plain_data
    import protocol

TOKEN_BYTES = 8
KILL, CPU_TIME_IS_UP = 9, 24  # SIGKILL, and SIGXCPU on x86 and Arm
PATIENCE_S = 0.1
RAISED_PARTS = 6
_FORGED = "untrusted_report"
FUNCTIONS = frozenset(
    ("function", "builtin_function_or_method", "method", "method_descriptor", "functools.partial")
) | {"operator.itemgetter", "operator.attrgetter", "operator.methodcaller", "functools._lru_cache_wrapper"}
OPERATIONS = (
    "eq ne lt le gt ge len length_hint iter next contains getitem setitem delitem reversed delattr neg pos abs invert "
    "add radd iadd sub rsub isub mul rmul imul matmul rmatmul truediv rtruediv floordiv rfloordiv mod rmod divmod "
    "rdivmod pow rpow lshift rlshift rshift rrshift and rand or ror xor rxor int float complex index round trunc floor "
    "ceil str repr format bytes fspath dir enter exit aenter aexit await aiter anext copy deepcopy reduce reduce_ex "
    "instancecheck subclasscheck"
)


class Refused(BaseException):
    """A test did something with an object of the solution's that only plain data allows."""


class Ended(BaseException):
    """No more questions can be asked of the candidate's process."""


class CallRecord:
    """A call of the solution and its result, for messages about failures.

    `given` holds the trees of the positional and keyword arguments, or the text of the arguments of a batched call.
    """

    def __init__(self, name: str, given: list[Tree] | bytes, *, is_import: bool) -> None:
        self.name, self.given, self.is_import = name, given, is_import
        self.result: Tree = None
        self.is_answered = False
        self.error: BaseException | None = None
        self.raised = self.text = self.traceback = self.missing = ""

    def record_exception(self, name: str, text: str, traceback: str, missing: str) -> None:
        """Record the exception that the candidate's process reports."""
        self.raised, self.text, self.traceback, self.missing = str(name), str(text), str(traceback), str(missing)


class JudgePeer(protocol.Peer):
    """Asks the candidate's process.

    `fault` fails the current case, and `ended` this and all later ones, even if a test catches the exception.
    """

    exactly = True

    def __init__(self, link: protocol.Link, buffer: SharedBuffer, child: int) -> None:
        super().__init__(link)
        self.buffer = buffer
        self.calls = 0
        self.last: CallRecord | None = None
        self.fault: Fault | None = None
        self.ended: Fault | None = None
        self._child = child
        self._used_s: float | None = None
        self._lock = RLock()
        self._names: dict[int, str] = {}
        self._truths: dict[int, bool] = {}

    def begin_case(self) -> None:
        """Forget the fault of the case before; `ended` stays."""
        self.fault = self.last = None

    def load(self, solution: str, entry_point: str) -> tuple[dict[str, str], Callable[..., Any] | None]:
        """Execute the solution: its names with their origins, and a function that calls its entry point, or None."""
        answer = self.ask("load", solution, entry_point)
        names, tree = self.unpack(lambda: tuple(answer[:2]))
        origins = self.unpack(lambda: {str(name): str(origin) for name, origin in names})
        if tree is None or not callable(self.unpack(lambda: self.resolve(tree))):
            return origins, None
        return origins, self._stub(self.unpack(lambda: int(tree[1])), entry_point)

    def _stub(self, number: int, name: str) -> Callable[..., Any]:
        def candidate(*args: Any, **kwargs: Any) -> Any:
            return self.call("call", number, (args, kwargs))

        candidate.__name__ = candidate.__qualname__ = name
        self._names[number] = name
        self._theirs[id(candidate)] = (number, candidate)
        return candidate

    def number_of(self, stub: Callable[..., Any]) -> int:
        """The number by which the candidate's process knows the function behind a stub."""
        return self._theirs[id(stub)][0]

    def maker(self, name: str) -> Any:
        """A proxy for another name of the solution's."""
        tree = self.ask("name", name)[0]
        self._names[self.unpack(lambda: int(tree[1]))] = name
        return self.unpack(lambda: self.resolve_object(tree, lambda number, *_: MakerProxy(self, number, name)))

    def ask(self, *question: Tree) -> list[Tree]:
        """The answer of the candidate's process. Raises Ended, Refused, and the solution's exceptions."""
        if self.ended:
            raise Ended
        token = os.urandom(TOKEN_BYTES).hex()
        act, number, *given = question
        record = CallRecord(self._names.get(number, "a function of the solution's"), given, is_import=act == "load")
        self.last = record if act in ("load", "call", "make") else self.last
        try:
            with self._lock:
                self.link.send([token, *question])
                kind, *rest = self._receive_answer(token)
        except protocol.ClosedError:
            raise self.end_exchange(*self._describe_death()) from None
        except plain_data.MalformedError as error:
            raise self._end_malformed(error) from None
        self.calls += act == "call"
        return self.unpack_answer(record, kind, rest)

    def record_call(self, number: int, given: bytes) -> CallRecord:
        """Record the batched call that is answered next. Raises Ended."""
        if self.ended:
            raise Ended
        self.last = CallRecord(self._names[number], given, is_import=False)
        self.calls += 1
        return self.last

    def send_calls(self, number: int, given: list[bytes]) -> bytes:
        """Send the arguments of many calls; the token of the answer. Raises Ended; Refused if they are too long."""
        if sum(map(len, given)) > plain_data.MAX_BYTES:
            raise self.fail_case("test_failed", "the check passes too much")
        token = os.urandom(TOKEN_BYTES).hex().encode()
        self.buffer.wipe()
        try:
            self.link.send_text(b'["%b","calls",%d,%b]' % (token, number, b",".join(given)))
        except protocol.ClosedError:
            raise self.end_exchange(*self._describe_death()) from None
        return token

    def receive_results(self, within_s: float, room: int) -> tuple[list[bytes], bytes]:
        """The lines written to the buffer since the last call, at most `room`, and the final message or b"".

        The message answers the last call; it is waited for up to `within_s`. Raises Ended.
        """
        try:
            message = self.link.receive_text() if self.link.is_heard(within_s) else b""
            if message:
                self.link.require_silence()
            lines = self.buffer.read_new()
        except protocol.ClosedError:
            message, lines = b"", self.buffer.read_new()
            if not lines:
                raise self.end_exchange(*self._describe_death()) from None
        except plain_data.MalformedError as error:
            raise self._end_malformed(error) from None
        if len(lines) > room:
            raise self._end_malformed(plain_data.MalformedError("it wrote more than it was asked"))
        return lines, message

    def read_line(self, line: bytes) -> tuple[str, list[Tree]]:
        """The kind and the content of an answer from the buffer. Raises Ended."""
        try:
            return "value", [plain_data.read_text(line)]
        except plain_data.MalformedError as error:
            raise self._end_malformed(error) from None

    def read_answer(self, answer: bytes, token: str, position: int) -> tuple[str, list[Tree]]:
        """The kind and the content of the message that answers the last call. Raises Ended."""
        try:
            match plain_data.read_text(answer):
                case [received, number, kind, *rest] if [received, number] == [token, position]:
                    return kind, rest
        except plain_data.MalformedError as error:
            raise self._end_malformed(error) from None
        raise self._end_malformed(plain_data.MalformedError("it answered what it was not asked"))

    def _end_malformed(self, error: plain_data.MalformedError) -> Ended:
        return self.end_exchange(_FORGED, f"the solution's process did not just answer: {error}")

    def _receive_answer(self, token: str) -> list[Tree]:
        while True:
            message = self.link.receive()
            if type(message) is not list or len(message) < 2 or message[0] != token:  # noqa: PLR2004 - token, kind
                raise plain_data.MalformedError("it answered what it was not asked")
            if message[1] != "ask":
                return message[1:]
            self.link.send([token, *self._answer_back(message[2:])])

    def _answer_back(self, question: list[Tree]) -> list[Tree]:
        try:
            return ["value", *self.answer(*question)]
        except plain_data.NotPlainError as error:
            # Never `not_by_values`: the solution could cause that by the arguments that it passes.
            raise self.fail_case("test_failed", f"a function of the check's gives no plain data: {error}") from None
        except Exception as error:  # noqa: BLE001 - raised by a function of the tests: the solution may handle it
            return ["raised", *protocol.error_parts(error)]

    def unpack_answer(self, record: CallRecord, kind: str, rest: list[Tree]) -> list[Tree]:
        """The content of an answer. Raises the solution's exception, Refused, and Ended."""
        record.is_answered = True
        if kind == "value" and rest:
            record.result = rest[0]
            return rest
        if kind == "raised" and len(rest) == RAISED_PARTS:
            raise self._raised(record, *rest)
        if kind == "failed":
            raise self.fail_case("test_failed", f"its result cannot be told as plain data: {rest}")
        raise self.end_exchange(_FORGED, "the solution's process answered in no form of an answer")

    def _raised(self, record: CallRecord, kind: str, args: Tree, *texts: str) -> BaseException:
        error = self.unpack(lambda: protocol.make_exception(kind, args, texts[1]))
        record.record_exception(*texts)
        if not isinstance(error, Exception):  # such as SystemExit, which no test expects
            return self.fail_case("exception", f"it raised {record.raised}: {record.text}")
        record.error = error
        return error

    def call(self, act: str, number: int, given: Given, resolve: Callable[[Tree], Any] | None = None) -> Any:
        """Have the candidate's process call its object."""
        compare.refuse_emptiness()
        try:
            return super().call(act, number, given, resolve)
        except plain_data.TooMuchError as error:  # the solution's answers may have made it so large
            raise self.fail_case("test_failed", f"the check passes too much: {error}") from None
        except plain_data.NotPlainError as error:
            raise self.fail_case("not_by_values", f"the check passes what is no plain data: {error}") from None

    def unpack(self, read: Callable[[], Any]) -> Any:
        """The content of an answer, as `read` makes it. Raises Ended if it is malformed."""
        try:
            return read()
        except Exception as error:  # noqa: BLE001 - malformed data fails in many ways
            raise self.end_exchange(_FORGED, f"the solution's process sent no plain data: {error}") from None

    def refer(self, value: Any) -> Tree:
        """The tree for an object of the solution's, or a function or iterator of the tests. Raises NotPlainError."""
        kind = plain_data.type_name(type(value))
        if id(value) in self._theirs or kind in FUNCTIONS or _is_only_an_iterator(value, kind):
            return super().refer(value)
        raise plain_data.NotPlainError(f"an object of class {kind}")

    def resolve(self, tree: Tree) -> Any:
        """A proxy for an object that the entry point returned."""
        return self.resolve_object(tree, self._opaque)

    def resolve_part(self, tree: Tree) -> Any:
        """A proxy for an object reached through one that the test made."""
        return self.resolve_object(tree, lambda number, _, kind: PartProxy(self, number, kind))

    def resolve_made(self, tree: Tree) -> Any:
        """A proxy for an object that the test made."""
        return self.resolve_object(tree, lambda number, _, kind: MadeProxy(self, number, kind))

    def _opaque(self, number: int, role: str, kind: str) -> Opaque:
        return (OpaqueFunction if role == "function" else Opaque)(self, number, kind)

    def truth(self, number: int) -> bool:
        """The truth value of an object, asked for once."""
        if number not in self._truths:
            self._truths[number] = self.ask("truth", number)[0] is True
        return self._truths[number]

    def fail_case(self, kind: str, message: str) -> Refused:
        """Fail the current case for good, and return the exception to raise."""
        self.fault = self.fault or (kind, "", message)
        return Refused()

    def end_exchange(self, kind: str, message: str) -> Ended:
        """Fail the current case and all later ones for good, and return the exception to raise."""
        self.ended = (kind, "", message)
        return Ended()

    def end(self) -> float:
        """Kill the candidate's process; the processor time of it and of its children that it waited for."""
        if self._used_s is None:
            os.kill(self._child, KILL)
            _, _, usage = os.wait4(self._child, 0)
            self._used_s = usage.ru_utime + usage.ru_stime
        return self._used_s

    def _describe_death(self) -> tuple[str, str]:
        """The kind and message of a fault: how the candidate's process ended, or that it only closed its pipe."""
        from time import monotonic, sleep

        deadline = monotonic() + PATIENCE_S
        while monotonic() < deadline:
            ended, status, usage = os.wait4(self._child, os.WNOHANG)
            if ended:
                self._used_s = usage.ru_utime + usage.ru_stime
                code = os.waitstatus_to_exitcode(status)
                if code == -CPU_TIME_IS_UP:
                    return "timed_out", "it used up its CPU time"
                how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
                return "exception", f"its process {how}"
            sleep(0.001)
        return _FORGED, "its process closed the channel that it answers on"


def _is_only_an_iterator(value: Any, kind: str) -> bool:
    """Whether it is an iterator and nothing more; a file, for example, is more."""
    is_known = "." not in kind or kind.startswith("itertools.") or isinstance(value, protocol.RemoteIterator)
    return is_known and protocol.role_of(value) in ("iterator", "generator")


class Opaque:
    """A proxy for an object of the solution's; every operation but calling and truth fails the case."""

    __slots__ = ("_target",)
    __hash__ = object.__hash__
    _fault = "test_failed"

    def __init__(self, judge: JudgePeer, number: int, kind: str) -> None:
        object.__setattr__(self, "_target", (judge, number, str(kind)))

    def __bool__(self) -> bool:
        judge, number, _ = self._target
        return bool(judge.truth(number))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # an optional protocol: the object may not have it
            raise AttributeError(name)
        return self._attribute(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._refuse(name, value)

    def _attribute(self, name: str) -> Any:
        return self._refuse(name)

    def _refuse(self, *_: Any) -> NoReturn:
        """Fail the case: the test does something with the object that only plain data allows."""
        judge, _, kind = self._target
        raise judge.fail_case(
            self._fault, f"an object of the solution's class {kind} is no plain data, and equals nothing"
        )


for _operation in OPERATIONS.split():
    setattr(Opaque, f"__{_operation}__", Opaque._refuse)  # noqa: SLF001 - its own


class OpaqueFunction(Opaque):
    """A proxy for a function that a call returned."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Have the function called."""
        judge, number, _ = self._target
        return judge.call("call", number, (args, kwargs))


class PartProxy(Opaque):
    """A proxy for an attribute or a method's result of an object that the test made; it has attributes and methods."""

    __slots__ = ()

    def _attribute(self, name: str) -> Any:
        judge, number, _ = self._target
        answer = judge.ask("get", number, name)
        return judge.unpack(lambda: plain_data.Reader(judge.resolve_part, []).value(answer[0]))

    def __setattr__(self, name: str, value: Any) -> None:
        judge, number, _ = self._target
        judge.call("set", number, ((name, value), {}))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Have it called, as a method or a class."""
        judge, number, _ = self._target
        return judge.call("call", number, (args, kwargs), judge.resolve_part)


class MadeProxy(PartProxy):
    """A proxy for an object that the test made. A test that judges by it cannot be judged by values."""

    __slots__ = ()
    _fault = "not_by_values"


class MakerProxy(MadeProxy):
    """A proxy for a name of the solution's; what a call of it returns stays in the candidate's process."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Have it called, and keep the result there."""
        judge, number, _ = self._target
        return judge.call("make", number, (args, kwargs), judge.resolve_made)
