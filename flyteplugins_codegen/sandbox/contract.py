"""The contract of every sandbox: what it takes (Job, Limits) and what it returns (Execution, Output).

Every backend shows a job the same three folders: its program under `/app` (read-only, the working directory), its
inputs under `/var/inputs` (read-only) and an empty `/var/outputs`. `HOME` is `/tmp`, `python` on the `PATH` is the
environment's interpreter, there is no network, and no variable of the host is passed on. The kind `none` offers only
the folders and the variables; if not even these folders can be made, FLYTE_CODEGEN_APP, FLYTE_CODEGEN_INPUTS and
FLYTE_CODEGEN_OUTPUTS name the folders that stand in for them, and arguments that begin with their paths are rewritten.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, Protocol

from flyteplugins_codegen.errors import OutputError, RequestError

APP: Final = "/app"
INPUTS: Final = "/var/inputs"
OUTPUTS: Final = "/var/outputs"

Status = Literal["exited", "signaled", "timed_out", "out_of_memory", "output_limit", "sandbox_error"]


class Everything(Enum):
    """The type of `ALL`."""

    ALL = "all"


ALL: Final = Everything.ALL
"""As `Job.outputs`: collect everything that the job left under /var/outputs."""

_LONGEST_NAME_BYTES = 255  # NAME_MAX of every Linux file system


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What all processes of one job together may use.

    Without a control group (`Execution.isolation` says so), `memory_mib` is private writable memory: the kernel limits
    each process to it, and what all use together is measured some times a second. /tmp, /dev/shm and /var/outputs each
    hold up to `output_mib`; `output_files` and `output_mib` limit what is collected.
    """

    wall_s: float = 60.0
    cpu_s: float | None = None
    memory_mib: int = 2048
    processes: int = 128
    open_files: int = 512
    output_mib: int = 512
    output_files: int = 10_000
    file_mib: int = 512
    stream_kib: int = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One command and everything that it may see.

    `program` appears under /app (a name may hold one folder: `tests/test_solution.py`), `inputs` under /var/inputs (a
    path may be a folder); a value is a path on this machine, or the bytes themselves. Raises RequestError for a name
    that is not safe as a file name, a text that cannot be passed to a process, or an empty command.
    """

    command: tuple[str, ...]
    inputs: Mapping[str, Path | bytes] = field(default_factory=dict)
    program: Mapping[str, Path | bytes] = field(default_factory=dict)
    outputs: tuple[str, ...] | Everything = ()
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        check_names("an input", self.inputs, depth=1)
        check_names("a program file", self.program, depth=2)
        check_names("an output", () if isinstance(self.outputs, Everything) else self.outputs, depth=1)
        if not self.command:
            raise RequestError("a sandboxed job has no command; give at least the program's name")
        check_text("the command", self.command)
        check_text("an environment variable", self.env.values())
        check_variables(self.env)


@dataclass(frozen=True, slots=True)
class Output:
    """One output: a file, or a folder of files. It can be read until its sandbox is closed.

    `files` maps the relative name that the job gave each file to the copy on this machine; a plain file has one entry,
    its own name. `executable` are the names of the files that the job could execute; their copies are not executable.
    `folders` are the relative names of all folders in a folder. `kept` keeps the copies on disk as long as the output.
    """

    name: str
    is_directory: bool
    size_bytes: int
    files: Mapping[str, Path]
    executable: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()
    kept: Any = None

    def read_bytes(self, limit: int) -> bytes:
        """The first `limit` bytes of a file; `size_bytes` says whether that is all. Raises OutputError for a folder."""
        if self.is_directory:
            raise OutputError(f"output {self.name!r} is a folder, a file was expected; copy it out with copy_to()")
        with self.files[self.name].open("rb") as file:
            return file.read(limit)

    def copy_to(self, path: Path) -> None:
        """Copy to `path`: a file, or a new folder with all files of the tree side by side, as the cluster stores it.

        Raises OutputError if two files of the tree have the same name, because one would replace the other.
        """
        if not self.is_directory:
            shutil.copyfile(self.files[self.name], path)
            return
        flat = self._flat_names()
        path.mkdir(parents=True)
        for name, source in flat.items():
            shutil.copyfile(source, path / name)

    def _flat_names(self) -> dict[str, Path]:
        flat: dict[str, Path] = {}
        for relative, source in self.files.items():
            name = PurePosixPath(relative).name
            if name in flat:
                raise OutputError(
                    f"output {self.name!r}: two files of the folder are called {name!r}, and a folder output is stored "
                    "flat; give every file a name of its own"
                )
            flat[name] = source
        return flat


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """The result of a job.

    `exit_code` or `signal` says how the command itself ended, if that is known. `stdout` and `stderr` hold the
    first `stream_kib` of each; `stdout_cut` and `stderr_cut` count the bytes that were dropped. `missing_outputs` are
    the declared outputs that were not collected; `refused_outputs` says why, for each entry that was refused.
    `isolation` names the layers that held for this run, `("none",)` if none did; `message` explains a `sandbox_error`.
    """

    status: Status
    exit_code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_cut: int = 0
    stderr_cut: int = 0
    outputs: Mapping[str, Output] = field(default_factory=dict)
    missing_outputs: tuple[str, ...] = ()
    refused_outputs: Mapping[str, str] = field(default_factory=dict)
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_memory_mib: float = 0.0
    isolation: tuple[str, ...] = ("none",)
    message: str = ""


class Sandbox(Protocol):
    """Runs untrusted programs. Safe to use from several threads; outputs are kept until `close()`."""

    @property
    def kind(self) -> str:
        """The backend's name, as in `SandboxKind`."""

    def run(self, job: Job) -> Execution:
        """Run one job to its end. Nothing that the program does raises: the result describes it."""

    def map(
        self, jobs: Iterable[Job], *, workers: int = 2, on_result: Callable[[int, Execution], None] | None = None
    ) -> list[Execution]:
        """Run many jobs; results are in the order of the jobs, `on_result(index, execution)` is called as each ends."""

    def close(self) -> None:
        """End what still runs, and remove the outputs."""


def check_names(what: str, names: Iterable[str], *, depth: int) -> None:
    """Raise RequestError for a name that is not a plain relative path of at most `depth` parts."""
    for name in names:
        parts = name.split("/")
        flaw = f"holds more than {depth - 1} folders" if len(parts) > depth else name_flaw(*parts)
        if flaw:
            raise RequestError(f"{what} of a sandboxed job cannot be called {name!r}: the name {flaw}; rename it")


def name_flaw(*parts: str) -> str | None:
    """Why one of these parts of a path is not safe as a file name, or None if all are safe."""
    for part in parts:
        if part in {"", ".", ".."}:
            return "is empty or points to another folder"
        if not part.isprintable() or "/" in part:
            return "holds characters that are not printable"
        if len(part.encode(errors="replace")) > _LONGEST_NAME_BYTES:
            return f"is longer than {_LONGEST_NAME_BYTES} bytes"
    return None


def check_text(what: str, texts: Iterable[str]) -> None:
    """Raise RequestError for a text that cannot be passed to a process."""
    for text in texts:
        if "\0" in text:
            raise RequestError(f"{what} of a sandboxed job holds a NUL character: {text!r}; remove it")


def check_variables(names: Iterable[str]) -> None:
    """Raise RequestError for a name that no environment variable can have."""
    for name in names:
        if not name or "=" in name or "\0" in name:
            raise RequestError(f"no environment variable of a sandboxed job can be called {name!r}; rename it")
