"""A job as its process in a zygote's sandbox is told it."""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flyteplugins_codegen.sandbox.contract import Job
from flyteplugins_codegen.sandbox.folders import require_input

_MOST_BYTES: Final = 16 << 20  # what is read and copied for a job; more is faster to mount
_MOST_FILES: Final = 1 << 18  # in each of a job's own folders; every one takes a KiB of the kernel's memory
_FORMAT: Final = 2  # of `marshal`, which every Python reads; its floats and texts have not changed since


def is_small(job: Job) -> bool:
    """Whether all that a job brings is plain files, and little. Raises RequestError for a path that is not there."""
    left = _MOST_BYTES
    for name, content in (*job.program.items(), *job.inputs.items()):
        if isinstance(content, Path) and not require_input(name, content).is_file():
            return False
        left -= content.stat().st_size if isinstance(content, Path) else len(content)
    return left >= 0


@dataclass(frozen=True, slots=True)
class Rights:
    """What a job's processes may do: `rlimits` as `render_rlimits` writes them, `filter` a seccomp program."""

    rlimits: str
    filter: bytes


def render_request(job: Job, env: Mapping[str, str], rights: Rights) -> bytes:
    """What `zygote.py` takes; `env` are all variables of the job. Raises OSError for a file that cannot be read."""
    request = {
        "command": list(job.command),
        "env": dict(env),
        "program": _contents(job.program),
        "inputs": _contents(job.inputs),
        "limits": rights.rlimits,
        "filter": rights.filter,
        "size": max(job.limits.output_mib << 20, 1),  # 0 would be without limit
        "inodes": _MOST_FILES,
    }
    return marshal.dumps(request, _FORMAT)


def _contents(files: Mapping[str, Path | bytes]) -> dict[str, tuple[int, bytes]]:
    return {name: _content(content) for name, content in files.items()}


def _content(content: Path | bytes) -> tuple[int, bytes]:
    """The mode of a file that nobody is to write to, and its bytes."""
    if isinstance(content, bytes):
        return 0o444, content
    return content.stat().st_mode & 0o111 | 0o444, content.read_bytes()
