"""Peers that judge forgeries: each in a process of its own, in which it can do no harm, and for a bounded time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.evaluation.peers import Harness
from benchmarks.evaluation.workload import HONEST, sample_file

HANGING_S, FORGED_S = 5.0, 60.0  # the latter for all by one peer; some hold it up as long as they are let


def honest_s(harness: Harness, problems: Path, folder: Path) -> float:
    """How long a right solution takes, contained; it passes, and what a harness keeps for later is there then."""
    sample = sample_file(folder / "one.jsonl", [HONEST[0]])
    assert harness.judge(problems, sample).passed == (True,), harness.name
    started = time.monotonic()
    judged = harness.judge_contained(problems, sample, folder, FORGED_S)
    assert judged is not None and judged.passed == (True,), f"{harness.name} does not run where it is contained"  # noqa: PT018 - no test
    return time.monotonic() - started


@dataclass(frozen=True)
class Contained:
    """A peer that judges forgeries, each in a process of its own, as some end the harness that runs them."""

    harness: Harness
    problems: Path
    honest_s: float
    ends: float

    def passes(self, solution: str, folder: Path) -> bool | None:
        """Whether it is fooled; one that takes much longer than a right one does not pass. None where time is up."""
        if time.monotonic() > self.ends:
            return None
        folder.mkdir(exist_ok=True)
        sample = sample_file(folder / "one.jsonl", [solution])
        judged = self.harness.judge_contained(self.problems, sample, folder, HANGING_S + 3 * self.honest_s)
        return judged is not None and judged.passed == (True,)
