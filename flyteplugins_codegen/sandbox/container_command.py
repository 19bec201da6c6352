"""The command that runs one job's container: what is closed, what is sized, what is shown."""

from __future__ import annotations

import resource
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from flyteplugins_codegen.sandbox.antechamber import UNPRIVILEGED_UID
from flyteplugins_codegen.sandbox.container_engine import Engine
from flyteplugins_codegen.sandbox.container_files import Mount
from flyteplugins_codegen.sandbox.contract import OUTPUTS, Limits
from flyteplugins_codegen.sandbox.interpreter import ENVIRONMENT

LABEL: Final = "flyteplugins-codegen=sandbox"
"""Every container of a sandbox has it."""

REAPER: Final = str(ENVIRONMENT / "container_reaper.py")
"""Where a container shows our program."""

# Process 1 of the container is ours, and counts as one of its processes and with its memory.
_OWN_PROCESSES, _OWN_MIB = 1, 16
# Of files; of processes, which are counted over all containers of a user.
_USUAL = 16384
_CLOSED = (
    "--rm",
    "--interactive",
    "--pull=never",
    "--network=none",
    "--ipc=private",
    "--cgroupns=private",
    "--read-only",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--security-opt=label=disable",  # else SELinux keeps what is mounted from the job; nothing can be written to there
    "--hostname=box",
    "--workdir=/",
    "--log-driver=none",
    "--no-healthcheck",
    "--stop-timeout=0",
)
_DIALECTS = {
    "podman": ("--read-only-tmpfs=false", "--image-volume=ignore", "--http-proxy=false", "--systemd=false"),
    "docker": (),
}


@dataclass(frozen=True, slots=True)
class Place:
    """An image as an engine knows it, and the program in it that is to be process 1."""

    engine: Engine
    image: str
    python: str


def run_command(place: Place, name: str, limits: Limits, mounts: Iterable[Mount], argument: str) -> list[str]:
    """Run `container_reaper ARGUMENT` in a container called `name`, which is removed when it ends."""
    shown = [option for mount in mounts for option in ("--mount", mount.option())]
    return [
        *place.engine.command,
        "run",
        *_CLOSED,
        *_DIALECTS[place.engine.name],
        f"--name={name}",
        f"--label={LABEL}",
        f"--user={UNPRIVILEGED_UID}:{UNPRIVILEGED_UID}",
        *_bounds(limits),
        *shown,
        f"--entrypoint={place.python}",
        place.image,
        "-I",
        "-S",
        REAPER,
        argument,
    ]


def memory_bytes(limits: Limits) -> int:
    """What the container's memory is limited to: the job's, and that of process 1."""
    return (limits.memory_mib + _OWN_MIB) << 20


def process_count(limits: Limits) -> int:
    """What the number of the container's processes is limited to."""
    return limits.processes + _OWN_PROCESSES


def _bounds(limits: Limits) -> list[str]:
    memory, room = memory_bytes(limits), limits.output_mib << 20
    sized = f"rw,exec,nosuid,nodev,mode=1777,size={room}"
    return [
        f"--memory={memory}",
        f"--memory-swap={memory}",
        f"--pids-limit={process_count(limits)}",
        # What an engine sets by itself may be more than this process can pass on. The job's own limits are lower.
        f"--ulimit=nofile={_allowed(resource.RLIMIT_NOFILE, limits.open_files)}",
        f"--ulimit=nproc={_allowed(resource.RLIMIT_NPROC, limits.processes)}",
        f"--shm-size={room}",
        f"--tmpfs=/tmp:{sized}",
        f"--tmpfs={OUTPUTS}:{sized}",
    ]


def _allowed(kind: int, wanted: int) -> str:
    hard = resource.getrlimit(kind)[1]
    most = max(wanted, _USUAL)
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    return f"{allowed}:{allowed}"
