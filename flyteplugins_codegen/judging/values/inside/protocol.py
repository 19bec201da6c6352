"""What the judge and the judged process say to each other: questions and answers as plain data over two pipes.

A part of the program that judges by values: standard library only, it runs inside the sandbox, in both processes.

The judge asks, one question at a time, `[token, act, ...]`; the judged process answers `[token, "value", ...]` or
`[token, "raised", ...]`. Before it answers it may ask back, `[token, "ask", act, ...]`, for functions and iterators of
the check's that it was given, and is answered in the same way. What is no plain data stays where it is and is told by
a number: `["object", number, role, class]` by its owner, `["yours", number]` by the other side.

One question asks for more than one answer: `[token, "calls", number, ...]` holds the arguments of many calls. What they
give is written on a slate, up to the one that is answered by `[token, place, "value", ...]`; see `calls.py`.
"""

from __future__ import annotations

import _ctypes  # `ctypes` would cost each start 2 ms
import os
import sys
from itertools import islice
from mmap import mmap
from select import select

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn, TypeAlias

    from flyteplugins_codegen.judging.values.inside import plain_data
    from flyteplugins_codegen.judging.values.inside.plain_data import Tree

    Given: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]  # the arguments of a call
    from typing import Any
else:
    import plain_data

CHUNK_BYTES = 65_536
LENGTH_BYTES = 4
HEAD_BYTES = 256  # at most, of what stands before the text of a value
MOST_ITEMS = 256
MAX_TEXT_CHARS = 2_000


class ClosedError(Exception):
    """The other side is gone."""


class Link:
    """Messages over two pipes, each after its size; there is never more than one under way."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._read, self._write = os.read, os.write  # kept, whatever the solution makes of `os`
        self._waiting = bytearray()  # what has been read, and belongs to no message yet

    def send(self, message: Tree) -> None:
        """Write a message. Raises ClosedError, and TooMuchError for one that is too long."""
        self.send_text(plain_data.write_text(message))

    def send_text(self, text: bytes) -> None:
        """Write the text of a message. Raises ClosedError."""
        data = len(text).to_bytes(LENGTH_BYTES, "big") + text
        try:
            written = self._write(self._writing, data)
            while written < len(data):
                written += self._write(self._writing, memoryview(data)[written:])
        except BrokenPipeError:
            raise ClosedError from None

    def receive(self) -> Tree:
        """Read a message. Raises ClosedError, and MalformedError for anything but just one."""
        text = self.receive_text()
        self.require_silence()
        return plain_data.read_text(text)

    def receive_text(self) -> bytes:
        """Read the text of a message that others may follow. Raises ClosedError, and MalformedError for a long one."""
        waiting = self._waiting
        while len(waiting) < (size := _announced(waiting)):
            if size > LENGTH_BYTES + plain_data.MAX_BYTES + HEAD_BYTES:
                raise plain_data.MalformedError(f"a message of {size} bytes")
            chunk = self._read(self._reading, CHUNK_BYTES)
            if not chunk:
                raise ClosedError
            waiting += chunk
        text = bytes(waiting[LENGTH_BYTES:size])
        del waiting[:size]
        return text

    def is_heard(self, within_s: float) -> bool:
        """Whether there is something to be read, or the other side is gone."""
        return bool(self._waiting) or bool(select([self._reading], [], [], within_s)[0])

    def require_silence(self) -> None:
        """Raise MalformedError where more has been read than was asked for."""
        if self._waiting:
            raise plain_data.MalformedError("it said more than it was asked")


def _announced(data: bytearray) -> int:
    """The size of what these are the first bytes of, as far as they tell."""
    return LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "big") if len(data) >= LENGTH_BYTES else LENGTH_BYTES


class Peer:
    """One side of the exchange: it has the other side call its functions, and calls its own for the other side."""

    exactly = False
    """Whether an instance of a subclass of a plain type is no plain data."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self._ours: list[Any] = []
        self._theirs: dict[int, tuple[int, Any]] = {}

    def ask(self, *question: Tree) -> list[Tree]:
        """What the other side answers. Raises what it says was raised."""
        raise NotImplementedError

    def tell(self, value: Any) -> Tree:
        """The tree of something that is no plain data: the other side's own, or an object of ours."""
        theirs = self._theirs.get(id(value))
        return ["yours", theirs[0]] if theirs else self.tell_object(value)

    def tell_object(self, value: Any) -> Tree:
        """Keep an object of ours for the other side."""
        self._ours.append(value)
        return ["object", len(self._ours) - 1, role_of(value), plain_data.type_name(type(value))[:MAX_TEXT_CHARS]]

    def find(self, tree: Tree) -> Any:
        """What a tree of `tell` stands for on this side. Raises MalformedError."""
        raise NotImplementedError

    def found(self, tree: Tree, proxy: Callable[[int, str, str], Any]) -> Any:
        """As `find`; `proxy` makes what stands here for a function or an object of the other side."""
        name, number, *rest = tree
        if name == "yours":
            return self._ours[number]
        if name != "object":
            raise plain_data.MalformedError(f"there is nothing named {name!r}")
        role, kind = rest
        if role in ("iterator", "generator"):  # never "yours" again: it may have been read ahead
            iterator = RemoteIterator(lambda count: self._fetch(number, count))
            return iterator if role == "iterator" else (item for item in iterator)
        made = proxy(number, role, kind)
        self._theirs[id(made)] = (number, made)
        return made

    def call(self, act: str, number: int, given: Given, find: Callable[[Tree], Any] | None = None) -> Any:
        """Have the other side call its object; what it changes in the arguments is changed in ours."""
        numbered: list[Any] = []
        writer = plain_data.Writer(self.tell, numbered, exactly=self.exactly)
        answer = self.ask(act, number, *(writer.tree(part) for part in given))
        return self.take(lambda: self._returned(answer, plain_data.Reader(find or self.find, numbered)))

    def take(self, read: Callable[[], Any]) -> Any:
        """What an answer holds."""
        return read()

    def _returned(self, answer: list[Tree], reader: plain_data.Reader) -> Any:
        result, *changes = answer
        value = reader.value(result)
        for number, *trees in changes:
            reader.refill(number, trees)
        return value

    def answer(self, act: str, *rest: Tree) -> list[Tree]:
        """The answer to a question of the other side. Raises whatever the object does that was asked for."""
        acts: dict[str, Callable[..., list[Tree]]] = {"call": self._called, "next": self._next}
        return acts[act](*rest)

    def _called(self, number: int, args: Tree, kwargs: Tree) -> list[Tree]:
        return self.run(self._ours[number], (args, kwargs), plain_data.Writer.tree)

    def run(self, function: Any, given: Tree, write: Callable[[plain_data.Writer, Any], Tree]) -> list[Tree]:
        """Call something of ours: the tree that `write` makes of its result, and each argument that it changed."""
        numbered: list[Any] = []
        reader = plain_data.Reader(self.find, numbered)
        args, kwargs = (reader.value(tree) for tree in given)
        before = [plain_data.snapshot(value) for value in numbered]
        result = function(*args, **kwargs)
        writer = plain_data.Writer(self.tell, numbered, exactly=self.exactly)
        answer = [write(writer, result)]
        for number, snapshot in enumerate(before):
            value = numbered[number]
            if plain_data.has_changed(value, snapshot):
                answer.append([number, *writer.contents(value)])
        return answer

    def _next(self, number: int, count: int) -> list[Tree]:
        """Whether there are no more items, and up to `count` of them, each told as it is when it comes."""
        answer: list[Tree] = []
        count = min(count, MOST_ITEMS)
        try:
            answer.extend(self.plain(item) for item in islice(self._ours[number], count))
        except Exception as error:
            if not answer:
                raise
            self._ours[number] = map(_reraise, (error,))
            return [False, *answer]
        return [len(answer) < count, *answer]

    def _fetch(self, number: int, count: int) -> tuple[bool, list[Any]]:
        at_end, *items = self.ask("next", number, count)
        return bool(at_end), self.take(lambda: [self.value(item) for item in items])

    def plain(self, value: Any) -> Tree:
        """The tree of one value by itself."""
        return plain_data.Writer(self.tell, [], exactly=self.exactly).tree(value)

    def value(self, tree: Tree) -> Any:
        """The value of a tree by itself."""
        return plain_data.Reader(self.find, []).value(tree)


class RemoteIterator:
    """Iterates over what an iterator of the other side yields, read ahead by as much as has been used."""

    def __init__(self, fetch: Callable[[int], tuple[bool, list[Any]]]) -> None:
        self._fetch = fetch
        self._items: list[Any] = []
        self._count = 1
        self._at_end = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if not self._items and not self._at_end:
            self._at_end, self._items = self._fetch(self._count)
            self._items.reverse()
            self._count *= 2
        if not self._items:
            raise StopIteration
        return self._items.pop()


def _reraise(error: Exception) -> NoReturn:
    raise error


GENERATOR = type(number for number in range(0))


def role_of(value: Any) -> str:
    """What can be done with an object from the other side."""
    if type(value) is GENERATOR:
        return "generator"
    if hasattr(type(value), "__next__"):
        return "iterator"
    return "function" if callable(value) else "object"


# --- exceptions -------------------------------------------------------------------------------------------------------


def tell_error(error: BaseException) -> list[Tree]:
    """An exception as data: its nearest built-in class, its arguments where they are plain, its own name, its text."""
    kind = next(base for base in type(error).__mro__ if plain_data.BUILTIN_CLASSES.get(base.__name__) is base)
    try:
        args = plain_data.Writer(_refuse, [], exactly=False).tree(error.args)
    except Exception:  # noqa: BLE001  -- arguments that are no plain data, or an `args` of its own
        args = None
    return [kind.__name__, args, type(error).__name__[:MAX_TEXT_CHARS], text_of(error)]


def _refuse(value: Any) -> Tree:
    raise plain_data.NotPlainError(f"an argument of the exception is a {type(value).__name__}")


def text_of(error: BaseException) -> str:
    """The text of an exception, whatever its own method does."""
    try:
        return str(error)[:MAX_TEXT_CHARS]
    except BaseException as raised:  # noqa: BLE001  -- as it says
        return f"(its text could not be had: {type(raised).__name__})"


def make_error(kind: str, args: Tree, text: str) -> BaseException:
    """An exception of a built-in class that was told. Raises MalformedError for a class that is none."""
    found = plain_data.BUILTIN_CLASSES.get(kind)
    if found is None or not issubclass(found, BaseException):
        raise plain_data.MalformedError(f"{kind!r} is no exception")
    given = (text,) if args is None else plain_data.Reader(_refuse, []).value(args)
    try:
        made = found(*given)
    except Exception:  # noqa: BLE001  -- a class that takes other arguments
        made = None
    return made if isinstance(made, BaseException) else Exception(text)


# What the system holds of a process, changed by prctl(2).

# PR_SET_DUMPABLE: whether /proc/<this>/mem, fd and environ can be read by processes of the same user.
CLOSE_MEMORY, OPEN_MEMORY = (4, 0, 0, 0, 0), (4, 1, 0, 0, 0)
# PR_SET_CHILD_SUBREAPER: whether what those that it started leave running becomes its own.
TAKE_ORPHANS = (36, 1, 0, 0, 0)


def change_process(*changes: tuple[int, ...]) -> None:
    """Make the changes. Raises OSError where the system refuses one; does nothing where it knows none of them."""
    if sys.platform != "linux":
        return
    this_program: Any = None  # its libraries are open, the C library among them
    prctl = _ctypes.dlsym(_ctypes.dlopen(this_program, 0), "prctl")
    for words in changes:
        if _ctypes.call_function(prctl, words) != 0:
            raise OSError(f"the judge cannot be closed to the solution: prctl{words} failed")


# Lines that the judged process writes and the judge reads, in memory that both of them have.

BUFFER_BYTES = 1 << 20
_EMPTY = b"\0"  # no text of plain data holds one


class Slate:
    """Empty at first. Each process has its own view of how far it has come."""

    def __init__(self) -> None:
        self._memory = mmap(-1, BUFFER_BYTES)
        self._write = self._memory.write
        self._read_to = 0

    def begin(self) -> None:
        """Write from the beginning, where the judge has wiped it."""
        self._memory.seek(0)

    def add(self, text: bytes) -> bool:
        """Write a line, if there is room for it, and this process may."""
        try:
            self._write(text + b"\n")
        except ValueError:
            return False
        return True

    def take(self) -> list[bytes]:
        """The lines that have been written, as a whole, since the last that were taken."""
        # A line that is being written ends here at the first byte of it that is not there yet, and so is left.
        end = self._memory.find(_EMPTY, self._read_to)
        *lines, _ = self._memory[self._read_to : end if end >= 0 else BUFFER_BYTES].split(b"\n")
        self._read_to += sum(map(len, lines)) + len(lines)
        return lines

    def wipe(self) -> None:
        """Make room: nothing that is written is taken any more."""
        end = self._memory.find(_EMPTY)
        used = end if end >= 0 else BUFFER_BYTES
        self._memory[:used] = bytes(used)
        self._read_to = 0

    def close(self) -> None:
        """Let go of the memory in this process."""
        self._memory.close()
