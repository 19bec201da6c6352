"""The judged process: it holds the solution, and knows of the checks only the calls that it is asked for.

A part of the program that judges by values: standard library only, it runs inside the sandbox, forked from the judge
before that has read anything. Whatever the solution does to this process, all that it can send is an answer.
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
        Slate,
        change_process,
        make_error,
        tell_error,
    )
else:
    from plain_data import NotPlainError, Writer, read_call, write_value
    from protocol import OPEN_MEMORY, ClosedError, Link, Peer, change_process, make_error, tell_error

SOLUTION = "solution.py"
MAX_FRAMES = 16
MAX_LINE_CHARS = 200
MANY_DESCRIPTORS = 1 << 16


def serve(questions: int, answers: int, slate: Slate) -> NoReturn:
    """Become the judged process: answer questions until nobody asks any more."""
    _leave_the_judge(questions, answers)
    os.register_at_fork(after_in_child=slate.close)
    end = os._exit
    try:
        Judged(Link(questions, answers), slate).serve()
    except ClosedError:
        end(0)
    end(1)


def _leave_the_judge(questions: int, answers: int) -> None:
    """Keep nothing of the judge's but the two pipes, and no child of the solution's keeps these."""
    change_process(OPEN_MEMORY)  # as any process's is to itself; there is nothing in it yet
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    low, high = sorted((questions, answers))
    os.closerange(3, low)
    os.closerange(low + 1, high)
    os.closerange(high + 1, MANY_DESCRIPTORS)
    for descriptor in (low, high):
        os.register_at_fork(after_in_child=lambda descriptor=descriptor: os.close(descriptor))


class Judged(Peer):
    """Answers for the solution."""

    def __init__(self, link: Link, slate: Slate) -> None:
        super().__init__(link)
        self._slate = slate
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
        """Answer every question in turn. Raises ClosedError when there will be no more."""
        while True:
            self.take_turn()

    def take_turn(self) -> None:
        """Answer the next question. Raises ClosedError where there is none."""
        self._take_turn(*self.link.receive())

    def ask(self, *question: Tree) -> list[Tree]:
        """What the judge answers, which may ask something itself before it does."""
        self.link.send([self._token, "ask", *question])
        while True:
            token, act, *rest = self.link.receive()
            if act == "value":
                return list(rest)
            if act == "raised":
                kind, args, _, text = rest
                raise make_error(kind, args, text)
            self._take_turn(token, act, *rest)

    def answer(self, act: str, *rest: Tree) -> list[Tree]:
        """The answer to a question. Raises whatever the solution does."""
        return self._acts[act](*rest) if act in self._acts else super().answer(act, *rest)

    def find(self, tree: Tree) -> Any:
        """An object of ours again, or a function or iterator of the check's."""
        return self.found(tree, self._function)

    def _function(self, number: int, *_: str) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.call("call", number, (args, kwargs))

    def _take_turn(self, token: str, act: str, *rest: Tree) -> None:
        outer, self._token = self._token, token
        if act == "calls":
            self._take_calls(*rest)
        else:
            self._send((token,), self._answered(self.answer, act, *rest))
        self._token = outer

    def _take_calls(self, number: int, *given: Tree) -> None:
        """Call something again and again, until one gives no plain data: for an object, there may be questions."""
        function, known, last = self._ours[number], len(self._ours), len(given) - 1
        self._slate.begin()
        for place, tree in enumerate(given):
            try:
                args, kwargs = read_call(tree, self.find)
                text = write_value(function(*args, **kwargs), self.tell)
            except BaseException as error:  # noqa: BLE001  -- as below
                self._send((self._token, place), self._failure(error))
                return
            self._show_prints()
            if place == last or len(self._ours) != known or not self._slate.add(text):
                self.link.send_text(b'["%b",%d,"value",%b]' % (self._token.encode(), place, text))
                return

    def _answered(self, answer: Callable[..., list[Tree]], *rest: Any) -> list[Tree]:
        """What becomes of a question."""
        try:
            return ["value", *answer(*rest)]
        except BaseException as error:  # noqa: BLE001  -- SystemExit is an answer like any other
            return self._failure(error)

    def _failure(self, error: BaseException) -> list[Tree]:
        """The answer where there is no value."""
        if isinstance(error, NotPlainError):
            return ["failed", str(error)]
        missing = getattr(error, "name", None) if type(error) is ModuleNotFoundError else None
        return ["raised", *tell_error(error), self._traceback(error), str(missing or "")]

    def _show_prints(self) -> None:
        try:  # noqa: SIM105 - contextlib would cost each start 3 ms
            self._flush()
        except (ValueError, OSError):  # the solution has closed it
            pass

    def _send(self, head: tuple[Tree, ...], answer: list[Tree]) -> None:
        self._show_prints()
        try:
            self.link.send([*head, *answer])
        except NotPlainError as error:
            self.link.send([*head, "failed", str(error)])

    def _load(self, source: str, entry_point: str) -> list[Tree]:
        """Run the solution as a module: the names that it defines, and its entry point, None where there is none."""
        module = type(sys)("solution")
        sys.modules["solution"] = module
        sys.argv[:] = [SOLUTION]
        self._names, self._lines = vars(module), source.split("\n")
        exec(compile(source, SOLUTION, "exec", dont_inherit=True), self._names)  # noqa: S102  -- what this process is for
        names = [[name, _origin(value)] for name, value in self._names.items() if not name.startswith("__")]
        try:
            found = eval(entry_point, self._names)  # noqa: S307  -- the same; it may be `Solution().solve`
        except (NameError, AttributeError):
            return [names, None]
        return [names, self.tell_object(found)]

    def _name(self, name: str) -> list[Tree]:
        return [self.tell_object(self._names[name])]

    def _make(self, number: int, args: Tree, kwargs: Tree) -> list[Tree]:
        """Call something and keep what it returns, even if that is plain."""
        return self.run(self._ours[number], (args, kwargs), lambda _, result: self.tell_object(result))

    def _get(self, number: int, name: str) -> list[Tree]:
        return [self.plain(getattr(self._ours[number], name))]

    def _set(self, number: int, args: Tree, kwargs: Tree) -> list[Tree]:
        value = self._ours[number]
        return self.run(lambda name, attribute: setattr(value, name, attribute), (args, kwargs), Writer.tree)

    def _truth(self, number: int) -> list[Tree]:
        return [bool(self._ours[number])]

    def _traceback(self, error: BaseException) -> str:
        """The lines of the solution that it passed, the innermost last."""
        shown: list[str] = []
        step = error.__traceback__
        while step is not None:
            if step.tb_frame.f_code.co_filename == SOLUTION:
                number = step.tb_lineno or 0
                code = self._lines[number - 1].strip() if 0 < number <= len(self._lines) else ""
                shown.append(f"{SOLUTION}:{number}: {code[:MAX_LINE_CHARS]}")
            step = step.tb_next
        return "\n".join(shown if len(shown) <= MAX_FRAMES else [*shown[:4], "...", *shown[4 - MAX_FRAMES :]])


def _origin(value: Any) -> str:
    """The module that a value is, or comes from."""
    name = value.__name__ if type(value) is type(sys) else getattr(value, "__module__", None)
    return name if type(name) is str else ""
