"""Calls of the solution with plain data only: many are sent in one message, and each result is kept as it is made.

Part of the program that judges by values; standard library only. It runs inside the sandbox, in the judge.

A question and its answer cost two process switches, more than most calls take. Here the judge sends the arguments of
many calls in one message. The candidate's process makes the calls one by one, with arguments built anew for each, and
writes each result to the shared buffer before it begins the next call. So it is always known which call was running
when the process ended, and what the calls before it returned. It sends one message, with the result of the last call,
or of the first call that does not return plain data. The expected values stay with the judge. A result whose text is
equal to the expected text is the same value and is not read.
"""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, TypeAlias

    from flyteplugins_codegen.judging.values.inside import plain_data
    from flyteplugins_codegen.judging.values.inside.plain_data import Tree
    from flyteplugins_codegen.judging.values.inside.proxies import CallRecord, JudgePeer

    Case: TypeAlias = tuple[bytes, bytes]  # the arguments as `plain_data.write_call` writes them, the expected text
else:
    import plain_data

FEWEST, MOST = 8, 512  # calls in a message: few at first, because a wrong solution often fails early
MOST_BYTES = 1 << 18
FIRST_LOOK_S, LAST_LOOK_S = 0.01, 0.5  # the interval at which the judge reads results of slow calls; it grows


def calls_of(judge: JudgePeer, number: int, cases: Iterable[Case]) -> Iterator[Call]:
    """A call for each case. Ask each for its result before the next one is drawn."""
    for group in _groups(judge, number, cases):
        while not group.is_over:
            yield Call(group)


def unexpected_calls(judge: JudgePeer, number: int, cases: Iterable[Case]) -> Iterator[tuple[int, Call]]:
    """Only the calls whose result text differs from the expected text, each with its number, counted from 1."""
    done = 0
    for group in _groups(judge, number, cases):
        while group.skip_expected():
            yield done + group.position + 1, Call(group)
        done += group.position


def _groups(judge: JudgePeer, number: int, cases: Iterable[Case]) -> Iterator[_CallGroup]:
    """Groups of cases; the next group is drawn when the calls of the one before are done."""
    remaining, count = iter(cases), FEWEST
    waiting = list(islice(remaining, count))
    while waiting:
        group = _CallGroup(judge, number, waiting[: _fitting_count(waiting)])
        yield group
        del waiting[: group.position]
        count = min(4 * count, MOST) if group.position == len(group.cases) else FEWEST
        waiting += islice(remaining, max(0, count - len(waiting)))


def _fitting_count(cases: Sequence[Case]) -> int:
    """How many of the cases fit into one message; at least one."""
    size = 0
    for position, (given, _) in enumerate(cases):
        size += len(given)
        if position and size > MOST_BYTES:
            return position
    return len(cases)


class Call:
    """The next call of a group; `expected` is the text of the expected value."""

    __slots__ = ("_arguments", "_group", "expected")

    def __init__(self, group: _CallGroup) -> None:
        self._group = group
        self._arguments, self.expected = group.cases[group.position]

    def result(self) -> tuple[bool, Any]:
        """Whether the result has the expected text, and its value if it has not.

        Raises the solution's exception, Refused, and Ended.
        """
        return self._group.result()

    def args(self) -> list[Any]:
        """The positional arguments, built anew."""
        return plain_data.read_call(plain_data.read_text(self._arguments), _refuse)[0]


class _CallGroup:
    """Calls that are sent in one message. `position` of them have their result; the group is over after a message."""

    def __init__(self, judge: JudgePeer, number: int, cases: Sequence[Case]) -> None:
        self._judge, self._number, self.cases = judge, number, cases
        self._expected = [expected for _, expected in cases]
        self._token, self._message = b"", b""
        self._results: list[bytes] = []
        self._record: CallRecord | None = None
        self.position = 0
        self.is_over = False

    def skip_expected(self) -> bool:
        """Skip the results that have the expected text; whether a call is left that has another one."""
        while not self.is_over:
            self._wait_for_next()
            written = self._results[self.position :]
            right = _equal_count(written, self._expected[self.position :])
            if right:
                self._judge.calls += right - 1  # `_wait_for_next` has counted the first one
                self._advance(right)
            if right < len(written) or not written:
                return True
        return False

    def result(self) -> tuple[bool, Any]:
        """As `Call.result`."""
        judge, record, position = self._judge, self._wait_for_next(), self.position
        expected = self._expected[position]
        is_written = position < len(self._results)
        self._advance(1)
        self.is_over = self.is_over or not is_written
        text = self._results[position] if is_written else self._message
        if text == (expected if is_written else b'["%b",%d,"value",%b]' % (self._token, position, expected)):
            record.is_answered = True
            return True, None
        kind, rest = judge.read_line(text) if is_written else judge.read_answer(text, self._token.decode(), position)
        tree = judge.unpack_answer(record, kind, rest)[0]
        return False, judge.unpack(lambda: judge.value(tree))

    def _advance(self, count: int) -> None:
        self.position += count
        self._record = None
        self.is_over = self.position == len(self.cases)

    def _wait_for_next(self) -> CallRecord:
        """The next call, once its result has come. Raises Ended."""
        judge = self._judge
        if self._record is None:
            self._record = judge.record_call(self._number, self.cases[self.position][0])
        if not self._token:
            self._token = judge.send_calls(self._number, [given for given, _ in self.cases])
        patience_s = FIRST_LOOK_S
        while self.position == len(self._results) and not self._message:
            lines, self._message = judge.receive_results(patience_s, self._room())
            self._results += lines
            patience_s = min(2 * patience_s, LAST_LOOK_S)
        return self._record

    def _room(self) -> int:
        """How many more lines may come: the last call is answered by a message."""
        return len(self.cases) - 1 - len(self._results)


def _equal_count(found: list[bytes], expected: list[bytes]) -> int:
    """How many of the first results are the expected ones."""
    if found == expected[: len(found)]:
        return len(found)
    return next(position for position, pair in enumerate(zip(found, expected, strict=False)) if pair[0] != pair[1])


def _refuse(_: Tree) -> Any:
    raise plain_data.MalformedError("an object among the arguments of a case")
