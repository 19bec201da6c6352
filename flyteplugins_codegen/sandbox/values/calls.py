"""Calls of the solution with nothing but plain data: many are told at once, each is answered as soon as it ends.

A part of the program that judges by values: standard library only, it runs inside the sandbox, in the judge.

A question and its answer by themselves cost two changes of process, more than most calls take. Here the judge sends the
arguments of many calls in one message; the judged process takes them one by one, with values made anew for each, and
sends every result before it begins the next call. So whatever ends it, it is known which call was running, and what
those before it gave. What is expected stays with the judge. An answer in the very words that are expected is the same
value, and need not be read.
"""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypeAlias

    from flyteplugins_codegen.sandbox.values import plain_data
    from flyteplugins_codegen.sandbox.values.plain_data import Tree
    from flyteplugins_codegen.sandbox.values.stand_ins import Judge

    Case: TypeAlias = tuple[bytes, bytes]  # as `plain_data.write_call` has it, and the text of what is expected
else:
    import plain_data

FEWEST, MOST = 8, 512  # told at once: few at first, as a wrong solution often fails soon
MOST_BYTES = 1 << 18


def calls_of(judge: Judge, number: int, cases: Iterable[Case]) -> Iterator[Call]:
    """A call for each case, each to be asked for its result before the next."""
    drawn, count = iter(cases), FEWEST
    while some := list(islice(drawn, count)):
        for part in _parted(some):
            together = _Together(judge, number, [given for given, _ in part])
            for index, (_, wanted) in enumerate(part):
                yield Call(together, index, wanted)
        count = min(2 * count, MOST)


def _parted(cases: list[Case]) -> Iterator[list[Case]]:
    """The same in parts that are not too long for a message, unless one case is."""
    part: list[Case] = []
    size = 0
    for case in cases:
        if part and size + len(case[0]) > MOST_BYTES:
            yield part
            part, size = [], 0
        part.append(case)
        size += len(case[0])
    yield part


class Call:
    """One of them; `wanted` is the text of what is expected."""

    __slots__ = ("_index", "_together", "wanted")

    def __init__(self, together: _Together, index: int, wanted: bytes) -> None:
        self._together, self._index, self.wanted = together, index, wanted

    def result(self) -> tuple[bool, Any]:
        """Whether the answer is in the very words that are expected, and the value of one that is not.

        Raises what the solution raised, and what fails the case.
        """
        return self._together.result(self._index, self.wanted)

    def args(self) -> list[Any]:
        """The arguments by position, made anew."""
        return plain_data.read_call(plain_data.read_text(self._together.given[self._index]), _refuse)[0]


class _Together:
    """Calls that are told in one message; in several, where one gives an object that may be asked for more."""

    def __init__(self, judge: Judge, number: int, given: list[bytes]) -> None:
        self._judge, self._number, self.given = judge, number, given
        self._token, self._first = b"", 0

    def result(self, index: int, wanted: bytes) -> tuple[bool, Any]:
        """As `Call.result`."""
        judge = self._judge
        asked = judge.note_call(self._number, self.given[index])
        if not self._token:
            self._token, self._first = judge.tell_calls(self._number, self.given[index:]), index
        token, place, is_last = self._token, index - self._first, index + 1 == len(self.given)
        answer = judge.next_answer(is_last=is_last)
        if answer == b'["%b",%d,true,"value",%b]' % (token, place, wanted):
            asked.is_answered = True
            return True, None
        goes_on, kind, rest = judge.read_answer(answer, token.decode(), place)
        if not goes_on:
            self._token = b""
        tree = judge.taken(asked, kind, rest)[0]
        return False, judge.take(lambda: judge.value(tree))


def _refuse(_: Tree) -> Any:
    raise plain_data.MalformedError("an object among the arguments of a case")
