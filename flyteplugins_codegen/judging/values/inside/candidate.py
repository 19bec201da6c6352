"""The candidate's process: it executes the solution, and knows of the tests only the calls that it is asked to make.

Part of the program that judges by values; standard library only. It is forked from the judge inside the sandbox, before
the judge has read anything. Whatever the solution does to this process, all it can send is an answer.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from flyteplugins_codegen.judging.values.inside.plain_data import (
        NotPlainError,
        Tree,
        Writer,
        read_call,
        write_value,
    )
    from flyteplugins_codegen.judging.values.inside.protocol import (
        OPEN_MEMORY,
        ClosedError,
        Link,
        Peer,
        SharedBuffer,
        change_process,
        error_parts,
        make_exception,
    )
else:
    from plain_data import NotPlainError, Writer, read_call, write_value
    from protocol import OPEN_MEMORY, ClosedError, Link, Peer, change_process, error_parts, make_exception

SOLUTION = "solution.py"
MAX_FRAMES = 16
MAX_LINE_CHARS = 200
MANY_DESCRIPTORS = 1 << 16


def serve(questions: int, answers: int, buffer: SharedBuffer) -> NoReturn:
    """Become the candidate's process: answer questions until the judge closes its end."""
    _leave_the_judge(questions, answers)
    os.register_at_fork(after_in_child=buffer.close)
    end = os._exit
    try:
        CandidatePeer(Link(questions, answers), buffer).serve()
    except ClosedError:
        end(0)
    end(1)


def _leave_the_judge(questions: int, answers: int) -> None:
    """Close every descriptor of the judge's but the two pipes, which no child of the solution inherits."""
    change_process(OPEN_MEMORY)  # as for any ordinary process; it holds nothing yet that must be hidden
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    low, high = sorted((questions, answers))
    os.closerange(3, low)
    os.closerange(low + 1, high)
    os.closerange(high + 1, MANY_DESCRIPTORS)
    for descriptor in (low, high):
        os.register_at_fork(after_in_child=lambda descriptor=descriptor: os.close(descriptor))


class CandidatePeer(Peer):
    """Answers questions by the solution's objects."""

    def __init__(self, link: Link, buffer: SharedBuffer) -> None:
        super().__init__(link)
        self._buffer = buffer
        self._names: dict[str, Any] = {}
        self._lines: list[str] = []
        self._token = ""
        self._flush = sys.stdout.flush
        self._acts: dict[str, Callable[..., list[Tree]]] = {
            "load": self._load,
            "name": self._name,
            "make": self._make,
            "get": self._get,
            "set": self._set,
            "truth": self._truth,
        }

    def serve(self) -> NoReturn:
        """Answer every question. Raises ClosedError when there will be no more."""
        while True:
            self.take_turn()

    def take_turn(self) -> None:
        """Answer the next question. Raises ClosedError if there is none."""
        self._take_turn(*self.link.receive())

    def ask(self, *question: Tree) -> list[Tree]:
        """The answer of the judge, which may ask questions of its own before it."""
        self.link.send([self._token, "ask", *question])
        while True:
            token, act, *rest = self.link.receive()
            if act == "value":
                return list(rest)
            if act == "raised":
                kind, args, _, text = rest
                raise make_exception(kind, args, text)
            self._take_turn(token, act, *rest)

    def answer(self, act: str, *rest: Tree) -> list[Tree]:
        """The answer to a question. Raises whatever the solution raises."""
        return self._acts[act](*rest) if act in self._acts else super().answer(act, *rest)

    def resolve(self, tree: Tree) -> Any:
        """An object of ours, or a proxy for a function or iterator of the tests."""
        return self.resolve_object(tree, self._function)

    def _function(self, number: int, *_: str) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.call("call", number, (args, kwargs))

    def _take_turn(self, token: str, act: str, *rest: Tree) -> None:
        outer, self._token = self._token, token
        if act == "calls":
            self._take_calls(*rest)
        else:
            self._send((token,), self._answered(self.answer, act, *rest))
        self._token = outer

    def _take_calls(self, number: int, *calls: Tree) -> None:
        """Make many calls; stop after one that gives an object, since the judge may have questions about it."""
        function, known, last = self._ours[number], len(self._ours), len(calls) - 1
        self._buffer.begin()
        for position, tree in enumerate(calls):
            try:
                args, kwargs = read_call(tree, self.resolve)
                text = write_value(function(*args, **kwargs), self.refer)
            except BaseException as error:  # noqa: BLE001  -- SystemExit is an answer like any other
                self._send((self._token, position), self._failure(error))
                return
            self._show_prints()
            if position == last or len(self._ours) != known or not self._buffer.add(text):
                self.link.send_text(b'["%b",%d,"value",%b]' % (self._token.encode(), position, text))
                return

    def _answered(self, answer: Callable[..., list[Tree]], *rest: Any) -> list[Tree]:
        """The answer as a message: a value, or the exception that was raised."""
        try:
            return ["value", *answer(*rest)]
        except BaseException as error:  # noqa: BLE001  -- SystemExit is an answer like any other
            return self._failure(error)

    def _failure(self, error: BaseException) -> list[Tree]:
        """The answer if there is no value."""
        if isinstance(error, NotPlainError):
            return ["failed", str(error)]
        missing = getattr(error, "name", None) if type(error) is ModuleNotFoundError else None
        return ["raised", *error_parts(error), self._traceback(error), str(missing or "")]

    def _show_prints(self) -> None:
        try:  # noqa: SIM105 - contextlib would cost each start 3 ms
            self._flush()
        except (ValueError, OSError):  # the solution has closed stdout
            pass

    def _send(self, head: tuple[Tree, ...], answer: list[Tree]) -> None:
        self._show_prints()
        try:
            self.link.send([*head, *answer])
        except NotPlainError as error:
            self.link.send([*head, "failed", str(error)])

    def _load(self, source: str, entry_point: str) -> list[Tree]:
        """Execute the solution as a module: the names that it defines, with origins, and its entry point or None."""
        module = type(sys)("solution")
        sys.modules["solution"] = module
        sys.argv[:] = [SOLUTION]
        self._names, self._lines = vars(module), source.split("\n")
        exec(compile(source, SOLUTION, "exec", dont_inherit=True), self._names)  # noqa: S102  -- this process is there to execute it
        names = [[name, _origin(value)] for name, value in self._names.items() if not name.startswith("__")]
        try:
            function = eval(entry_point, self._names)  # noqa: S307  -- the same; it may be `Solution().solve`
        except (NameError, AttributeError):
            return [names, None]
        return [names, self.refer_to_own(function)]

    def _name(self, name: str) -> list[Tree]:
        return [self.refer_to_own(self._names[name])]

    def _make(self, number: int, args: Tree, kwargs: Tree) -> list[Tree]:
        """Call an object and keep its result here, even if that is plain data."""
        return self.run(self._ours[number], (args, kwargs), lambda _, result: self.refer_to_own(result))

    def _get(self, number: int, name: str) -> list[Tree]:
        return [self.plain(getattr(self._ours[number], name))]

    def _set(self, number: int, args: Tree, kwargs: Tree) -> list[Tree]:
        value = self._ours[number]
        return self.run(lambda name, attribute: setattr(value, name, attribute), (args, kwargs), Writer.tree)

    def _truth(self, number: int) -> list[Tree]:
        return [bool(self._ours[number])]

    def _traceback(self, error: BaseException) -> str:
        """The lines of the solution in the traceback, the innermost last."""
        lines: list[str] = []
        step = error.__traceback__
        while step is not None:
            if step.tb_frame.f_code.co_filename == SOLUTION:
                number = step.tb_lineno or 0
                code = self._lines[number - 1].strip() if 0 < number <= len(self._lines) else ""
                lines.append(f"{SOLUTION}:{number}: {code[:MAX_LINE_CHARS]}")
            step = step.tb_next
        return "\n".join(lines if len(lines) <= MAX_FRAMES else [*lines[:4], "...", *lines[4 - MAX_FRAMES :]])


def _origin(value: Any) -> str:
    """The name of the module that a value is, or was defined in."""
    name = value.__name__ if type(value) is type(sys) else getattr(value, "__module__", None)
    return name if type(name) is str else ""
