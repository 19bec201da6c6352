"""Where control groups are mounted, and in which folder of version 2 this process may make groups (cgroups(7)).

In version 2 a group passes controllers on to its children only while it holds no process itself ("no internal
processes" rule). So the group of this process cannot be the parent of a job's group, unless this process is alone in it
and can step aside into a child. Otherwise the parent has to be a group above it that we own.
"""

from __future__ import annotations

import atexit
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from flyteplugins_codegen.sandbox.temporary import owned_prefix

_WANTED = ("memory", "pids")
_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A mounted hierarchy of version 1 or 2; `own` is the folder of the group that this process is in.

    `controllers` are those of the mount; empty for version 2, where each group has its own.
    """

    version: int
    mount: Path
    own: Path
    controllers: frozenset[str]


def read_hierarchies() -> list[Hierarchy]:
    """The hierarchies that this process sees; empty if the system has none."""
    try:
        memberships, mounts = (Path(f"/proc/self/{name}").read_text() for name in ("cgroup", "mountinfo"))
    except OSError:
        return []
    return list(parse_hierarchies(memberships, mounts))


def parse_hierarchies(memberships: str, mounts: str) -> Iterator[Hierarchy]:
    """Parse /proc/self/cgroup and /proc/self/mountinfo; only mounts that show the group of this process count."""
    groups = dict(_parse_membership(line) for line in memberships.splitlines())
    for line in mounts.splitlines():
        mount_fields, _, source_fields = line.partition(" - ")
        system, _, options = source_fields.split(" ")[:3]
        if system not in {"cgroup", "cgroup2"}:
            continue
        version = 1 if system == "cgroup" else 2
        controllers = _controllers_of(version, options.split(","), groups)
        root, mount = (_ESCAPED.sub(_unescape, field) for field in mount_fields.split(" ")[3:5])
        inside = _below(root, groups[controllers]) if controllers is not None else None
        if controllers is not None and inside is not None:
            yield Hierarchy(version, Path(mount), Path(mount, inside), controllers)


def _parse_membership(line: str) -> tuple[frozenset[str], str]:
    _, controllers, group = line.split(":", 2)
    return frozenset(controllers.split(",")) - {""}, group


def _controllers_of(version: int, options: list[str], groups: dict[frozenset[str], str]) -> frozenset[str] | None:
    if version == 2:  # noqa: PLR2004 - the version's name
        return frozenset() if frozenset() in groups else None
    return next((controllers for controllers in groups if controllers and controllers <= {*options}), None)


def _below(root: str, group: str) -> str | None:
    """The path of a group in a mount that shows what is below `root`; None if the mount does not show it."""
    inside = group.removeprefix(root.rstrip("/"))
    is_below = inside != group or root == "/"
    return inside.lstrip("/") if is_below and inside[:1] in {"", "/"} and ".." not in group.split("/") else None


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 8))


def find_parent(hierarchy: Hierarchy) -> Path | None:
    """The folder of a group that passes controllers on to groups that we may make and fill, or None.

    A group above our own is used only if no group in between limits memory: a job must not escape the limit of its
    supervisor.
    """
    own = hierarchy.own
    if passed_on(own) or (_holds_only_us(own) and _step_aside(own)):
        return own
    for below, folder in _upwards(own, hierarchy.mount):
        if _is_limited(below):
            return None
        if passed_on(folder) and os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK):
            return folder
    return None


def passed_on(folder: Path) -> frozenset[str]:
    """The needed controllers that a group's children have."""
    return _words(folder / "cgroup.subtree_control").intersection(_WANTED)


def _upwards(own: Path, mount: Path) -> Iterator[tuple[Path, Path]]:
    below = own
    while below != mount:
        yield below, below.parent
        below = below.parent


def _is_limited(group: Path) -> bool:
    return bool(_words(group / "memory.max") - {"max"})


def _holds_only_us(group: Path) -> bool:
    return _words(group / "cgroup.procs") == {str(os.getpid())}


def _step_aside(own: Path) -> bool:
    """Move this process into a child of its group, which can then pass controllers on; move back when it exits."""
    controllers = _words(own / "cgroup.controllers").intersection(_WANTED)
    child = own / f"{owned_prefix('supervisor')}0"
    if not controllers:
        return False
    try:
        child.mkdir()
        _write(child / "cgroup.procs", str(os.getpid()))
        _write(own / "cgroup.subtree_control", _signed("+", controllers))
    except OSError:  # no permission, or another process has joined the group
        _step_back(own, child, os.getpid())
        return False
    atexit.register(partial(_step_back, own, child, os.getpid()))
    return True


def _step_back(own: Path, child: Path, pid: int) -> None:
    if os.getpid() != pid:  # a fork of this process exits
        return
    with suppress(OSError):
        _write(own / "cgroup.subtree_control", _signed("-", passed_on(own)))
    with suppress(OSError):
        _write(own / "cgroup.procs", str(pid))
    with suppress(OSError):
        child.rmdir()


def _signed(sign: str, controllers: frozenset[str]) -> str:
    return " ".join(f"{sign}{name}" for name in sorted(controllers))


def _words(path: Path) -> frozenset[str]:
    try:
        return frozenset(path.read_text().split())
    except OSError:
        return frozenset()


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)  # never create: if the folder is no control group, it stays as it is
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
