"""The system calls that a job is refused, as a seccomp filter in classic BPF (seccomp(2), Linux's `filter.h`).

A deny list: the calls that it names fail with an error that programs expect, calls of newer kernels do not exist, and
everything else is allowed. It closes what namespaces leave open (AF_VSOCK, keyrings, io_uring, other rarely used parts
of the kernel), and closes again what missing capabilities already close.
"""

from __future__ import annotations

import errno
import struct
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

from flyteplugins_codegen.sandbox.kernel.syscalls import ARCHITECTURES, NEWEST, NUMBERS

_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_ERROR = 0x00050000  # SECCOMP_RET_ERRNO, and the number in the low bits
_REFUSE = _ERROR | errno.EPERM
_ABSENT = _ERROR | errno.ENOSYS  # libraries fall back on older calls
_NO_FAMILY = _ERROR | 97  # EAFNOSUPPORT, which not every system's `errno` has

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _DATAGRAM, _SOCKET_TYPE = 1, 2, 0xF
_TCP, _UDP, _NETLINK_ROUTE = 6, 17, 0
_CLONE_NEW = 0x7E020000
_CREATES = 0x400040  # O_CREAT, O_TMPFILE
_SET_ID = 0o6000
_DEVICES, _FILE_TYPE = (0o020000, 0o060000), 0o170000
_TERMINAL_INPUT = (0x5412, 0x541C, 0x541D, 0x5423)  # TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD
_SOCKET_PROGRAMS = (26, 50, 51, 52)  # SO_ATTACH_FILTER, _BPF, _REUSEPORT_CBPF, _REUSEPORT_EBPF


@dataclass(frozen=True, slots=True)
class _Condition:
    """Whether the low 32 bits of an argument, under `mask`, are one of `values`; without `among`, are none of them."""

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    among: bool = True


@dataclass(frozen=True, slots=True)
class _Rule:
    """These system calls end in `action` if every condition holds."""

    action: int
    names: str
    conditions: tuple[_Condition, ...] = ()


def _unless(argument: int, *values: int, mask: int = 0xFFFFFFFF) -> _Condition:
    return _Condition(argument, values, mask, among=False)


_INTERNET = _Condition(0, (_INET, _INET6))

_RULES: Final = (
    _Rule(_ABSENT, "clone3 openat2 statmount listmount io_uring_setup io_uring_enter io_uring_register"),
    _Rule(_REFUSE, "mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick move_mount open_tree"),
    _Rule(_REFUSE, "open_tree_attr mount_setattr setns unshare sethostname setdomainname"),
    _Rule(_REFUSE, "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd"),
    _Rule(_REFUSE, "bpf perf_event_open userfaultfd seccomp add_key request_key keyctl memfd_secret lsm_set_self_attr"),
    _Rule(_REFUSE, "create_module init_module finit_module delete_module query_module get_kernel_syms"),
    _Rule(_REFUSE, "kexec_load kexec_file_load reboot swapon swapoff acct syslog quotactl quotactl_fd vhangup"),
    _Rule(_REFUSE, "settimeofday clock_settime adjtimex clock_adjtime fanotify_init fanotify_mark"),
    _Rule(_REFUSE, "name_to_handle_at open_by_handle_at lookup_dcookie nfsservctl uselib sysfs _sysctl"),
    _Rule(_REFUSE, "iopl ioperm modify_ldt remap_file_pages"),
    _Rule(_REFUSE, "mbind set_mempolicy set_mempolicy_home_node migrate_pages move_pages"),
    _Rule(_REFUSE, "setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups"),
    _Rule(_REFUSE, "clone", (_unless(0, 0, mask=_CLONE_NEW),)),
    _Rule(_REFUSE, "personality", (_unless(0, 0, 0xFFFFFFFF),)),  # allows the default one, and reading the current one
    _Rule(_REFUSE, "prctl", (_Condition(0, (22,)),)),  # PR_SET_SECCOMP
    _Rule(_REFUSE, "prlimit64", (_unless(0, 0),)),  # of other processes: our process 1 may run as the same user
    _Rule(_REFUSE, "ioctl", (_Condition(1, _TERMINAL_INPUT),)),
    _Rule(_NO_FAMILY, "socket", (_unless(0, _UNIX, _INET, _INET6, _NETLINK),)),
    _Rule(_REFUSE, "socket", (_INTERNET, _unless(1, _STREAM, _DATAGRAM, mask=_SOCKET_TYPE))),
    _Rule(_REFUSE, "socket", (_INTERNET, _unless(2, 0, _TCP, _UDP))),
    # NETLINK_ROUTE: glibc lists the network interfaces with it; in the job's namespace there is only the loopback.
    _Rule(_REFUSE, "socket", (_Condition(0, (_NETLINK,)), _unless(2, _NETLINK_ROUTE))),
    _Rule(_NO_FAMILY, "socketpair", (_unless(0, _UNIX),)),
    _Rule(_REFUSE, "setsockopt", (_Condition(1, (1,)), _Condition(2, _SOCKET_PROGRAMS))),  # 1: SOL_SOCKET
    _Rule(_REFUSE, "mknod", (_Condition(1, _DEVICES, _FILE_TYPE),)),
    _Rule(_REFUSE, "mknodat", (_Condition(2, _DEVICES, _FILE_TYPE),)),
    _Rule(_REFUSE, "chmod fchmod creat mknod", (_unless(1, 0, mask=_SET_ID),)),
    _Rule(_REFUSE, "fchmodat fchmodat2 mknodat", (_unless(2, 0, mask=_SET_ID),)),
    _Rule(_REFUSE, "open", (_unless(1, 0, mask=_CREATES), _unless(2, 0, mask=_SET_ID))),
    _Rule(_REFUSE, "openat", (_unless(2, 0, mask=_CREATES), _unless(3, 0, mask=_SET_ID))),
)

_HIDDEN_MEMORY = _Rule(_ABSENT, "memfd_create shmget msgget semget")

_Instruction: TypeAlias = tuple[int, int, int, int]
"""struct sock_filter: the code, how many instructions to skip if it is true and if it is false, and a constant."""

_LOAD, _AND, _JUMP, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x54, 0x05, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_MAX_JUMP = 255


@cache
def seccomp_program(machine: str, *, memory_is_counted: bool = True) -> bytes | None:
    """The filter, an array of `struct sock_filter`, for a machine named as by `os.uname()`; None for an unknown one.

    A call through another architecture's entry (32-bit programs) ends the process; a call of x32 does not exist. If no
    control group counts a job's memory, calls that keep memory outside of its processes and folders do not exist.
    """
    if machine not in ARCHITECTURES:
        return None
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER),
        *_choose(_ranges(machine, _RULES if memory_is_counted else (*_RULES, _HIDDEN_MEMORY))),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


_Range: TypeAlias = tuple[int, tuple[_Rule, ...]]
"""The first number of a range, which ends before the next range, and the rules of its system calls."""


def _ranges(machine: str, rules: tuple[_Rule, ...]) -> list[_Range]:
    rules_by_number = {
        number: tuple(rule for rule in rules if name in rule.names.split()) for name, number in NUMBERS[machine].items()
    }
    rules_by_number[NEWEST + 1] = (_Rule(_ABSENT, ""),)
    starts = sorted({0, *rules_by_number, *(number + 1 for number in rules_by_number if number < NEWEST)})
    ranges = ((start, rules_by_number.get(start, ())) for start in starts)
    return [next(same) for _, same in groupby(ranges, key=itemgetter(1))]


def _choose(ranges: list[_Range]) -> list[_Instruction]:
    """A binary search for the range of the loaded number. Each path ends in a return, so no jump leads backwards."""
    if len(ranges) == 1:
        return _follow(ranges[0][1])
    middle = len(ranges) // 2
    below, above = _choose(ranges[:middle]), _choose(ranges[middle:])
    start = ranges[middle][0]
    if len(below) <= _MAX_JUMP:
        return [(_IF_AT_LEAST, len(below), 0, start), *below, *above]
    return [(_IF_AT_LEAST, 0, 1, start), (_JUMP, 0, 0, len(below)), *below, *above]


def _follow(rules: tuple[_Rule, ...]) -> list[_Instruction]:
    lines = [line for rule in rules for line in _apply(rule)]
    return [*lines, (_RETURN, 0, 0, _ALLOW)] if all(rule.conditions for rule in rules) else lines


def _apply(rule: _Rule) -> list[_Instruction]:
    """Return the rule's action if it applies, else continue after it."""
    lines = [(_RETURN, 0, 0, rule.action)]
    for condition in reversed(rule.conditions):
        lines = [*_check(condition, len(lines)), *lines]
    return lines


def _check(condition: _Condition, skipped: int) -> list[_Instruction]:
    """Continue if the condition holds, else skip that many lines."""
    lines = [(_LOAD, 0, 0, _ARGUMENTS + 8 * condition.argument), (_AND, 0, 0, condition.mask)]
    last = len(condition.values) - 1
    for index, value in enumerate(condition.values):
        rest = last - index
        equal = rest if condition.among else rest + skipped
        different = skipped if condition.among and not rest else 0
        lines.append((_IF_EQUAL, equal, different, value))
    return lines
