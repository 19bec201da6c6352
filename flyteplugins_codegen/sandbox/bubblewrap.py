"""Jobs in bubblewrap: for each, one unprivileged process tree in namespaces of its own, gone when its command ends.

The reaper inside holds the command until its /var/outputs has been opened from outside: that descriptor outlives the
namespaces, so outputs are read once every process is dead, and what is not taken vanishes with it.
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
from flyteplugins_codegen.sandbox.bwrap_options import Files, require_readable
from flyteplugins_codegen.sandbox.contract import APP, INPUTS, OUTPUTS, Execution, Job
from flyteplugins_codegen.sandbox.kernel.cgroups import Cgroup, CgroupRoots
from flyteplugins_codegen.sandbox.kernel.limits import render_rlimits
from flyteplugins_codegen.sandbox.kernel.seccomp import seccomp_program
from flyteplugins_codegen.sandbox.pool import run_all
from flyteplugins_codegen.sandbox.process import START_S, Launch, Watch, open_pipe
from flyteplugins_codegen.sandbox.python_files import (
    ENVIRONMENT,
    UNPRIVILEGED_UID,
    Antechamber,
    Interpreter,
    furnish,
    variables,
)
from flyteplugins_codegen.sandbox.running import HeldJob, failure_message
from flyteplugins_codegen.sandbox.temporary import make_folder
from flyteplugins_codegen.sandbox.warm.fork import Rights, WarmWorkers, ZygoteSandbox, is_small

_NAMESPACES = ("user", "mount", "pid", "network", "ipc", "uts", "cgroup-namespace")
_PRIVILEGES = ("no-nested-user-namespace", "no-capabilities", "no-new-privileges", "private-root")
_RLIMITS = ("rlimit-processes", "rlimit-files")


@dataclass(frozen=True, slots=True)
class Binary:
    """A bwrap program, `name` below `folder`, which also holds the libraries that it was shipped with."""

    folder: Path
    name: str


class Bubblewrap:
    """The sandbox of kind `bubblewrap`; with `shared=True` the one of kind `none`, which isolates nothing.

    Without `cgroups`, resource limits hold each process, and what all use together is measured. `preload` names what
    warm workers import before they fork.
    """

    def __init__(
        self,
        binary: Binary,
        interpreter: Interpreter,
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
            furnish(self._folder, interpreter)
            self._antechamber = (
                None if shared or not _may_drop_root() else _open_antechamber(stack, binary, interpreter)
            )
            place = self._antechamber.place if self._antechamber else Path
            entry = self._antechamber.entry() if self._antechamber else []
            self._command = [*entry, str(place(binary.folder) / binary.name)]
            self._root = (bwrap_options.hosts_root if shared else bwrap_options.private_root)(
                self._folder, interpreter, place
            )
            self._warm = self._open_warm(tuple(preload), stack) if self._filter(None) else None
            self._stack = stack.pop_all()

    def run(self, job: Job) -> Execution:
        """Run one job to its end. Raises RequestError for an input that is not there."""
        with self._group(job) as group:
            try:
                with ExitStack() as stack:
                    held = self._hold(job, group, stack)
                    execution = held.run(group, self._folder / "outputs") if isinstance(held, HeldJob) else held
            except OSError as error:  # this machine has no process, descriptor or disk to give
                execution = Execution(status="sandbox_error", message=str(error))
            return replace(execution, isolation=self._isolation(group))

    def map(
        self, jobs: Iterable[Job], *, workers: int = 2, on_result: Callable[[int, Execution], None] | None = None
    ) -> list[Execution]:
        """Run many jobs, `workers` at a time; results in their order.

        Each runs in a fork of a waiting interpreter where one can be had and the job brings little, else as in `run`.
        """
        run = partial(self._run_warm, self._warm) if self._warm else self.run
        return run_all(run, jobs, workers=workers, on_result=on_result)

    def close(self) -> None:
        """Remove what is kept for this sandbox."""
        self._stack.close()

    def _isolation(self, group: Cgroup | None) -> tuple[str, ...]:
        if self.kind == "none":
            return ("none",)
        unprivileged = ("unprivileged-uid",) if self._antechamber or os.geteuid() else ()
        seccomp = ("seccomp",) if self._filter(group) else ()
        memory = () if "cgroup-memory" in _layers(group) else ("rlimit-memory",)
        return (*_NAMESPACES, *_PRIVILEGES, *unprivileged, *seccomp, *_layers(group), *memory, *_RLIMITS)

    @contextmanager
    def _group(self, job: Job) -> Iterator[Cgroup | None]:
        try:
            group = self._cgroups.open(job.limits) if self._cgroups else None
        except OSError:  # the hierarchy was taken away, or is full: resource limits hold, and `isolation` says so
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
        """Run a job in a fork; once more as `run` does where it brings much, or where that was lost."""
        with suppress(OSError):
            execution = self._forked(workers, job) if is_small(job) else None
            if execution:
                return execution
        return self.run(job)

    def _forked(self, workers: WarmWorkers, job: Job) -> Execution | None:
        with self._group(job) as group:
            rights = Rights(render_rlimits(job.limits, _layers(group)), self._filter(group) or b"")
            with workers.held(job, rights, group) as held:
                execution = held.run(group, self._folder / "outputs") if held else None
            return replace(execution, isolation=_shared(*self._isolation(group), "warm")) if execution else None

    def _hold(self, job: Job, group: Cgroup | None, stack: ExitStack) -> HeldJob | Execution:
        """Start a job up to where its command waits to be released; what is to be said where it cannot start."""
        entries = group.entries(stack) if group else ()
        launch = Launch(stack, job.limits, _layers(group), entries)
        info, info_end = open_pipe(stack)
        watch = self._start(job, group, launch, info_end.fileno(), stack)
        if group and not entries:
            group.prepare()
        if not watch.wait_ready(START_S):
            return Execution(status="sandbox_error", message=failure_message(watch, job))
        first = json.loads(info.read(4096))["child-pid"]
        if group and not entries:
            group.add(first)
        private = () if self.kind == "none" else bwrap_options.PRIVATE_FOLDERS
        folders = tuple(f"/proc/{first}/root{folder}" for folder in (OUTPUTS, *private))
        outputs = os.open(folders[0], os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, outputs)
        return HeldJob(job, first, watch, outputs, folders, launch.release)

    def _filter(self, group: Cgroup | None) -> bytes | None:
        if self.kind == "none":
            return None
        return seccomp_program(os.uname().machine, memory_is_counted="cgroup-memory" in _layers(group))

    def _start(self, job: Job, group: Cgroup | None, launch: Launch, info_end: int, stack: ExitStack) -> Watch:
        files = Files(stack, self._folder if self._antechamber else None)
        options = ["--info-fd", str(info_end), *self._options(job, files)]
        if program := self._filter(group):
            options += ["--seccomp", str(files.add_bytes(program))]
        encoded = b"".join(os.fsencode(option) + b"\0" for option in options)  # keeps the options out of `ps`
        command = [*self._command, "--args", str(files.add_bytes(encoded)), "--"]
        command += launch.reaper_command(self._interpreter.executable)
        stdin = files.add_bytes(job.stdin) if job.stdin else subprocess.DEVNULL
        inherited = (info_end, *files.descriptors)
        return launch.start([*command, *job.command], stdin=stdin, env={}, inherited=inherited)

    def _options(self, job: Job, files: Files) -> list[str]:
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
            *bwrap_options.private_places(job.limits),
            *options,
            *bwrap_options.sealed(job.limits),
        ]

    def _variables(self) -> dict[str, str]:
        return variables(ENVIRONMENT, bwrap_options.package_places(self._interpreter))


@cache
def _shared(*names: str) -> tuple[str, ...]:
    """One tuple for the results of all jobs, of which some may keep tens of thousands."""
    return names


def _layers(group: Cgroup | None) -> tuple[str, ...]:
    return group.layers if group else ()


def _open_antechamber(stack: ExitStack, binary: Binary, interpreter: Interpreter) -> Antechamber:
    for folder in interpreter.packages:
        require_readable(folder)
    chamber = Antechamber((binary.folder, *interpreter.folders, *interpreter.packages))
    stack.callback(chamber.close)
    return chamber


def _may_drop_root() -> bool:
    """Whether we are root, and the user to become exists here (a user namespace may map no other than root)."""
    ranges = (line.split() for line in Path("/proc/self/uid_map").read_text().splitlines())
    mapped = any(int(start) <= UNPRIVILEGED_UID < int(start) + int(count) for start, _, count in ranges)
    return os.geteuid() == 0 and mapped
