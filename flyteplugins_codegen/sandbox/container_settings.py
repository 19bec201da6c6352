"""What process 1 of a container is told of its job, before it starts it.

It comes over its standard input, not as a file: what a job reads from its own may be meant for a judge alone, and a
file could be read anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One job, as `container_reaper` starts, limits and reads it. `seccomp` names the filter's file, or is empty."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    folder: str
    rlimits: str
    seccomp: str
    own_group: bool
    wall_s: float
    cpu_s: float | None
    stream_bytes: int
    outputs: tuple[str, ...] | None
    output_files: int
    output_bytes: int


def encode(settings: Settings, stdin: bytes) -> bytes:
    """The settings and what the job reads, each after its length in 8 bytes."""
    text = json.dumps(asdict(settings)).encode()
    return b"".join(len(part).to_bytes(8, "big") + part for part in (text, stdin))
