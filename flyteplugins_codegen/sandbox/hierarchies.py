"""Where control groups are mounted, and which group of each hierarchy this process is in (cgroups(7))."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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
