"""Candidates on their way into sandboxes: what is known already is not run, what is quick shares a sandbox."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from flyteplugins_codegen.evaluation.journal import Journals
from flyteplugins_codegen.evaluation.judging import ways
from flyteplugins_codegen.evaluation.judging.trials import Candidate, Trial, Verdict

MOST_TOGETHER: Final = 16
_MOST_TOGETHER_S: Final = 0.25  # of processor time: what takes longer gains nothing by sharing
_MOST_TOGETHER_BYTES: Final = 1 << 20


class Queue:
    """A source of trials for these candidates: `MOST_TOGETHER` of them in one, and fewer as they come to an end.

    There are at most `count` of them; None where nobody knows. What is left is dealt out so that none of the `workers`
    waits long for another's last trial. `told` hears of each verdict, once, be it known or new.
    """

    def __init__(
        self,
        candidates: Iterator[Candidate],
        journals: Journals,
        told: Callable[[Candidate, Verdict], None],
        *,
        count: int | None,
        workers: int,
    ) -> None:
        self._candidates, self._journals, self._told = candidates, journals, told
        self._left, self._workers = sys.maxsize if count is None else count, workers
        self._next: Candidate | None = None
        self._trials: list[Trial] = []

    def draw(self) -> Trial | None:
        """The next trial, of one candidate or of several that are quick."""
        while not self._trials:
            together = self._together()
            if not together:
                return None
            self._trials = list(ways.trials(together))
        return self._trials.pop(0)

    def tell(self, candidate: Candidate, verdict: Verdict) -> None:
        """Keep the verdict, unless the machine failed, and pass it on. Raises OSError where it cannot be kept."""
        if verdict.outcome != "infrastructure":
            self._journals.add(candidate.key, verdict)
        self._told(candidate, verdict)

    def _together(self) -> list[Candidate]:
        found: list[Candidate] = []
        most = max(1, min(MOST_TOGETHER, self._left // self._workers))
        while len(found) < most and (candidate := self._unknown()) is not None:
            if found and not _fit([*found, candidate]):
                self._next = candidate
                break
            found.append(candidate)
        return found

    def _unknown(self) -> Candidate | None:
        """The next candidate that has to be run."""
        candidate, self._next = self._next, None
        while candidate is None:
            candidate = next(self._candidates, None)
            if candidate is None:
                return None
            self._left -= 1
            verdict = self._journals.get(candidate.key) or ways.begin(candidate)
            if verdict is not None:
                self._told(candidate, verdict)
                candidate = None
        return candidate


def _fit(candidates: list[Candidate]) -> bool:
    """Whether these may share a sandbox: alike in all but their times, and quick."""
    first, last = candidates[0], candidates[-1]
    return (
        first.judged_by == last.judged_by
        and replace(first.limits, cpu_s=last.limits.cpu_s, wall_s=last.limits.wall_s) == last.limits
        and sum(each.expected_s for each in candidates) <= _MOST_TOGETHER_S
        and sum(len(each.program) for each in candidates) <= _MOST_TOGETHER_BYTES
    )
