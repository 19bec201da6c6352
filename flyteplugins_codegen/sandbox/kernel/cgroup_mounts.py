"""Where in a version 2 hierarchy this process may make groups with limits ("No Internal Process" of cgroups(7)).

A group passes controllers on to its children only while it holds no process itself. So ours cannot be the parent of a
job's, except where we are alone in it and can step aside into a child; else a group above it has to be one that we own.
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

# Where control groups are mounted, and which group of each hierarchy this process is in (cgroups(7)).

_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A mounted hierarchy of version 1 or 2, and the folder in it of the group that we are in.

    `controllers` are those that the mount was made with; of version 2, where each group has its own, none.
    """

    version: int
    mount: Path
    own: Path
    controllers: frozenset[str]


def read_hierarchies() -> list[Hierarchy]:
    """Those that this process sees; none where the system has none."""
    try:
        memberships, mounts = (Path(f"/proc/self/{name}").read_text() for name in ("cgroup", "mountinfo"))
    except OSError:
        return []
    return list(parse_hierarchies(memberships, mounts))


def parse_hierarchies(memberships: str, mounts: str) -> Iterator[Hierarchy]:
    """From the texts of /proc/self/cgroup and /proc/self/mountinfo; only mounts that show the group that we are in."""
    groups = dict(_parse_membership(line) for line in memberships.splitlines())
    for line in mounts.splitlines():
        place, _, kind = line.partition(" - ")
        system, _, options = kind.split(" ")[:3]
        if system not in {"cgroup", "cgroup2"}:
            continue
        version = 1 if system == "cgroup" else 2
        controllers = _controllers_of(version, options.split(","), groups)
        root, mount = (_ESCAPED.sub(_unescape, field) for field in place.split(" ")[3:5])
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
    """The path of a group in a mount that shows what is below `root`; None for one that it does not show."""
    inside = group.removeprefix(root.rstrip("/"))
    shown = inside != group or root == "/"
    return inside.lstrip("/") if shown and inside[:1] in {"", "/"} and ".." not in group.split("/") else None


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 8))


_WANTED = ("memory", "pids")


def find_parent(hierarchy: Hierarchy) -> Path | None:
    """The folder of a group that passes controllers on to groups that we may make and fill; None where there is none.

    Groups above our own are taken only if no memory limit lies between: a job must not get around its supervisor's.
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
    """The controllers of interest that a group's children have."""
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
    """Go into a child of our group, so that it can pass its controllers on; at the end of this process, come back."""
    controllers = _words(own / "cgroup.controllers").intersection(_WANTED)
    child = own / f"{owned_prefix('supervisor')}0"
    if not controllers:
        return False
    try:
        child.mkdir()
        _write(child / "cgroup.procs", str(os.getpid()))
        _write(own / "cgroup.subtree_control", _signed("+", controllers))
    except OSError:  # not ours to change, or a process has joined us
        _step_back(own, child, os.getpid())
        return False
    atexit.register(partial(_step_back, own, child, os.getpid()))
    return True


def _step_back(own: Path, child: Path, pid: int) -> None:
    if os.getpid() != pid:  # a fork's end is not ours
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
    descriptor = os.open(path, os.O_WRONLY)  # never create: in a folder that is no group, nothing is to be left
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
