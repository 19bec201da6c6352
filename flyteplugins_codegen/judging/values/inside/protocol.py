"""The protocol between the judge and the candidate's process: questions and answers as plain data over two pipes.

Part of the program that judges by values; standard library only. It runs inside the sandbox, in both processes.

The judge asks one question at a time, `[token, act, ...]`; the candidate answers `[token, "value", ...]` or
`[token, "raised", ...]`. Before it answers, it may ask back, `[token, "ask", act, ...]`, for functions and iterators of
the tests that were passed to it, and gets an answer of the same form. An object that is not plain data stays in its
process and is referred to by a number: `["object", number, role, class]` by its owner, `["yours", number]` by the other
side.

One question has many answers: `[token, "calls", number, ...]` holds the arguments of many calls. Their results are
written to a shared buffer, except the last one, which is answered by `[token, position, "value", ...]`; see
`batched_calls.py`.
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
else:
    import plain_data

CHUNK_BYTES = 65_536
LENGTH_BYTES = 4
HEAD_BYTES = 256  # at most, before the text of a value in a message
MOST_ITEMS = 256
MAX_TEXT_CHARS = 2_000


class ClosedError(Exception):
    """The other side is gone."""


class Link:
    """Messages over two pipes, each preceded by its size; only one is ever on its way."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._read, self._write = os.read, os.write  # bound now: the solution may replace those of `os`
        self._waiting = bytearray()  # bytes that were read and belong to no whole message yet

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
        """Read one message. Raises ClosedError, and MalformedError if more than one has come."""
        text = self.receive_text()
        self.require_silence()
        return plain_data.read_text(text)

    def receive_text(self) -> bytes:
        """Read the text of one message; others may follow. Raises ClosedError, and MalformedError if it is too long."""
        waiting = self._waiting
        while len(waiting) < (size := _message_size(waiting)):
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
        """Whether there is something to read, or the other side has closed its end."""
        return bool(self._waiting) or bool(select([self._reading], [], [], within_s)[0])

    def require_silence(self) -> None:
        """Raise MalformedError if more was read than the answer."""
        if self._waiting:
            raise plain_data.MalformedError("it said more than it was asked")


def _message_size(data: bytearray) -> int:
    """The size of the message that begins with these bytes, its length prefix included, as far as they show it."""
    return LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "big") if len(data) >= LENGTH_BYTES else LENGTH_BYTES


class Peer:
    """One side of the exchange: it asks the other side to call its functions, and calls its own for the other side."""

    exactly = False
    """Whether an instance of a subclass of a plain type is refused as plain data."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self._ours: list[Any] = []
        self._theirs: dict[int, tuple[int, Any]] = {}

    def ask(self, *question: Tree) -> list[Tree]:
        """The answer of the other side. Raises the exception that it reports."""
        raise NotImplementedError

    def refer(self, value: Any) -> Tree:
        """The tree that refers to a value that is not plain data: an object of the other side, or one of ours."""
        theirs = self._theirs.get(id(value))
        return ["yours", theirs[0]] if theirs else self.refer_to_own(value)

    def refer_to_own(self, value: Any) -> Tree:
        """Keep an object of ours; the tree by which the other side refers to it."""
        self._ours.append(value)
        return ["object", len(self._ours) - 1, role_of(value), plain_data.type_name(type(value))[:MAX_TEXT_CHARS]]

    def resolve(self, tree: Tree) -> Any:
        """The object on this side for a tree that `refer` made. Raises MalformedError."""
        raise NotImplementedError

    def resolve_object(self, tree: Tree, proxy: Callable[[int, str, str], Any]) -> Any:
        """As `resolve`; `proxy(number, role, class)` makes the proxy for a function or an object of the other side."""
        name, number, *rest = tree
        if name == "yours":
            return self._ours[number]
        if name != "object":
            raise plain_data.MalformedError(f"there is nothing named {name!r}")
        role, kind = rest
        if role in ("iterator", "generator"):  # never referred to as "yours": it may have been read ahead
            iterator = RemoteIterator(lambda count: self._fetch(number, count))
            return iterator if role == "iterator" else (item for item in iterator)
        made = proxy(number, role, kind)
        self._theirs[id(made)] = (number, made)
        return made

    def call(self, act: str, number: int, given: Given, resolve: Callable[[Tree], Any] | None = None) -> Any:
        """Have the other side call its object; changes that it makes to the arguments are made to ours."""
        shared: list[Any] = []
        writer = plain_data.Writer(self.refer, shared, exactly=self.exactly)
        answer = self.ask(act, number, *(writer.tree(part) for part in given))
        return self.unpack(lambda: self._returned(answer, plain_data.Reader(resolve or self.resolve, shared)))

    def unpack(self, read: Callable[[], Any]) -> Any:
        """The content of an answer, as `read` makes it; a subclass handles what is malformed."""
        return read()

    def _returned(self, answer: list[Tree], reader: plain_data.Reader) -> Any:
        result, *changes = answer
        value = reader.value(result)
        for number, *trees in changes:
            reader.refill(number, trees)
        return value

    def answer(self, act: str, *rest: Tree) -> list[Tree]:
        """The answer to a question of the other side. Raises whatever the object raises."""
        acts: dict[str, Callable[..., list[Tree]]] = {"call": self._called, "next": self._next}
        return acts[act](*rest)

    def _called(self, number: int, args: Tree, kwargs: Tree) -> list[Tree]:
        return self.run(self._ours[number], (args, kwargs), plain_data.Writer.tree)

    def run(self, function: Any, given: Tree, write: Callable[[plain_data.Writer, Any], Tree]) -> list[Tree]:
        """Call an object of ours: the tree of its result, made by `write`, and each argument that the call changed."""
        shared: list[Any] = []
        reader = plain_data.Reader(self.resolve, shared)
        args, kwargs = (reader.value(tree) for tree in given)
        before = [plain_data.snapshot(value) for value in shared]
        result = function(*args, **kwargs)
        writer = plain_data.Writer(self.refer, shared, exactly=self.exactly)
        answer = [write(writer, result)]
        for number, snapshot in enumerate(before):
            value = shared[number]
            if plain_data.has_changed(value, snapshot):
                answer.append([number, *writer.contents(value)])
        return answer

    def _next(self, number: int, count: int) -> list[Tree]:
        """Whether the iterator is at its end, and up to `count` items, each written at the moment it is produced."""
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
        return bool(at_end), self.unpack(lambda: [self.value(item) for item in items])

    def plain(self, value: Any) -> Tree:
        """The tree of one value by itself."""
        return plain_data.Writer(self.refer, [], exactly=self.exactly).tree(value)

    def value(self, tree: Tree) -> Any:
        """The value of a tree by itself."""
        return plain_data.Reader(self.resolve, []).value(tree)


class RemoteIterator:
    """Iterates over an iterator of the other side, reading ahead as many items as have been used so far."""

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
    """How the other side can use an object: `generator`, `iterator`, `function` or `object`."""
    if type(value) is GENERATOR:
        return "generator"
    if hasattr(type(value), "__next__"):
        return "iterator"
    return "function" if callable(value) else "object"


# --- exceptions -------------------------------------------------------------------------------------------------------


def error_parts(error: BaseException) -> list[Tree]:
    """An exception as data: its nearest built-in class, its arguments if they are plain, its class name, its text."""
    kind = next(base for base in type(error).__mro__ if plain_data.BUILTIN_CLASSES.get(base.__name__) is base)
    try:
        args = plain_data.Writer(_refuse, [], exactly=False).tree(error.args)
    except Exception:  # noqa: BLE001  -- the arguments are not plain data, or `args` was overridden
        args = None
    return [kind.__name__, args, type(error).__name__[:MAX_TEXT_CHARS], exception_text(error)]


def _refuse(value: Any) -> Tree:
    raise plain_data.NotPlainError(f"an argument of the exception is a {type(value).__name__}")


def exception_text(error: BaseException) -> str:
    """The text of an exception, whatever its `__str__` does."""
    try:
        return str(error)[:MAX_TEXT_CHARS]
    except BaseException as raised:  # noqa: BLE001  -- as it says
        return f"(its text could not be had: {type(raised).__name__})"


def make_exception(kind: str, args: Tree, text: str) -> BaseException:
    """A new exception of a built-in class. Raises MalformedError if there is no such exception class."""
    error_class = plain_data.BUILTIN_CLASSES.get(kind)
    if error_class is None or not issubclass(error_class, BaseException):
        raise plain_data.MalformedError(f"{kind!r} is no exception")
    arguments = (text,) if args is None else plain_data.Reader(_refuse, []).value(args)
    try:
        made = error_class(*arguments)
    except Exception:  # noqa: BLE001  -- a class that takes other arguments
        made = None
    return made if isinstance(made, BaseException) else Exception(text)


# --- attributes of a process, set by prctl(2) -------------------------------------------------------------------------

# PR_SET_DUMPABLE: whether other processes of the same user can read /proc/<this>/mem, fd and environ.
CLOSE_MEMORY, OPEN_MEMORY = (4, 0, 0, 0, 0), (4, 1, 0, 0, 0)
# PR_SET_CHILD_SUBREAPER: orphaned descendants become children of this process.
TAKE_ORPHANS = (36, 1, 0, 0, 0)


def change_process(*changes: tuple[int, ...]) -> None:
    """Apply the changes. Raises OSError if the system refuses one. Does nothing on systems other than Linux."""
    if sys.platform != "linux":
        return
    this_program: Any = None  # a handle to the libraries that it has loaded, the C library among them
    prctl = _ctypes.dlsym(_ctypes.dlopen(this_program, 0), "prctl")
    for words in changes:
        if _ctypes.call_function(prctl, words) != 0:
            raise OSError(f"the judge cannot be closed to the solution: prctl{words} failed")


# --- lines in memory that both processes share ------------------------------------------------------------------------

BUFFER_BYTES = 1 << 20
_EMPTY = b"\0"  # no text of plain data holds one


class SharedBuffer:
    """Lines that the candidate writes and the judge reads. Each process keeps its own position."""

    def __init__(self) -> None:
        self._memory = mmap(-1, BUFFER_BYTES)
        self._write = self._memory.write
        self._read_to = 0

    def begin(self) -> None:
        """Write from the beginning again, after the judge has wiped the buffer."""
        self._memory.seek(0)

    def add(self, text: bytes) -> bool:
        """Write a line; False if there is no room for it, or the buffer is closed in this process."""
        try:
            self._write(text + b"\n")
        except ValueError:
            return False
        return True

    def read_new(self) -> list[bytes]:
        """The complete lines that were written since the last call."""
        # A line that is still being written ends at its first missing byte, without a newline: it is read next time.
        end = self._memory.find(_EMPTY, self._read_to)
        *lines, _ = self._memory[self._read_to : end if end >= 0 else BUFFER_BYTES].split(b"\n")
        self._read_to += sum(map(len, lines)) + len(lines)
        return lines

    def wipe(self) -> None:
        """Clear the buffer; lines that were not read are lost."""
        end = self._memory.find(_EMPTY)
        used = end if end >= 0 else BUFFER_BYTES
        self._memory[:used] = bytes(used)
        self._read_to = 0

    def close(self) -> None:
        """Unmap the memory in this process."""
        self._memory.close()
