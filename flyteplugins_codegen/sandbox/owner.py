"""Names that say which process left something behind, so that the next one can clear away what no living one owns."""

from __future__ import annotations

import os
import re
import secrets
from functools import cache
from pathlib import Path

_OWNED = re.compile(r"codegen-[a-z]+-(?P<where>[0-9a-f]+-\d+)-(?P<pid>\d+)-(?P<began>\d+)-")


def owned_prefix(kind: str) -> str:
    """How the names of this process's own things begin: where its number means it, that number, and when it began."""
    return f"codegen-{kind}-{_mark(os.getpid())}-"


def is_abandoned(name: str) -> bool:
    """Whether this names something whose owner has ended. Of what is owned elsewhere nothing is known."""
    match = _OWNED.match(name)
    if match is None or match["where"] != _where():
        return False
    return (_beginning(int(match["pid"])) or 0) != int(match["began"])


@cache
def _mark(pid: int) -> str:
    return f"{_where()}-{pid}-{_beginning(pid) or 0}"


@cache
def _where() -> str:
    """The boot of the machine, with which folders may be shared, and its namespace of process numbers."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        return f"{boot[:8]}-{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:  # not Linux: nothing is known of any process
        return secrets.token_hex(4) + "-0"


def _beginning(pid: int) -> int | None:
    """When a process began, in ticks since the machine did: its number alone may have been given to another since."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(status.rpartition(")")[2].split()[19])
