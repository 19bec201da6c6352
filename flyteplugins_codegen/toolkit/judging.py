"""Programs held against checks, all at once on warm workers, by values that never leave the judge's own process."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError, SandboxError
from flyteplugins_codegen.models.report import ValuesReport
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.sandbox.values.run import AssertList, CheckFunction, ValuesJob, run_many
from flyteplugins_codegen.toolkit.running.places import Place, open_place, read_place

_log = logging.getLogger(__name__)
# Far more than there are processors: what programs that never end do most of the time is to wait for their end.
_MAX_WORKERS: Final = 16
_FAULTS_OF_CHECKS: Final = frozenset({"broken_tests", "not_by_values"})
_DEFAULT_TIMEOUT_S: Final = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where programs are judged, and how many seconds each of them has."""

    place: Place
    timeout_s: float

    def judge(
        self, programs: Sequence[str], entry_point: str, checks: AssertList | CheckFunction
    ) -> list[ValuesReport]:
        """A report for each program, in order; none need a sandbox.

        Raises:
            SandboxError: the sandbox failed for one of them, which is no verdict on it.
            RequestError: the checks are too long to be told.
        """
        limits = Limits(wall_s=self.timeout_s)
        jobs = [
            ValuesJob(solution=program, entry_point=entry_point, checks=checks, limits=limits) for program in programs
        ]
        if not jobs:
            return []
        with open_place(self.place, None) as opened:
            results = run_many(opened.sandbox, jobs, workers=min(len(jobs), _MAX_WORKERS))
        return [_verdict(number, result) for number, result in enumerate(results)]


def read_bench(timeout: Any, use_docker: Any) -> Bench:
    """What AutoGen's two arguments say: seconds, None being its 600; and the sandbox, see `read_place`.

    Raises ArgumentTypeError, RequestError.
    """
    place = read_place(use_docker=use_docker, sandbox=None)
    if timeout is None:
        return Bench(place=place, timeout_s=_DEFAULT_TIMEOUT_S)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise ArgumentTypeError(f"timeout={timeout!r:.100} is {type(timeout).__name__}; pass seconds as a number")
    if not (math.isfinite(timeout) and timeout > 0):
        raise RequestError(f"timeout={timeout!r}: pass seconds above 0, such as 3 or 0.5")
    return Bench(place=place, timeout_s=float(timeout))


def _verdict(number: int, result: ValuesReport | SandboxError) -> ValuesReport:
    if isinstance(result, SandboxError):
        raise result
    if result.cause and result.cause.kind in _FAULTS_OF_CHECKS:
        _log.warning("response %d fails by what checks it, not by itself: %s", number, result.cause.message)
    return result
