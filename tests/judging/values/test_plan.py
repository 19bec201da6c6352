"""What the judge asks the solution's process for before the first case."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flyteplugins_codegen import judging
from flyteplugins_codegen.judging.values import inside

# Inside the sandbox its modules import each other by their bare names.
sys.path += [str(Path(package.__file__).parent) for package in (inside, judging)]
from judge import JudgingPlan


class RecordingPeer:
    """Has a solution that defines `f` and `g`, and records the names that the judge asks for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def load(self, solution: str, entry_point: str) -> tuple[dict[str, str], Callable[..., Any]]:
        del solution, entry_point
        return {"f": "solution", "g": "solution"}, lambda x: x

    def number_of(self, stub: Callable[..., Any]) -> int:
        del stub
        return 0

    def maker(self, name: str) -> Callable[..., Any]:
        self.asked.append(name)
        return lambda x: x


def test_the_entry_point_is_not_asked_for_a_second_time() -> None:
    peer = RecordingPeer()
    plan = JudgingPlan(
        [("context", ""), ("checks", ""), ("assert 1", "assert f(1) == 1"), ("assert 2", "assert g(2) == 2")], None
    )
    for _, run in plan.prepare(peer, "", "f"):
        run()
    assert peer.asked == ["g"]
