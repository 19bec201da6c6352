"""Names that say which process left something behind, so that the next one can clear away what no living one owns."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

_OWNED = re.compile(r"codegen-[a-z]+-(?P<namespace>\d+)-(?P<pid>\d+)-(?P<began>\d+)-")


def owned_prefix(kind: str) -> str:
    """How the names of this process's own things begin: with its process namespace, its number and when it began."""
    return f"codegen-{kind}-{_mark(os.getpid())}-"


def is_abandoned(name: str) -> bool:
    """Whether this names something whose owner has ended. Of what other process namespaces own nothing is known."""
    match = _OWNED.match(name)
    if match is None or not _namespace() or int(match["namespace"]) != _namespace():
        return False
    return _beginning(int(match["pid"])) != int(match["began"])


@cache
def _mark(pid: int) -> str:
    return f"{_namespace()}-{pid}-{_beginning(pid) or 0}"


@cache
def _namespace() -> int:
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:  # not Linux
        return 0


def _beginning(pid: int) -> int | None:
    """When a process began, in ticks since the machine did: its number alone may have been given to another since."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(status.rpartition(")")[2].split()[19])
