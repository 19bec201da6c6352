"""What every hostile program stands on; it runs in the sandbox, as `python attack.py RUN`, and executes `program.py`.

It says one line for each thing that happened: `LEAK ...` where a program got what it was after, `REFUSED <errno>` where
the kernel or the sandbox said no, and `DONE` at the end. Anything else that goes wrong is a mistake in the program and
shows as a traceback. System calls are made by number, so that no C library stands between.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any


def _told() -> dict[str, str]:
    """What is this run's own. It comes in a file, since warm workers are shared by jobs with the same variables."""
    with suppress(OSError), os.fdopen(os.open(f"{__file__.rpartition('/')[0]}/told", os.O_RDONLY)) as file:
        return dict(line.rstrip("\n").split("=", 1) for line in file)
    return {}


E = {**os.environ, **_told()}
APP = E.get("FLYTE_CODEGEN_APP", "/app")
IN = E.get("FLYTE_CODEGEN_INPUTS", "/var/inputs")
OUT = E.get("FLYTE_CODEGEN_OUTPUTS", "/var/outputs")
ROOT = E.get("ROOT", "/")  # where a program walks everything; a control walks a folder of its own
INPUTS = [path for path in (f"{IN}/data", f"{IN}/file", f"{IN}/tree/file") if os.access(path, os.F_OK)]
RUN = E.get("RUN", "")  # unlike any other run's; short enough for the name of a process
ARM = os.uname().machine == "aarch64"

# By name: on x86-64, on Arm. None: not there.
NUMBERS: dict[str, tuple[int, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "capset": (126, 91),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pivot_root": (155, 41),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "renameat2": (316, 276),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmdt": (67, 197),
    "shmget": (29, 194),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}


def say(*words: object) -> None:
    """Print at once, in one write, so that nothing is lost however the process ends."""
    os.write(1, (" ".join(str(word) for word in words) + "\n").encode(errors="replace"))


def leak(found: object, *words: object) -> None:
    """Say LEAK where something was found."""
    if found:
        say("LEAK", *words)


def refused(error: OSError) -> None:
    """Say why not."""
    say("REFUSED", errno.errorcode.get(error.errno or 0, error.errno))


def attempt(action: Callable[..., Any], *arguments: Any) -> None:
    """Say LEAK where this can be done, else why not."""
    try:
        action(*arguments)
    except OSError as error:
        refused(error)
    else:
        say("LEAK", arguments)


def reach(name: str, *arguments: Any) -> None:
    """Say LEAK where a system call gets past the gate, though it may fail of its arguments, which are meant to."""
    try:
        call(name, *arguments)
    except OSError as error:
        if error.errno in {errno.EPERM, errno.ENOSYS}:
            refused(error)
        else:
            say("LEAK", name, errno.errorcode[error.errno])
    else:
        say("LEAK", name)


def call(name: str, *arguments: Any) -> int:
    """Make a system call. Raises OSError."""
    return call_number(number_of(name), *arguments)


def number_of(name: str) -> int:
    """The number of a system call on this machine."""
    number = NUMBERS[name][ARM]
    if number is None:
        raise OSError(errno.ENOSYS, name)
    return number


def call_number(number: int, *arguments: Any) -> int:
    """Make the system call of this number. Raises OSError."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    wide = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    result: int = libc.syscall(ctypes.c_long(number), *wide)
    if result == -1:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return result


def read(path: str) -> bytes:
    """All of a file."""
    with os.fdopen(os.open(path, os.O_RDONLY), "rb") as file:
        return file.read()


def write(path: str, data: bytes = b"x") -> None:
    """Make or replace a file."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb", 0) as file:
        file.write(data)


def is_opened(path: str, flags: int) -> bool:
    """Whether a file can be opened so; not the null device, which may lie over what is closed."""
    try:
        if os.lstat(path).st_rdev == os.makedev(1, 3):
            return False
        os.close(os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY))
    except OSError:
        return False
    return True


def processes() -> list[int]:
    """Every process in sight, apart from this one; a control looks at those alone that it is told."""
    if "PROCESSES" in E:
        return [int(number) for number in E["PROCESSES"].split()]
    names = [entry.name for entry in os.scandir("/proc")]
    return [int(name) for name in names if name.isdigit() and int(name) != os.getpid()]


def in_child(action: Callable[..., Any], *arguments: Any) -> int:
    """Do it in a child; how that ended: its exit code, or minus its signal."""
    child = os.fork()
    if child == 0:
        try:
            action(*arguments)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def stay() -> None:
    """Be there for half a minute."""
    import time

    time.sleep(30)


def daemon(action: Callable[[], object]) -> None:
    """Do it in a process that has left its parent, its session and its streams."""
    if os.fork() == 0:
        os.setsid()
        os.closerange(0, 3)
        if os.fork() == 0:
            action()
        os._exit(0)
    os.wait()


_PIECE_BYTES = 16 << 20
_SHIFT = bytes((number + 1) % 256 for number in range(256))


def is_in_memory(process: int | str, shifted: bytes) -> bool:
    """Whether a process holds a text, which is given with each byte one higher: looking must not plant it."""
    try:
        maps = read(f"/proc/{process}/maps").decode()
        memory = os.open(f"/proc/{process}/mem", os.O_RDONLY)
    except OSError:
        return False
    try:
        return any(shifted in chunk.translate(_SHIFT) for chunk in _chunks(memory, maps))
    finally:
        os.close(memory)


def shift(text: str) -> bytes:
    """A text as `is_in_memory` wants it."""
    return text.encode().translate(_SHIFT)


def _chunks(memory: int, maps: str) -> Iterator[bytes]:
    for line in maps.splitlines():
        places, mode = line.split()[:2]
        start, end = (int(place, 16) for place in places.split("-"))
        for place in range(start, end if mode.startswith("rw") else start, _PIECE_BYTES):
            with suppress(OSError, OverflowError):
                yield os.pread(memory, min(_PIECE_BYTES, end - place), place)


def main() -> None:
    """Run the program that lies beside this file, or the one that is named."""
    with suppress(OSError):  # by this name what it leaves behind is found, even where nothing is executed anew
        write("/proc/self/comm", RUN.encode())
    path = f"{__file__.rpartition('/')[0]}/{(*sys.argv[2:], 'program.py')[0]}"
    try:
        exec(compile(read(path), path, "exec"), globals())  # noqa: S102 - that is what it is for
    except OSError as error:
        refused(error)
    say("DONE")


if __name__ == "__main__":
    main()
