"""Temporary folders of a sandbox, and names that tell which process owns a folder, a control group or a container.

A process that is killed leaves such things behind; by their names the next process knows that it may remove them.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

from flyteplugins_codegen.errors import SandboxUnavailableError
from flyteplugins_codegen.sandbox.host_files import is_reachable

_OWNED = re.compile(r"codegen-[a-z]+-(?P<where>[0-9a-f]+-\d+)-(?P<pid>\d+)-(?P<began>\d+)-")


def owned_prefix(kind: str) -> str:
    """How the names of this process's own things begin: its process namespace, its number, and when it began."""
    return f"codegen-{kind}-{_identity_of(os.getpid())}-"


def is_abandoned(name: str) -> bool:
    """Whether this names something whose owner has ended; False for an owner in another process namespace."""
    match = _OWNED.match(name)
    if match is None or match["where"] != _process_namespace():
        return False
    return (_start_ticks(int(match["pid"])) or 0) != int(match["began"])


@cache
def _identity_of(pid: int) -> str:
    return f"{_process_namespace()}-{pid}-{_start_ticks(pid) or 0}"


@cache
def _process_namespace() -> str:
    """The machine's boot and the namespace of process numbers: machines and containers may share a folder."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        return f"{boot[:8]}-{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:  # not Linux: nothing is known of any process
        return secrets.token_hex(4) + "-0"


def _start_ticks(pid: int) -> int | None:
    """When a process began, in ticks since the boot: its number alone may belong to another process by now."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(status.rpartition(")")[2].split()[19])


def make_folder(stack: ExitStack) -> Path:
    """A sandbox's own folder, which others can pass through and not list; its `outputs` is closed to them."""
    root = temporary_root()
    _sweep(root)
    folder = temporary_folder(stack, root)
    (folder / "outputs").mkdir(mode=0o700)
    return folder


def temporary_folder(stack: ExitStack, parent: Path) -> Path:
    """A new folder that others can pass through and not list, removed with the stack."""
    folder = Path(tempfile.mkdtemp(prefix=owned_prefix("sandbox"), dir=parent))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o711)
    return folder


@cache
def _sweep(root: Path) -> None:
    """Remove the folders that killed processes of ours have left there; once in each process."""
    for name in os.listdir(root):  # noqa: PTH208 - a path for each of thousands of files takes 50 ms
        if is_abandoned(name):
            folder = root / name
            with suppress(OSError):  # another process sweeps too
                if folder.lstat().st_uid == os.geteuid():
                    shutil.rmtree(folder)


def temporary_root() -> Path:
    """A folder for temporary files that every user can reach."""
    for candidate in (tempfile.gettempdir(), "/tmp", "/var/tmp"):  # noqa: S108 - only a parent for mkdtemp
        if is_reachable(Path(candidate)):
            return Path(candidate)
    raise SandboxUnavailableError("no folder for temporary files is open to other users; set TMPDIR to one that is")
