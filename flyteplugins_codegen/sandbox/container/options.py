"""The `run` command of a job's container: what is closed, what is sized, and which files are mounted."""

from __future__ import annotations

import resource
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.sandbox import init
from flyteplugins_codegen.sandbox.container import init as container_init
from flyteplugins_codegen.sandbox.container.engine import Engine
from flyteplugins_codegen.sandbox.contract import APP, INPUTS, OUTPUTS, Limits
from flyteplugins_codegen.sandbox.host_files import copy_readable, is_readable_throughout, require_input
from flyteplugins_codegen.sandbox.payload import module_path
from flyteplugins_codegen.sandbox.python_files import ENVIRONMENT
from flyteplugins_codegen.sandbox.staging import UNPRIVILEGED_UID
from flyteplugins_codegen.sandbox.temporary import owned_prefix

LABEL: Final = "flyteplugins-codegen=sandbox"
"""The label of every container of a sandbox."""

INIT_PATH: Final = str(ENVIRONMENT / "container_init.py")
"""The path of our init program in a container."""

# Process 1 of the container is ours; its memory counts too.
_OWN_PROCESSES, _OWN_MIB = 1, 16
# A usual limit on open files, and on processes, which are counted over all containers of a user.
_USUAL_LIMIT = 16384
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
    "--security-opt=label=disable",  # else SELinux hides the mounts from the job; they are read-only
    "--hostname=box",
    "--workdir=/",
    "--log-driver=none",
    "--no-healthcheck",
    "--stop-timeout=0",
)
_ENGINE_OPTIONS = {
    "podman": ("--read-only-tmpfs=false", "--image-volume=ignore", "--http-proxy=false", "--systemd=false"),
    "docker": (),
}
_UNMOUNTABLE = frozenset(',"\n')  # an engine's options are comma-separated values


@dataclass(frozen=True, slots=True)
class ContainerImage:
    """An image, by the name or identity that an engine knows, and the Python in it that runs our init program."""

    engine: Engine
    identity: str
    python: str


def run_command(image: ContainerImage, name: str, limits: Limits, mounts: Iterable[Mount], argument: str) -> list[str]:
    """The command that runs `container_init ARGUMENT` in a container called `name`, removed when it ends."""
    mount_options = [option for mount in mounts for option in ("--mount", mount.option())]
    return [
        *image.engine.command,
        "run",
        *_CLOSED,
        *_ENGINE_OPTIONS[image.engine.name],
        f"--name={name}",
        f"--label={LABEL}",
        f"--user={UNPRIVILEGED_UID}:{UNPRIVILEGED_UID}",
        *_limit_options(limits),
        *mount_options,
        f"--entrypoint={image.python}",
        image.identity,
        "-I",
        "-S",
        INIT_PATH,
        argument,
    ]


def memory_bytes(limits: Limits) -> int:
    """The limit on the container's memory: the job's and that of process 1."""
    return (limits.memory_mib + _OWN_MIB) << 20


def process_count(limits: Limits) -> int:
    """The limit on the container's processes: the job's and process 1."""
    return limits.processes + _OWN_PROCESSES


def _limit_options(limits: Limits) -> list[str]:
    memory, folder_bytes = memory_bytes(limits), limits.output_mib << 20
    tmpfs = f"rw,exec,nosuid,nodev,mode=1777,size={folder_bytes}"
    return [
        f"--memory={memory}",
        f"--memory-swap={memory}",
        f"--pids-limit={process_count(limits)}",
        # An engine's default may be more than this process can pass on. Init sets the job's own, lower limits.
        f"--ulimit=nofile={_ulimit(resource.RLIMIT_NOFILE, limits.open_files)}",
        f"--ulimit=nproc={_ulimit(resource.RLIMIT_NPROC, limits.processes)}",
        f"--shm-size={folder_bytes}",
        f"--tmpfs=/tmp:{tmpfs}",
        f"--tmpfs={OUTPUTS}:{tmpfs}",
    ]


def _ulimit(kind: int, wanted: int) -> str:
    hard = resource.getrlimit(kind)[1]
    most = max(wanted, _USUAL_LIMIT)
    limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
    return f"{limit}:{limit}"


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of this machine, and the path at which a container sees it, read-only.

    Raises SandboxError for a path that an engine cannot be given.
    """

    source: Path
    target: str

    def __post_init__(self) -> None:
        if not _is_mountable(str(self.source)):
            raise SandboxError(f"a container cannot be shown {str(self.source)!r}: the path holds a comma or a quote")

    def option(self) -> str:
        """The value of the option `--mount`."""
        return f"type=bind,source={self.source},target={self.target},readonly"


class JobFileMounts:
    """The files of one job, in a folder below `parent` or where they are; `mounts` shows them to its container."""

    def __init__(self, parent: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="job-", dir=parent))
        self._folder.chmod(0o711)
        self.mounts: list[Mount] = []
        for target in (APP, INPUTS):
            self._make_folder(self._path_for(target))
            self.mounts.append(Mount(self._path_for(target), target))

    @property
    def folder(self) -> Path:
        """The folder, to be removed with the job."""
        return self._folder

    def add_all(self, target: str, files: Mapping[str, Path | bytes]) -> None:
        """Show every file under `target`. Raises RequestError for a path that does not exist."""
        for name, content in files.items():
            path = self._path_for(target) / name
            if not path.parent.exists():
                self._make_folder(path.parent)
            if isinstance(content, bytes):
                self._write(path, content)
            else:
                self._show(require_input(name, content).resolve(), path, f"{target}/{name}")

    def _path_for(self, target: str) -> Path:
        return self._folder / Path(target).name

    def _show(self, source: Path, path: Path, target: str) -> None:
        if not (_is_mountable(str(source), target) and is_readable_throughout(source)):
            copy_readable(source, path)
            return
        if source.is_dir():  # a mount needs something to cover
            self._make_folder(path)
        else:
            self._write(path, b"")
        self.mounts.append(Mount(source, target))

    def _make_folder(self, path: Path) -> None:
        path.mkdir()
        path.chmod(0o755)

    def _write(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        path.chmod(0o444)


def _is_mountable(*paths: str) -> bool:
    return not any(_UNMOUNTABLE.intersection(path) for path in paths)


def container_name() -> str:
    """A name for one container that tells which process owns it."""
    return owned_prefix("container") + secrets.token_hex(4)


def copy_init(folder: Path) -> None:
    """Copy our init program, and `init`, which it imports, into the folder that a container sees as /environment."""
    for name, module in ((Path(INIT_PATH).name, container_init), ("init.py", init)):
        shutil.copyfile(module_path(module), folder / name)
        (folder / name).chmod(0o644)
