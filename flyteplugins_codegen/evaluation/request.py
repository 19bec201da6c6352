"""What an evaluation is asked for, checked before anything runs."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, get_args

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.findings import check_k
from flyteplugins_codegen.evaluation.judging.ways import Judge
from flyteplugins_codegen.evaluation.soundness import check_entry_point, check_tests
from flyteplugins_codegen.evaluation.values import AssertTests, CheckTests, Problem
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.contract import Limits

DEFAULT_LIMITS: Final = Limits(
    wall_s=30.0, cpu_s=5.0, memory_mib=1024, processes=64, output_mib=64, file_mib=64, stream_kib=256
)
"""Of one sample, with its judge; times are for a usual machine, and extended on a slow one."""

_LEAST_MEMORY_MIB: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """All but the samples. Raises RequestError for what cannot be."""

    problems: tuple[Problem, ...]
    k: tuple[int, ...]
    workers: int
    limits: Limits
    judge: Judge
    journal: Path | None
    packages: tuple[str, ...]
    sandbox: SandboxKind

    def __post_init__(self) -> None:
        check_k(self.k)
        if self.judge not in get_args(Judge):
            raise RequestError(f"judge={self.judge!r} is no way to judge; give one of {', '.join(get_args(Judge))}")
        if type(self.workers) is not int or self.workers < 1:
            raise RequestError(f"workers={self.workers!r} run nothing; give a whole number from 1, or None")
        check_problems(self.problems)
        _check_limits(self.limits, "limits")
        for problem in self.problems:
            if problem.limits is not None:
                _check_limits(problem.limits, f"the limits of problem {problem.task_id!r}")


def default_workers() -> int:
    """One for each processor that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_problems(problems: Sequence[Problem]) -> None:
    """Raise RequestError for none, for two of one name, and for one that cannot be judged."""
    if not problems:
        raise RequestError("there are no problems to evaluate on; load some by load_problems(...)")
    seen = set[str]()
    for problem in problems:
        if problem.task_id in seen:
            raise RequestError(f"two problems have the task_id {problem.task_id!r}; give each a name of its own")
        seen.add(problem.task_id)
        check_entry_point(problem)
        if problem.canonical_solution is None or not isinstance(problem.tests, CheckTests | AssertTests):
            check_tests(problem)  # the canonical solution would tell of them too, and long tests take long to read


def _check_limits(limits: Limits, whose: str) -> None:
    for each in fields(limits):
        value = getattr(limits, each.name)
        if value is not None and not (math.isfinite(value) and value > 0):
            raise RequestError(f"{whose}: {each.name}={value!r} is no limit; give a number above 0")
    if limits.memory_mib < _LEAST_MEMORY_MIB:
        told = f"{limits.memory_mib} MiB are less than an interpreter needs; give at least {_LEAST_MEMORY_MIB}"
        raise RequestError(f"{whose}: memory_mib: {told}")
