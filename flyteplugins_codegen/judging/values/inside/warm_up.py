"""Goes through a judgement in the process that later forks the judges: what they have in common is warm then.

A part of the program that judges by values: standard library only. It is imported, and so run, in a warm worker only,
as the last module and before there is any job. Python adapts its code while that runs, and remembers in its types where
their methods are: each such note is in a page of memory that every judge, and every judged process, would have to copy
for itself, and copying pages is half of what a short judgement costs.
"""

from __future__ import annotations

import os
import sys
from binascii import b2a_base64
from zlib import compress

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from flyteplugins_codegen.judging.values.inside.candidate import Judged
    from flyteplugins_codegen.judging.values.inside.judge import Plan, Report
    from flyteplugins_codegen.judging.values.inside.plain_data import Tree, write_call, write_value
    from flyteplugins_codegen.judging.values.inside.protocol import Link, Slate
    from flyteplugins_codegen.judging.values.inside.proxies import Judge
else:
    from candidate import Judged
    from judge import Plan, Report
    from plain_data import write_call, write_value
    from protocol import Link, Slate
    from proxies import Judge

TIMES = 4
SOLUTION = "from typing import List\ndef f(x: List[int]) -> int:\n    return x\n"
VALUES = (1, "a", [1, 2, 3], 1.5, None, True, ["a", "b"], (1, 2), {"a": 1}, [[1], [2]])


class _InTurn(Link):
    """The judge's end, where the other end is in the same process: it has its turn before the judge listens."""

    def __init__(self, reading: int, writing: int, other: Judged) -> None:
        super().__init__(reading, writing)
        self._other = other

    def receive(self) -> Tree:
        self._other.take_turn()
        return super().receive()

    def is_heard(self, within_s: float) -> bool:
        self._other.take_turn()
        return super().is_heard(within_s)


def rehearse() -> None:
    """Judge a solution of ours, and leave nothing of it behind."""
    (questions, asking), (answers, answering), slate, words = os.pipe(), os.pipe(), Slate(), sys.argv[:]
    judged = Judged(Link(questions, answering), slate)
    judge = Judge(_InTurn(answers, asking, judged), slate, 0)
    stdout = os.open(os.devnull, os.O_WRONLY)
    plan, report = Plan([("context", SOLUTION), ("checks", _checks())], None), Report(b"", judge, 0, stdout)
    for _ in range(TIMES):
        for name, run in plan.prepare(judge, SOLUTION, "f"):
            report.run(name, run, plan.sources)
            report.tell([name, judge.calls])
    slate.close()
    for descriptor in (questions, asking, answers, answering, stdout):
        os.close(descriptor)
    sys.argv[:] = words
    del sys.modules["solution"], sys.modules["checks"]


def _checks() -> str:
    cases = [(write_call([value], {}, str), write_value(value, str)) for value in VALUES * TIMES]
    packed = b2a_base64(compress(b"\n".join(text for case in cases for text in case)), newline=False).decode()
    return f"import sys\ncheck = sys.modules['compare'].Cases({packed!r}, 'close', 0.0).check\n"


rehearse()
