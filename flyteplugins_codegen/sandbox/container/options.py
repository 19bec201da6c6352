"""Running a first container of an image, and so learning whether and how it works: nothing of it is guessed."""

from __future__ import annotations

import json
import os
import resource
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.errors import SandboxError, SandboxUnavailableError
from flyteplugins_codegen.sandbox.bwrap_options import copy_openly, is_readable
from flyteplugins_codegen.sandbox.container import init
from flyteplugins_codegen.sandbox.container.engine import Engine, EngineError, ask
from flyteplugins_codegen.sandbox.contract import APP, INPUTS, OUTPUTS, Limits
from flyteplugins_codegen.sandbox.payload import module_path
from flyteplugins_codegen.sandbox.python_files import ENVIRONMENT, UNPRIVILEGED_UID
from flyteplugins_codegen.sandbox.temporary import (
    is_abandoned,
    open_place,
    owned_prefix,
    require_input,
    temporary_folder,
)

# The files of one job as a container sees them: folders of this machine, mounted read-only.

_UNMOUNTABLE = frozenset(',"\n')  # an engine's options are comma-separated values


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of this machine, and where a container sees it, read-only. SandboxError: it cannot be named."""

    source: Path
    target: str

    def __post_init__(self) -> None:
        if not _is_mountable(str(self.source)):
            raise SandboxError(f"a container cannot be shown {str(self.source)!r}: the path holds a comma or a quote")

    def option(self) -> str:
        """As a value of the option `--mount`."""
        return f"type=bind,source={self.source},target={self.target},readonly"


class Files:
    """A folder below `parent` with what one job may see; `mounts` shows it."""

    def __init__(self, parent: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="job-", dir=parent))
        self._folder.chmod(0o711)
        self.mounts: list[Mount] = []
        for target in (APP, INPUTS):
            self._make_folder(self._place(target))
            self.mounts.append(Mount(self._place(target), target))

    @property
    def folder(self) -> Path:
        """The folder itself, to be removed with the job."""
        return self._folder

    def add_all(self, target: str, files: Mapping[str, Path | bytes]) -> None:
        """Show every file under `target`. Raises RequestError for a path that is not there."""
        for name, content in files.items():
            place = self._place(target) / name
            if not place.parent.exists():
                self._make_folder(place.parent)
            if isinstance(content, bytes):
                self._write(place, content)
            else:
                self._show(require_input(name, content).resolve(), place, f"{target}/{name}")

    def _place(self, target: str) -> Path:
        return self._folder / Path(target).name

    def _show(self, source: Path, place: Path, target: str) -> None:
        if not (_is_mountable(str(source), target) and is_readable_throughout(source)):
            copy_openly(source, place)
            return
        if source.is_dir():  # something must be there to mount it on
            self._make_folder(place)
        else:
            self._write(place, b"")
        self.mounts.append(Mount(source, target))

    def _make_folder(self, path: Path) -> None:
        path.mkdir()
        path.chmod(0o755)

    def _write(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        path.chmod(0o444)


def is_readable_throughout(path: Path) -> bool:
    """Whether every user could read this file, or this folder and all in it, once it can be reached."""
    inside: Iterable[Path] = (
        Path(folder, name) for folder, folders, files in os.walk(path) for name in (*folders, *files)
    )
    return is_readable(path) and all(map(is_readable, inside))


def _is_mountable(*paths: str) -> bool:
    return not any(_UNMOUNTABLE.intersection(path) for path in paths)


# The command that runs one job's container: what is closed, what is sized, what is shown.

LABEL: Final = "flyteplugins-codegen=sandbox"
"""Every container of a sandbox has it."""

REAPER: Final = str(ENVIRONMENT / "container_init.py")
"""Where a container shows our program."""

# Process 1 of the container is ours, and counts as one of its processes and with its memory.
_OWN_PROCESSES, _OWN_MIB = 1, 16
# Of files; of processes, which are counted over all containers of a user.
_USUAL = 16384
_CLOSED = (
    "--rm",
    "--interactive",
    "--pull=never",
    "--network=none",
    "--ipc=private",
    "--cgroupns=private",
    "--read-only",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--security-opt=label=disable",  # else SELinux keeps what is mounted from the job; nothing can be written to there
    "--hostname=box",
    "--workdir=/",
    "--log-driver=none",
    "--no-healthcheck",
    "--stop-timeout=0",
)
_DIALECTS = {
    "podman": ("--read-only-tmpfs=false", "--image-volume=ignore", "--http-proxy=false", "--systemd=false"),
    "docker": (),
}


@dataclass(frozen=True, slots=True)
class Place:
    """An image as an engine knows it, and the program in it that is to be process 1."""

    engine: Engine
    image: str
    python: str


def run_command(place: Place, name: str, limits: Limits, mounts: Iterable[Mount], argument: str) -> list[str]:
    """Run `container_init ARGUMENT` in a container called `name`, which is removed when it ends."""
    shown = [option for mount in mounts for option in ("--mount", mount.option())]
    return [
        *place.engine.command,
        "run",
        *_CLOSED,
        *_DIALECTS[place.engine.name],
        f"--name={name}",
        f"--label={LABEL}",
        f"--user={UNPRIVILEGED_UID}:{UNPRIVILEGED_UID}",
        *_bounds(limits),
        *shown,
        f"--entrypoint={place.python}",
        place.image,
        "-I",
        "-S",
        REAPER,
        argument,
    ]


def memory_bytes(limits: Limits) -> int:
    """What the container's memory is limited to: the job's, and that of process 1."""
    return (limits.memory_mib + _OWN_MIB) << 20


def process_count(limits: Limits) -> int:
    """What the number of the container's processes is limited to."""
    return limits.processes + _OWN_PROCESSES


def _bounds(limits: Limits) -> list[str]:
    memory, room = memory_bytes(limits), limits.output_mib << 20
    sized = f"rw,exec,nosuid,nodev,mode=1777,size={room}"
    return [
        f"--memory={memory}",
        f"--memory-swap={memory}",
        f"--pids-limit={process_count(limits)}",
        # What an engine sets by itself may be more than this process can pass on. The job's own limits are lower.
        f"--ulimit=nofile={_allowed(resource.RLIMIT_NOFILE, limits.open_files)}",
        f"--ulimit=nproc={_allowed(resource.RLIMIT_NPROC, limits.processes)}",
        f"--shm-size={room}",
        f"--tmpfs=/tmp:{sized}",
        f"--tmpfs={OUTPUTS}:{sized}",
    ]


def _allowed(kind: int, wanted: int) -> str:
    hard = resource.getrlimit(kind)[1]
    most = max(wanted, _USUAL)
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    return f"{allowed}:{allowed}"


_ENGINES_FAULT = frozenset({None, 125, 126})  # as exit statuses of both engines; 126 may be the runtime's


@dataclass(frozen=True, slots=True)
class Trial:
    """What a container was found to be like: its Python, its kernel's machine, and what of its limits it is held to.

    `suffix` is what extension modules end in: `.cpython-311-x86_64-linux-gnu.so` says version, machine and C library.
    """

    place: Place
    version: str
    suffix: str
    machine: str
    layers: tuple[str, ...]


@cache
def try_image(engine: Engine, image: str) -> Trial:
    """Run our own program in a container of an image, with each runtime until one works. Once in a process.

    Raises SandboxUnavailableError where this engine can run none, or the image has no Python that does.
    """
    _sweep(engine)
    errors = dict[str, str]()
    for variant in engine.variants():
        try:
            return _try(Place(variant, image, "python3"))
        except EngineError as error:  # noqa: PERF203 - few rounds, of a tenth of a second each
            if error.status not in _ENGINES_FAULT:
                raise SandboxUnavailableError(f"the image has no python3 that works ({error})") from error
            errors[variant.runtime or "its own runtime"] = str(error)
    told = "; ".join(f"{runtime}: {error}" for runtime, error in errors.items())
    raise SandboxUnavailableError(f"{engine.name} cannot run a container here ({told})")


def put_reaper(folder: Path) -> None:
    """Put our program into the folder that a container sees as /environment."""
    target = folder / Path(REAPER).name
    shutil.copyfile(module_path(init), target)
    target.chmod(0o644)


def container_name() -> str:
    """A name for one container that says whose it is."""
    return owned_prefix("container") + secrets.token_hex(4)


def _sweep(engine: Engine) -> None:
    """Remove what processes of ours have left that were killed at a bad moment; a started container goes by itself."""
    with suppress(EngineError):
        for name in filter(is_abandoned, engine.never_started(LABEL)):
            engine.remove(name)


def _try(place: Place) -> Trial:
    limits = Limits()
    name = container_name()
    with ExitStack() as stack:
        folder = temporary_folder(stack, open_place())
        folder.chmod(0o755)
        put_reaper(folder)
        try:
            answer = ask(run_command(place, name, limits, [Mount(folder, str(ENVIRONMENT))], "describe"))
        except EngineError:
            place.engine.remove(name)
            raise
    found = _read_answer(answer)
    return Trial(
        place=replace(place, python=found["python"]),
        version=found["version"],
        suffix=found["suffix"],
        machine=found["machine"],
        layers=tuple(_layers(found, limits)),
    )


def _read_answer(answer: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(answer)
    except ValueError as error:
        raise SandboxUnavailableError(f"the image's python3 is none: it answered {answer[:200]!r}") from error
    return found


def _layers(found: Mapping[str, Any], limits: Limits) -> Iterator[str]:
    """What holds in such a container beside what holds in every one, as in `Execution.isolation`."""
    asked = {"memory": memory_bytes(limits), "processes": process_count(limits)}
    yield from (name for name in ("user", "cgroup-namespace") if found[name])
    held = {name for name, most in asked.items() if 0 < (found[name] or 0) <= most}
    yield from (f"cgroup-{name}" if name in held else f"rlimit-{name}" for name in asked)
    if "memory" in held and found["counts_cpu"]:
        yield "cgroup-cpu"
