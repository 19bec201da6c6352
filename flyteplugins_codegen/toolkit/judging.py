"""Programs held against checks, all at once on warm workers, by values that never leave the judge's own process."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from flyteplugins_codegen.environment.layers import install
from flyteplugins_codegen.environment.lock import resolve
from flyteplugins_codegen.environment.packages import requirements_of
from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.models.report import ValuesReport
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.sandbox.values.run import AssertList, CheckFunction, ValuesJob, run_many
from flyteplugins_codegen.source.imports import third_party_names
from flyteplugins_codegen.toolkit.running.places import Place, open_place, read_place
from flyteplugins_codegen.toolkit.running.requests import read_timeout

_log = logging.getLogger(__name__)
# Far more than there are processors: what programs that never end do most of the time is to wait for their end.
_MAX_WORKERS: Final = 16
_PROCESSORS: Final = os.cpu_count() or 1
_IDLE_SHARE: Final = 0.05  # of its time: one that sleeps takes less
_BUSY_SHARE: Final = 0.8
_MEMORY_MIB: Final = 512  # each: as many as run at once may use it up together
_FAULTS_OF_CHECKS: Final = frozenset({"broken_tests", "not_by_values"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where programs are judged, and how many seconds each of them has.

    What `sources`, the caller's own texts, import is installed there beside the standard library. What a program
    imports is not: it is a stranger's, and does not decide what is installed.
    """

    place: Place
    timeout_s: float
    sources: tuple[str, ...] = ()

    def judge(
        self, programs: Sequence[str], entry_point: str, checks: AssertList | CheckFunction
    ) -> list[ValuesReport]:
        """A report for each program, in order; no programs need no sandbox.

        Raises:
            SandboxError: the sandbox failed for one of them, which is no verdict on it.
            RequestError: the checks are too long to be told.
            EnvironmentBuildError: what the sources import cannot be installed.
        """
        limits = Limits(wall_s=self.timeout_s, memory_mib=_MEMORY_MIB)
        jobs = [
            ValuesJob(solution=program, entry_point=entry_point, checks=checks, limits=limits) for program in programs
        ]
        return self._run(jobs) if jobs else []

    def _run(self, jobs: Sequence[ValuesJob]) -> list[ValuesReport]:
        """All side by side; then, a few at a time, those that had no processor for most of their time."""
        with open_place(self.place, _environment(self.sources)) as opened:
            results = run_many(opened.sandbox, jobs, workers=min(len(jobs), _MAX_WORKERS))
            starved = [number for number, result in enumerate(results) if was_starved(result)]
            if len(jobs) > _PROCESSORS and starved:
                again = run_many(opened.sandbox, [jobs[number] for number in starved], workers=_PROCESSORS)
                results = [*results]
                for number, result in zip(starved, again, strict=True):
                    results[number] = result
        return [_verdict(number, result) for number, result in enumerate(results)]


def was_starved(result: ValuesReport | SandboxError) -> bool:
    """Whether its time ran out while it was computing and others had the processor, so that it says nothing of it."""
    if isinstance(result, SandboxError) or result.cause is None or result.cause.kind != "timed_out":
        return False
    return _IDLE_SHARE < result.cpu_s / result.wall_s < _BUSY_SHARE


def _environment(sources: Sequence[str]) -> InstalledEnvironment | None:
    imported = {name for source in sources for name in third_party_names(source)}
    wanted = requirements_of(tuple(sorted(imported)), ())
    return install(resolve(wanted)) if wanted else None


def read_bench(timeout: Any, use_docker: Any) -> Bench:
    """What AutoGen's two arguments say: seconds, None being its 600; and the sandbox, see `read_place`.

    Raises ArgumentTypeError, RequestError.
    """
    return Bench(place=read_place(use_docker=use_docker, sandbox=None), timeout_s=read_timeout(timeout))


def _verdict(number: int, result: ValuesReport | SandboxError) -> ValuesReport:
    if isinstance(result, SandboxError):
        raise result
    if result.cause and result.cause.kind in _FAULTS_OF_CHECKS:
        _log.warning("response %d fails by what checks it, not by itself: %s", number, result.cause.message)
    return result
