"""What ends a job before its time because it must be measured: the kernel ends no job by itself there."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from flyteplugins_codegen.sandbox.census import Census
from flyteplugins_codegen.sandbox.cgroups import Cgroup
from flyteplugins_codegen.sandbox.contract import Limits, Status
from flyteplugins_codegen.sandbox.process import Guard

_SHORTEST_PAUSE_S = 0.01


def guards_of(limits: Limits, group: Cgroup | None, census: Census) -> list[Guard]:
    """Those that a job with these limits needs: where a group holds its memory, its processor time is left at most."""
    if group is None or "cgroup-memory" not in group.layers:
        return [partial(census.guard, limits)]
    return [] if limits.cpu_s is None else [partial(_guard_cpu, limits.cpu_s, group.cpu_s)]


def _guard_cpu(limit_s: float, used_s: Callable[[], float | None]) -> Status | float:
    """With every processor at work, the rest is used up after the pause at the earliest."""
    left_s = limit_s - (used_s() or 0.0)
    return "timed_out" if left_s <= 0 else max(_SHORTEST_PAUSE_S, left_s / (os.cpu_count() or 1))
