"""Calls of the solution with nothing but plain data: many are told at once, and what each gives is kept as it ends.

A part of the program that judges by values: standard library only, it runs inside the sandbox, in the judge.

A question and its answer by themselves cost two changes of process, more than most calls take. Here the judge sends the
arguments of many calls in one message; the judged process takes them one by one, with values made anew for each, and
writes every value down on the slate before it begins the next call. So whatever ends it, it is known which call was
running, and what those before it gave. It sends a message once: with the answer to the last call, or to the first one
that gives anything but plain data. What is expected stays with the judge. An answer in the very words that are expected
is the same value, and need not be read.
"""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, TypeAlias

    from flyteplugins_codegen.judging.values.inside import plain_data
    from flyteplugins_codegen.judging.values.inside.plain_data import Tree
    from flyteplugins_codegen.judging.values.inside.proxies import Asked, Judge

    Case: TypeAlias = tuple[bytes, bytes]  # as `plain_data.write_call` has it, and the text of what is expected
else:
    import plain_data

FEWEST, MOST = 8, 512  # told at once: few at first, as a wrong solution often fails soon
MOST_BYTES = 1 << 18
FIRST_LOOK_S, LAST_LOOK_S = 0.01, 0.5  # when the judge looks at what slow calls have given so far: ever less often


def calls_of(judge: Judge, number: int, cases: Iterable[Case]) -> Iterator[Call]:
    """A call for each case, each to be asked for its result before the next."""
    for together in _parts(judge, number, cases):
        while not together.is_over:
            yield Call(together)


def others_of(judge: Judge, number: int, cases: Iterable[Case]) -> Iterator[tuple[int, Call]]:
    """Only the calls that do not give what is expected in the very words, each with its number, from 1 on."""
    done = 0
    for together in _parts(judge, number, cases):
        while together.skip_expected():
            yield done + together.place + 1, Call(together)
        done += together.place


def _parts(judge: Judge, number: int, cases: Iterable[Case]) -> Iterator[_Together]:
    """The cases in parts, the next one after the calls of the one before it."""
    drawn, count = iter(cases), FEWEST
    waiting = list(islice(drawn, count))
    while waiting:
        together = _Together(judge, number, waiting[: _fitting(waiting)])
        yield together
        del waiting[: together.place]
        count = min(4 * count, MOST) if together.place == len(together.cases) else FEWEST
        waiting += islice(drawn, max(0, count - len(waiting)))


def _fitting(cases: Sequence[Case]) -> int:
    """How many of them make a message that is not too long; one case at least."""
    size = 0
    for place, (given, _) in enumerate(cases):
        size += len(given)
        if place and size > MOST_BYTES:
            return place
    return len(cases)


class Call:
    """The next one of those that have been told together; `wanted` is the text of what is expected."""

    __slots__ = ("_given", "_together", "wanted")

    def __init__(self, together: _Together) -> None:
        self._together = together
        self._given, self.wanted = together.cases[together.place]

    def result(self) -> tuple[bool, Any]:
        """Whether the answer is in the very words that are expected, and the value of one that is not.

        Raises what the solution raised, and what fails the case.
        """
        return self._together.result()

    def args(self) -> list[Any]:
        """The arguments by position, made anew."""
        return plain_data.read_call(plain_data.read_text(self._given), _refuse)[0]


class _Together:
    """Calls that are told in one message, up to the one that is answered in one; `place` of them have had theirs."""

    def __init__(self, judge: Judge, number: int, cases: Sequence[Case]) -> None:
        self._judge, self._number, self.cases = judge, number, cases
        self._wanted = [wanted for _, wanted in cases]
        self._token, self._message = b"", b""
        self._written: list[bytes] = []
        self._asked: Asked | None = None
        self.place = 0
        self.is_over = False

    def skip_expected(self) -> bool:
        """Pass by answers in the very words that are expected; whether there is a call left to be asked for."""
        while not self.is_over:
            self._reach()
            written = self._written[self.place :]
            right = _alike(written, self._wanted[self.place :])
            if right:
                self._judge.calls += right - 1  # the first one was counted as it was reached
                self._pass_by(right)
            if right < len(written) or not written:
                return True
        return False

    def result(self) -> tuple[bool, Any]:
        """As `Call.result`."""
        judge, asked, place, wanted = self._judge, self._reach(), self.place, self._wanted[self.place]
        is_written = place < len(self._written)
        self._pass_by(1)
        self.is_over = self.is_over or not is_written
        text = self._written[place] if is_written else self._message
        if text == (wanted if is_written else b'["%b",%d,"value",%b]' % (self._token, place, wanted)):
            asked.is_answered = True
            return True, None
        kind, rest = judge.read_line(text) if is_written else judge.read_answer(text, self._token.decode(), place)
        tree = judge.taken(asked, kind, rest)[0]
        return False, judge.take(lambda: judge.value(tree))

    def _pass_by(self, count: int) -> None:
        self.place += count
        self._asked = None
        self.is_over = self.place == len(self.cases)

    def _reach(self) -> Asked:
        """The next call, once its answer is there. Raises Ended."""
        judge = self._judge
        if self._asked is None:
            self._asked = judge.note_call(self._number, self.cases[self.place][0])
        if not self._token:
            self._token = judge.tell_calls(self._number, [given for given, _ in self.cases])
        patience_s = FIRST_LOOK_S
        while self.place == len(self._written) and not self._message:
            lines, self._message = judge.hear_of_calls(patience_s, self._room())
            self._written += lines
            patience_s = min(2 * patience_s, LAST_LOOK_S)
        return self._asked

    def _room(self) -> int:
        """How many lines there may be yet: the last call is answered by the message."""
        return len(self.cases) - 1 - len(self._written)


def _alike(found: list[bytes], wanted: list[bytes]) -> int:
    """How many are alike from the beginning on."""
    if found == wanted[: len(found)]:
        return len(found)
    return next(place for place, pair in enumerate(zip(found, wanted, strict=False)) if pair[0] != pair[1])


def _refuse(_: Tree) -> Any:
    raise plain_data.MalformedError("an object among the arguments of a case")
