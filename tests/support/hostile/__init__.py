"""Programs that try to get out of a sandbox, at what is not theirs, or past what they may use.

Each is sorted into a module by what it is after, stands on `attack.py`, and says LEAK where it succeeds. Its control
shows that it would have succeeded without a sandbox; where that would do harm, the control is a text that says why, and
what is left is that the program was refused for the right reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from flyteplugins_codegen.sandbox import Limits

SYSCALL = ("EPERM", "ENOSYS")
"""How a system call is refused at the gate. Any other reason would mean that the kernel has read its arguments."""

WRITING = ("EROFS", "EACCES", "EPERM")
"""How something that is there may not be changed."""

ABSENT = ("ENOENT", "ENOTDIR", "ESRCH", "ENXIO")
"""How it is told that something is not there."""

UNREACHABLE = ("ENETUNREACH", "EHOSTUNREACH", "ECONNREFUSED", "EADDRNOTAVAIL", "EPERM")
"""How a machine, or a server of this one, is out of reach."""


_USUAL = Limits(wall_s=20)


class Control(Enum):
    """Where a program succeeds without doing harm."""

    HOST = "as a plain process of ours"
    ROOT = "as a plain process of root's"
    NAMESPACES = "as root of namespaces that are thrown away"
    STAYS = "as a plain process of ours, which is still there, or has left one, after a while"


HOST, ROOT, NAMESPACES, STAYS = Control

WhyNot: TypeAlias = str
"""Why a program has no control."""


@dataclass(frozen=True)
class Program:
    """One hostile program.

    `refusals` are the reasons that it may be given, of which it must be given one; where there are none, it comes to
    its end and has found nothing. `before` is run as a job of its own first. `ends` are the statuses that its job may
    end with. `missing` are the reasons that a kernel gives which lacks what the program is about: its control may then
    fail of them. `machines` are those that it is for. It `is_alone` if it would end other programs of its job.
    """

    title: str
    code: str
    refusals: tuple[str, ...] = ()
    control: Control | WhyNot = HOST
    before: str = field(default="", kw_only=True)
    ends: tuple[str, ...] = field(default=("exited",), kw_only=True)
    limits: Limits = field(default=_USUAL, kw_only=True)
    missing: tuple[str, ...] = field(default=(), kw_only=True)
    is_alone: bool = field(default=False, kw_only=True)
    machines: tuple[str, ...] = field(default=("x86_64", "aarch64"), kw_only=True)

    def __str__(self) -> str:
        return self.title

    def may_share_a_job(self) -> bool:
        """Whether one job may run others before and after it."""
        is_usual = (self.before, self.ends, self.limits) == ("", ("exited",), _USUAL)
        return is_usual and not self.is_alone
