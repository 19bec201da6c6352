"""Runs one judgement in the process that later forks the judges, so that the memory they share is already warm.

Part of the program that judges by values; standard library only. Only a warm worker imports it, and so runs it: as the
last module, before there is any job. Python specialises its code while that runs, and caches in its types where their
methods are. Each such change is in a page of memory that every judge and every candidate's process would otherwise copy
for itself, and copying pages is half of the cost of a short judgement.
"""

from __future__ import annotations

import os
import sys
from binascii import b2a_base64
from zlib import compress

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from flyteplugins_codegen.judging.values.inside.candidate import CandidatePeer
    from flyteplugins_codegen.judging.values.inside.judge import JudgingPlan, SealedReport
    from flyteplugins_codegen.judging.values.inside.plain_data import Tree, write_call, write_value
    from flyteplugins_codegen.judging.values.inside.protocol import Link, SharedBuffer
    from flyteplugins_codegen.judging.values.inside.proxies import JudgePeer
else:
    from candidate import CandidatePeer
    from judge import JudgingPlan, SealedReport
    from plain_data import write_call, write_value
    from protocol import Link, SharedBuffer
    from proxies import JudgePeer

TIMES = 4
SOLUTION = "from typing import List\ndef f(x: List[int]) -> int:\n    return x\n"
VALUES = (1, "a", [1, 2, 3], 1.5, None, True, ["a", "b"], (1, 2), {"a": 1}, [[1], [2]])


class _SteppingLink(Link):
    """The judge's link if the candidate is in the same process: it lets the candidate answer before it reads."""

    def __init__(self, reading: int, writing: int, other: CandidatePeer) -> None:
        super().__init__(reading, writing)
        self._other = other

    def receive(self) -> Tree:
        self._other.take_turn()
        return super().receive()

    def is_heard(self, within_s: float) -> bool:
        self._other.take_turn()
        return super().is_heard(within_s)


def judge_own_solution() -> None:
    """Judge a solution of ours, and remove its traces."""
    (questions, asking), (answers, answering), buffer, words = os.pipe(), os.pipe(), SharedBuffer(), sys.argv[:]
    candidate = CandidatePeer(Link(questions, answering), buffer)
    judge = JudgePeer(_SteppingLink(answers, asking, candidate), buffer, 0)
    stdout = os.open(os.devnull, os.O_WRONLY)
    plan, report = (
        JudgingPlan([("context", SOLUTION), ("checks", _checks())], None),
        SealedReport(b"", judge, 0, stdout),
    )
    for _ in range(TIMES):
        for name, run in plan.prepare(judge, SOLUTION, "f"):
            report.run(name, run, plan.sources)
            report.write([name, judge.calls])
    buffer.close()
    for descriptor in (questions, asking, answers, answering, stdout):
        os.close(descriptor)
    sys.argv[:] = words
    del sys.modules["solution"], sys.modules["checks"]


def _checks() -> str:
    cases = [(write_call([value], {}, str), write_value(value, str)) for value in VALUES * TIMES]
    packed = b2a_base64(compress(b"\n".join(text for case in cases for text in case)), newline=False).decode()
    return f"import sys\ncheck = sys.modules['compare'].Cases({packed!r}, 'close', 0.0).check\n"


judge_own_solution()
