"""What stands in the checks for the solution: functions that ask the judged process, and objects that equal nothing.

A part of the program that judges by values: standard library only, it runs inside the sandbox, in the judge.

What comes back is plain data, made anew here, or an `Opaque` for an object that stays where it is. An opaque result can
be called, tested for truth and handed back; anything else that a check does with it fails the check, whatever that
makes of exceptions, since an object of the solution's could say whatever suits it. What a check itself makes through a
name that only the solution defines, such as the `Node` of its tree, has attributes and methods too.
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
    from flyteplugins_codegen.judging.values.inside.protocol import Given, Slate

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
    """A check asked of an object of the solution's what only plain data can answer."""


class Ended(BaseException):
    """The judged process can be asked no more."""


class Asked:
    """A call that the judged process was asked for, and what became of it.

    `given` are the trees of the arguments by position and by name, or the text of one that was told with others.
    """

    def __init__(self, name: str, given: list[Tree] | bytes, *, is_import: bool) -> None:
        self.name, self.given, self.is_import = name, given, is_import
        self.result: Tree = None
        self.is_answered = False
        self.error: BaseException | None = None
        self.raised = self.text = self.traceback = self.missing = ""

    def note_raised(self, name: str, text: str, traceback: str, missing: str) -> None:
        """Take down what the judged process says of an exception."""
        self.raised, self.text, self.traceback, self.missing = str(name), str(text), str(traceback), str(missing)


class Judge(protocol.Peer):
    """Asks the judged process. `fault` and `ended` say what fails the present case, or all, whatever the checks do."""

    exactly = True

    def __init__(self, link: protocol.Link, slate: Slate, child: int) -> None:
        super().__init__(link)
        self.slate = slate
        self.calls = 0
        self.last: Asked | None = None
        self.fault: Fault | None = None
        self.ended: Fault | None = None
        self._child = child
        self._used_s: float | None = None
        self._turn = RLock()
        self._names: dict[int, str] = {}
        self._truths: dict[int, bool] = {}

    def begin_case(self) -> None:
        """Hold nothing against the case that follows, unless nothing more can be asked."""
        self.fault = self.last = None

    def load(self, solution: str, entry_point: str) -> tuple[dict[str, str], Callable[..., Any] | None]:
        """Run the solution: the names that it has and where each is from, and its entry point's stub if it has one."""
        answer = self.ask("load", solution, entry_point)
        names, tree = self.take(lambda: tuple(answer[:2]))
        origins = self.take(lambda: {str(name): str(origin) for name, origin in names})
        if tree is None or not callable(self.take(lambda: self.find(tree))):
            return origins, None
        return origins, self._stub(self.take(lambda: int(tree[1])), entry_point)

    def _stub(self, number: int, name: str) -> Callable[..., Any]:
        def candidate(*args: Any, **kwargs: Any) -> Any:
            return self.call("call", number, (args, kwargs))

        candidate.__name__ = candidate.__qualname__ = name
        self._names[number] = name
        self._theirs[id(candidate)] = (number, candidate)
        return candidate

    def number_of(self, stub: Callable[..., Any]) -> int:
        """By what number the judged process knows what this one stands for."""
        return self._theirs[id(stub)][0]

    def maker(self, name: str) -> Any:
        """What stands for another name of the solution's."""
        tree = self.ask("name", name)[0]
        self._names[self.take(lambda: int(tree[1]))] = name
        return self.take(lambda: self.found(tree, lambda number, *_: Maker(self, number, name)))

    def ask(self, *question: Tree) -> list[Tree]:
        """The answer of the judged process. Raises Ended, Refused, and what the solution raised."""
        if self.ended:
            raise Ended
        token = os.urandom(TOKEN_BYTES).hex()
        act, number, *given = question
        asked = Asked(self._names.get(number, "a function of the solution's"), given, is_import=act == "load")
        self.last = asked if act in ("load", "call", "make") else self.last
        try:
            with self._turn:
                self.link.send([token, *question])
                kind, *rest = self._answer_to(token)
        except protocol.ClosedError:
            raise self.over(*self._death()) from None
        except plain_data.MalformedError as error:
            raise self._unanswered(error) from None
        self.calls += act == "call"
        return self.taken(asked, kind, rest)

    def note_call(self, number: int, given: bytes) -> Asked:
        """Take down that the next answer is that to a call with these arguments. Raises Ended."""
        if self.ended:
            raise Ended
        self.last = Asked(self._names[number], given, is_import=False)
        self.calls += 1
        return self.last

    def tell_calls(self, number: int, given: list[bytes]) -> bytes:
        """Tell the arguments of calls; the token of their answers. Raises Ended, and Refused for what is too long."""
        if sum(map(len, given)) > plain_data.MAX_BYTES:
            raise self.refused("test_failed", "the check passes too much")
        token = os.urandom(TOKEN_BYTES).hex().encode()
        self.slate.wipe()
        try:
            self.link.send_text(b'["%b","calls",%d,%b]' % (token, number, b",".join(given)))
        except protocol.ClosedError:
            raise self.over(*self._death()) from None
        return token

    def hear_of_calls(self, within_s: float, room: int) -> tuple[list[bytes], bytes]:
        """What has been written since, up to `room` lines, and the message that answers the last, if it comes in time.

        Raises Ended.
        """
        try:
            message = self.link.receive_text() if self.link.is_heard(within_s) else b""
            if message:
                self.link.require_silence()
            lines = self.slate.take()
        except protocol.ClosedError:
            message, lines = b"", self.slate.take()
            if not lines:
                raise self.over(*self._death()) from None
        except plain_data.MalformedError as error:
            raise self._unanswered(error) from None
        if len(lines) > room:
            raise self._unanswered(plain_data.MalformedError("it wrote more than it was asked"))
        return lines, message

    def read_line(self, line: bytes) -> tuple[str, list[Tree]]:
        """An answer that was written down: its kind, and what it holds. Raises Ended."""
        try:
            return "value", [plain_data.read_text(line)]
        except plain_data.MalformedError as error:
            raise self._unanswered(error) from None

    def read_answer(self, answer: bytes, token: str, place: int) -> tuple[str, list[Tree]]:
        """Of the message that answers the last: its kind, and what it holds. Raises Ended."""
        try:
            match plain_data.read_text(answer):
                case [told, number, kind, *rest] if [told, number] == [token, place]:
                    return kind, rest
        except plain_data.MalformedError as error:
            raise self._unanswered(error) from None
        raise self._unanswered(plain_data.MalformedError("it answered what it was not asked"))

    def _unanswered(self, error: plain_data.MalformedError) -> Ended:
        return self.over(_FORGED, f"the solution's process did not just answer: {error}")

    def _answer_to(self, token: str) -> list[Tree]:
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
            # Never `not_by_values`, which the solution could bring about by what it calls the function with.
            raise self.refused("test_failed", f"a function of the check's gives no plain data: {error}") from None
        except Exception as error:  # noqa: BLE001 - a function of the check's raised it: the solution's to handle
            return ["raised", *protocol.tell_error(error)]

    def taken(self, asked: Asked, kind: str, rest: list[Tree]) -> list[Tree]:
        """What an answer brought. Raises what the solution raised, Refused, and Ended."""
        asked.is_answered = True
        if kind == "value" and rest:
            asked.result = rest[0]
            return rest
        if kind == "raised" and len(rest) == RAISED_PARTS:
            raise self._raised(asked, *rest)
        if kind == "failed":
            raise self.refused("test_failed", f"its result cannot be told as plain data: {rest}")
        raise self.over(_FORGED, "the solution's process answered in no form of an answer")

    def _raised(self, asked: Asked, kind: str, args: Tree, *told: str) -> BaseException:
        error = self.take(lambda: protocol.make_error(kind, args, told[1]))
        asked.note_raised(*told)
        if not isinstance(error, Exception):  # SystemExit and the like, which no check expects
            return self.refused("exception", f"it raised {asked.raised}: {asked.text}")
        asked.error = error
        return error

    def call(self, act: str, number: int, given: Given, find: Callable[[Tree], Any] | None = None) -> Any:
        """Have the judged process call its object."""
        compare.refuse_emptiness()
        try:
            return super().call(act, number, given, find)
        except plain_data.TooMuchError as error:  # it may have been made of the solution's answers
            raise self.refused("test_failed", f"the check passes too much: {error}") from None
        except plain_data.NotPlainError as error:
            raise self.refused("not_by_values", f"the check passes what is no plain data: {error}") from None

    def take(self, read: Callable[[], Any]) -> Any:
        """What an answer holds; the end of the exchange where that is no plain data."""
        try:
            return read()
        except Exception as error:  # noqa: BLE001 - whatever it is that was sent
            raise self.over(_FORGED, f"the solution's process sent no plain data: {error}") from None

    def tell(self, value: Any) -> Tree:
        """The solution's own, or a function or an iterator of the check's. Raises NotPlainError."""
        kind = plain_data.type_name(type(value))
        if id(value) in self._theirs or kind in FUNCTIONS or _is_only_an_iterator(value, kind):
            return super().tell(value)
        raise plain_data.NotPlainError(f"an object of class {kind}")

    def find(self, tree: Tree) -> Any:
        """What stands for an object that the entry point returned."""
        return self.found(tree, self._opaque)

    def find_part(self, tree: Tree) -> Any:
        """What stands for an object that one of the check's own brought."""
        return self.found(tree, lambda number, _, kind: Part(self, number, kind))

    def find_made(self, tree: Tree) -> Any:
        """What stands for an object that the check made."""
        return self.found(tree, lambda number, _, kind: Made(self, number, kind))

    def _opaque(self, number: int, role: str, kind: str) -> Opaque:
        return (OpaqueFunction if role == "function" else Opaque)(self, number, kind)

    def truth(self, number: int) -> bool:
        """What an object says it is, once and for all."""
        if number not in self._truths:
            self._truths[number] = self.ask("truth", number)[0] is True
        return self._truths[number]

    def refused(self, kind: str, message: str) -> Refused:
        """Fail the present case, whatever becomes of the exception, which is to be raised."""
        self.fault = self.fault or (kind, "", message)
        return Refused()

    def over(self, kind: str, message: str) -> Ended:
        """Fail the present case and all that follow, whatever becomes of the exception, which is to be raised."""
        self.ended = (kind, "", message)
        return Ended()

    def end(self) -> float:
        """End the judged process: the processor time that it used, with what it started and waited for."""
        if self._used_s is None:
            os.kill(self._child, KILL)
            _, _, usage = os.wait4(self._child, 0)
            self._used_s = usage.ru_utime + usage.ru_stime
        return self._used_s

    def _death(self) -> tuple[str, str]:
        """How the judged process ended, or that it did not: the kind of a fault, and its message."""
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
    """Whether there is nothing more to it, as there is to a file."""
    is_known = "." not in kind or kind.startswith("itertools.") or isinstance(value, protocol.RemoteIterator)
    return is_known and protocol.role_of(value) in ("iterator", "generator")


class Opaque:
    """Stands for an object of the solution's."""

    __slots__ = ("_stand_in",)
    __hash__ = object.__hash__
    _fault = "test_failed"

    def __init__(self, judge: Judge, number: int, kind: str) -> None:
        object.__setattr__(self, "_stand_in", (judge, number, str(kind)))

    def __bool__(self) -> bool:
        judge, number, _ = self._stand_in
        return bool(judge.truth(number))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # a protocol that an object need not follow
            raise AttributeError(name)
        return self._attribute(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._refuse(name, value)

    def _attribute(self, name: str) -> Any:
        return self._refuse(name)

    def _refuse(self, *_: Any) -> NoReturn:
        """Fail the case: it does more with the object than it can."""
        judge, _, kind = self._stand_in
        raise judge.refused(
            self._fault, f"an object of the solution's class {kind} is no plain data, and equals nothing"
        )


for _operation in OPERATIONS.split():
    setattr(Opaque, f"__{_operation}__", Opaque._refuse)  # noqa: SLF001 - its own


class OpaqueFunction(Opaque):
    """Stands for a function that a call returned."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Have it called."""
        judge, number, _ = self._stand_in
        return judge.call("call", number, (args, kwargs))


class Part(Opaque):
    """Stands for an attribute, or a method's result, of what the check made: it has attributes and methods too."""

    __slots__ = ()

    def _attribute(self, name: str) -> Any:
        judge, number, _ = self._stand_in
        answer = judge.ask("get", number, name)
        return judge.take(lambda: plain_data.Reader(judge.find_part, []).value(answer[0]))

    def __setattr__(self, name: str, value: Any) -> None:
        judge, number, _ = self._stand_in
        judge.call("set", number, ((name, value), {}))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Have it called, as a method or as a class is."""
        judge, number, _ = self._stand_in
        return judge.call("call", number, (args, kwargs), judge.find_part)


class Made(Part):
    """Stands for what the check made: a check that judges by it cannot be judged by values."""

    __slots__ = ()
    _fault = "not_by_values"


class Maker(Made):
    """Stands for a name of the solution's: what it returns is kept, and not looked at."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Have it called, and its result kept."""
        judge, number, _ = self._stand_in
        return judge.call("make", number, (args, kwargs), judge.find_made)
