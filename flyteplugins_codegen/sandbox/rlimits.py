"""A job's limits as the kernel's resource limits, which hold per process (NPROC: per user of the namespace)."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

from flyteplugins_codegen.sandbox.contract import Limits

_ADDRESS_SPACE_MIB = 1024
_OF_GROUPS: Final = {"cgroup-memory": {"DATA", "AS"}, "cgroup-cpu": {"CPU"}}


def render_rlimits(limits: Limits, layers: Collection[str] = ()) -> str:
    """As our reaper reads them: `NAME=SOFT:HARD,...`. What one of `layers` limits for all processes is left out.

    DATA counts private writable memory, so it is the memory limit. AS bounds shared memory too, but it also counts what
    allocators and thread stacks only reserve (numpy and pyarrow some GiB of it), so it is set well above.
    """
    data = limits.memory_mib << 20
    values = {
        "DATA": (data, data),
        "AS": (2 * data + (_ADDRESS_SPACE_MIB << 20),) * 2,
        "NPROC": (limits.processes,) * 2,
        "NOFILE": (limits.open_files,) * 2,
        "FSIZE": (limits.file_mib << 20,) * 2,
        "CORE": (0, 0),
    }
    if limits.cpu_s is not None:
        seconds = math.ceil(limits.cpu_s)
        values["CPU"] = (seconds, seconds + 1)  # SIGXCPU, then SIGKILL to a job that ignores it
    left_out = set[str]().union(*(_OF_GROUPS.get(layer, ()) for layer in layers))
    return ",".join(f"{name}={soft}:{hard}" for name, (soft, hard) in values.items() if name not in left_out)
