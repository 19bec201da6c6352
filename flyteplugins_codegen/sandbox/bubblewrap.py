"""Jobs in bubblewrap: for each, one unprivileged process tree in namespaces of its own, gone when its command ends.

Our init process inside holds the command until its /var/outputs has been opened from outside. That descriptor outlives
the namespaces: outputs are read when every process is dead, and what is not collected vanishes with the descriptor.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from flyteplugins_codegen.sandbox import bwrap_options
from flyteplugins_codegen.sandbox.bwrap_options import JobFileOptions
from flyteplugins_codegen.sandbox.contract import APP, INPUTS, OUTPUTS, Execution, Job
from flyteplugins_codegen.sandbox.host_files import require_readable
from flyteplugins_codegen.sandbox.kernel.cgroups import Cgroup, CgroupRoots
from flyteplugins_codegen.sandbox.kernel.limits import render_rlimits
from flyteplugins_codegen.sandbox.kernel.seccomp import seccomp_program
from flyteplugins_codegen.sandbox.pool import run_all
from flyteplugins_codegen.sandbox.process import START_S, JobLauncher, ProcessWatcher, open_pipe
from flyteplugins_codegen.sandbox.python_files import (
    ENVIRONMENT,
    EnvironmentPython,
    base_variables,
    write_shared_folders,
)
from flyteplugins_codegen.sandbox.running import PreparedJob, failure_message
from flyteplugins_codegen.sandbox.staging import UNPRIVILEGED_UID, StagingMounts
from flyteplugins_codegen.sandbox.temporary import make_folder
from flyteplugins_codegen.sandbox.warm.fork import Rights, WarmWorkers, ZygoteSandbox, is_small

_NAMESPACES = ("user", "mount", "pid", "network", "ipc", "uts", "cgroup-namespace")
_PRIVILEGES = ("no-nested-user-namespace", "no-capabilities", "no-new-privileges", "private-root")
_RLIMITS = ("rlimit-processes", "rlimit-files")


@dataclass(frozen=True, slots=True)
class BwrapBinary:
    """A bwrap program: `folder / name`. The folder also holds the libraries that it was shipped with."""

    folder: Path
    name: str


class Bubblewrap:
    """The sandbox of kind `bubblewrap`; with `shared=True` the one of kind `none`, which isolates nothing.

    Without `cgroups`, resource limits hold for each process, and what all use together is measured. `preload` names
    the modules that warm workers import before they fork.
    """

    def __init__(
        self,
        binary: BwrapBinary,
        interpreter: EnvironmentPython,
        *,
        shared: bool = False,
        cgroups: CgroupRoots | None = None,
        preload: Sequence[str] = (),
    ) -> None:
        self.kind = "none" if shared else "bubblewrap"
        self._cgroups = cgroups
        self._interpreter = interpreter
        with ExitStack() as stack:
            self._folder = make_folder(stack)
            self._copies = self._folder / "outputs"
            write_shared_folders(self._folder, interpreter)
            self._staging = None if shared or not _may_drop_root() else _open_staging(stack, binary, interpreter)
            reachable = self._staging.path_of if self._staging else Path
            entry_command = self._staging.entry_command() if self._staging else []
            self._command = [*entry_command, str(reachable(binary.folder) / binary.name)]
            self._root = (bwrap_options.host_root if shared else bwrap_options.private_root)(
                self._folder, interpreter, reachable
            )
            self._warm = self._open_warm(tuple(preload), stack) if self._filter(None) else None
            self._stack = stack.pop_all()

    def run(self, job: Job) -> Execution:
        """Run one job to its end. Raises RequestError for an input that does not exist."""
        with self._group(job) as group:
            try:
                with ExitStack() as stack:
                    prepared = self._prepare(job, group, stack)
                    execution = prepared.run(group, self._copies) if isinstance(prepared, PreparedJob) else prepared
            except OSError as error:  # this machine is out of processes, descriptors or disk space
                execution = Execution(status="sandbox_error", message=str(error))
            return replace(execution, isolation=self._isolation(group))

    def map(
        self, jobs: Iterable[Job], *, workers: int = 2, on_result: Callable[[int, Execution], None] | None = None
    ) -> list[Execution]:
        """Run many jobs, `workers` at a time; results are in their order.

        A job runs in a fork of a waiting interpreter if there is one and the job's files are small, else as in `run`.
        """
        run = partial(self._run_warm, self._warm) if self._warm else self.run
        return run_all(run, jobs, workers=workers, on_result=on_result)

    def close(self) -> None:
        """End the warm workers and remove the sandbox's folder."""
        self._stack.close()

    def _isolation(self, group: Cgroup | None) -> tuple[str, ...]:
        if self.kind == "none":
            return ("none",)
        unprivileged = ("unprivileged-uid",) if self._staging or os.geteuid() else ()
        seccomp = ("seccomp",) if self._filter(group) else ()
        memory = () if "cgroup-memory" in _layers(group) else ("rlimit-memory",)
        return (*_NAMESPACES, *_PRIVILEGES, *unprivileged, *seccomp, *_layers(group), *memory, *_RLIMITS)

    @contextmanager
    def _group(self, job: Job) -> Iterator[Cgroup | None]:
        try:
            group = self._cgroups.open(job.limits) if self._cgroups else None
        except OSError:  # the hierarchy is gone or full: resource limits hold instead, and `isolation` says so
            group = None
        try:
            yield group
        finally:
            if group:
                group.close()

    def _open_warm(self, preload: tuple[str, ...], stack: ExitStack) -> WarmWorkers:
        root, env = tuple(self._root), self._variables()
        return stack.enter_context(closing(WarmWorkers(ZygoteSandbox(tuple(self._command), root, env, preload))))

    def _run_warm(self, workers: WarmWorkers, job: Job) -> Execution:
        """Run a job in a fork, or as `run` does if its files are large or the fork was lost."""
        with suppress(OSError):
            execution = self._run_forked(workers, job) if is_small(job) else None
            if execution:
                return execution
        return self.run(job)

    def _run_forked(self, workers: WarmWorkers, job: Job) -> Execution | None:
        with self._group(job) as group:
            rights = Rights(render_rlimits(job.limits, _layers(group)), self._filter(group) or b"")
            with workers.prepared(job, rights, group) as prepared:
                execution = prepared.run(group, self._copies) if prepared else None
            return replace(execution, isolation=_interned(*self._isolation(group), "warm")) if execution else None

    def _prepare(self, job: Job, group: Cgroup | None, stack: ExitStack) -> PreparedJob | Execution:
        """Start a job's init process, which waits for its release; an Execution with the error if it does not start."""
        entries = group.entries(stack) if group else ()
        launcher = JobLauncher(stack, job.limits, _layers(group), entries)
        info, info_end = open_pipe(stack)
        watcher = self._start(job, group, launcher, info_end.fileno(), stack)
        if group and not entries:
            group.prepare()
        if not watcher.wait_ready(START_S):
            return Execution(status="sandbox_error", message=failure_message(watcher, job))
        first = json.loads(info.read(4096))["child-pid"]
        if group and not entries:
            group.add(first)
        private = () if self.kind == "none" else bwrap_options.PRIVATE_FOLDERS
        folders = tuple(f"/proc/{first}/root{folder}" for folder in (OUTPUTS, *private))
        outputs = os.open(folders[0], os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, outputs)
        return PreparedJob(job, first, watcher, outputs, folders, launcher.release)

    def _filter(self, group: Cgroup | None) -> bytes | None:
        if self.kind == "none":
            return None
        return seccomp_program(os.uname().machine, memory_is_counted="cgroup-memory" in _layers(group))

    def _start(
        self, job: Job, group: Cgroup | None, launcher: JobLauncher, info_end: int, stack: ExitStack
    ) -> ProcessWatcher:
        files = JobFileOptions(stack, self._folder if self._staging else None)
        options = ["--info-fd", str(info_end), *self._options(job, files)]
        if program := self._filter(group):
            options += ["--seccomp", str(files.add_bytes(program))]
        encoded = b"".join(os.fsencode(option) + b"\0" for option in options)  # so that `ps` does not show the options
        command = [*self._command, "--args", str(files.add_bytes(encoded)), "--"]
        command += launcher.init_command(self._interpreter.executable)
        stdin = files.add_bytes(job.stdin) if job.stdin else subprocess.DEVNULL
        inherited = (info_end, *files.descriptors)
        return launcher.start([*command, *job.command], stdin=stdin, env={}, inherited=inherited)

    def _options(self, job: Job, files: JobFileOptions) -> list[str]:
        files.add_all(APP, job.program)
        files.add_all(INPUTS, job.inputs)
        env = {**self._variables(), **job.env}
        options = [
            *self._root,
            *files.options,
            *bwrap_options.sized(OUTPUTS, job.limits),
            *bwrap_options.setenv(env),
            "--chdir",
            APP,
        ]
        if self.kind == "none":
            return [*bwrap_options.shared_namespaces(), "--dir", APP, "--dir", INPUTS, *options]
        return [
            *bwrap_options.closed_namespaces(),
            *bwrap_options.job_mount_points(job.limits),
            *options,
            *bwrap_options.seal(job.limits),
        ]

    def _variables(self) -> dict[str, str]:
        return base_variables(ENVIRONMENT, bwrap_options.package_paths(self._interpreter))


@cache
def _interned(*names: str) -> tuple[str, ...]:
    """One tuple for the results of all jobs: a caller may keep tens of thousands of them."""
    return names


def _layers(group: Cgroup | None) -> tuple[str, ...]:
    return group.layers if group else ()


def _open_staging(stack: ExitStack, binary: BwrapBinary, interpreter: EnvironmentPython) -> StagingMounts:
    for folder in interpreter.packages:
        require_readable(folder)
    staging = StagingMounts((binary.folder, *interpreter.folders, *interpreter.packages))
    stack.callback(staging.close)
    return staging


def _may_drop_root() -> bool:
    """Whether this process is root and can become another user (a user namespace may map no user but root)."""
    ranges = (line.split() for line in Path("/proc/self/uid_map").read_text().splitlines())
    mapped = any(int(start) <= UNPRIVILEGED_UID < int(start) + int(count) for start, _, count in ranges)
    return os.geteuid() == 0 and mapped
