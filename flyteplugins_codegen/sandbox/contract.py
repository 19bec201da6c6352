"""What a sandbox takes and gives back, whatever it is made of.

Every backend shows a job the same three folders: its program under `/app` (read-only, the working directory), its
inputs under `/var/inputs` (read-only) and an empty `/var/outputs`. `HOME` is `/tmp`, `python` on the `PATH` is the
environment's interpreter, there is no network, and of the host's variables none. Of `none`, only the places and the
variables hold; where not even these places can be made, FLYTE_CODEGEN_APP, FLYTE_CODEGEN_INPUTS and
FLYTE_CODEGEN_OUTPUTS say where the folders are instead, and arguments that begin with the places are rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final, Literal, Protocol

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.sandbox.names import check_names, check_text, check_variables
from flyteplugins_codegen.sandbox.outputs import Output

APP: Final = "/app"
INPUTS: Final = "/var/inputs"
OUTPUTS: Final = "/var/outputs"

Status = Literal["exited", "signaled", "timed_out", "out_of_memory", "output_limit", "sandbox_error"]


class Everything(Enum):
    """The type of `ALL`."""

    ALL = "all"


ALL: Final = Everything.ALL
"""As `Job.outputs`: take whatever the job left under /var/outputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one job may use, all its processes together.

    Where no control group holds them to it (`Execution.isolation` says so), `memory_mib` is private writable memory,
    refused to each process beyond it and measured for all some times a second. /tmp, /dev/shm and /var/outputs each
    hold up to `output_mib`; `output_files` and `output_mib` bound what is taken.
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
    """One command and all that it may see.

    `program` appears under /app (a name may hold one folder: `tests/test_solution.py`), `inputs` under /var/inputs (a
    path may be a folder); a value is a path on this machine, or the bytes themselves. Raises RequestError for a name
    that is not safe as a file name, a text that no process can be given, or no command at all.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What became of a job.

    `exit_code` or `signal` says how the command itself ended, wherever that is known. `stdout` and `stderr` hold the
    first `stream_kib` of each; `stdout_cut` and `stderr_cut` count the bytes that were dropped. `missing_outputs` are
    the declared outputs that could not be taken; `refused_outputs` says of each entry that was there why it was not.
    `isolation` names what held for this run, `("none",)` where nothing did; `message` explains a `sandbox_error`.
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
    """A place where untrusted programs run. Safe to use from several threads; outputs are kept until `close()`."""

    @property
    def kind(self) -> str:
        """The backend's name, as in `SandboxKind`."""

    def run(self, job: Job) -> Execution:
        """Run one job to its end. What the program does is in the result; nothing that it does raises."""

    def map(
        self, jobs: Iterable[Job], *, workers: int = 2, on_result: Callable[[int, Execution], None] | None = None
    ) -> list[Execution]:
        """Run many jobs; results are in the order of the jobs, `on_result(index, execution)` is called as each ends."""

    def close(self) -> None:
        """End what still runs and remove what is kept."""
