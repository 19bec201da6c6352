"""Jobs in containers of podman or docker: for each one of its own, gone when its command ends.

An engine offers less than bubblewrap does: no descriptor can be handed in, no folder held open from outside. So process
1 of each container is a program of ours (`reaper`), which tells all that is to be known over standard output.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired

from flyteplugins_codegen.errors import SandboxError, SandboxUnavailableError
from flyteplugins_codegen.sandbox.bwrap_options import package_places, require_readable
from flyteplugins_codegen.sandbox.container.collect import take_handed
from flyteplugins_codegen.sandbox.container.engine import IMAGE_VARIABLE, Engine, find_engines, find_image, image_name
from flyteplugins_codegen.sandbox.container.options import (
    Files,
    Mount,
    Trial,
    container_name,
    put_reaper,
    run_command,
    try_image,
)
from flyteplugins_codegen.sandbox.container.session import Hearing, Settings, StuckError, Talk, TalkEndedError, encode
from flyteplugins_codegen.sandbox.contract import APP, INPUTS, Everything, Execution, Job, Limits
from flyteplugins_codegen.sandbox.kernel.limits import render_rlimits
from flyteplugins_codegen.sandbox.kernel.seccomp import seccomp_program
from flyteplugins_codegen.sandbox.pool import run_all
from flyteplugins_codegen.sandbox.process import START_S
from flyteplugins_codegen.sandbox.python_files import ENVIRONMENT, Interpreter, furnish, variables
from flyteplugins_codegen.sandbox.running import describe
from flyteplugins_codegen.sandbox.temporary import make_folder, open_to_all

_ALWAYS = ("container", "mount", "pid", "network", "ipc", "uts")
_PRIVILEGES = ("no-capabilities", "no-new-privileges", "private-root", "unprivileged-uid", "rlimit-files")
_FILTER = "seccomp.bpf"
_OF_ETC = ("passwd", "group", "hosts", "resolv.conf")
_GONE_S = 10.0  # for the engine to remove an ended container
_KILLED = 128 + 9


class Container:
    """The sandbox of kind `container`."""

    kind = "container"

    def __init__(self, trial: Trial, packages: tuple[Path, ...]) -> None:
        self._trial = trial
        self._interpreter = Interpreter(Path(trial.place.python), (), (), packages)
        self._memory_is_counted = "cgroup-memory" in trial.layers
        self._filter = seccomp_program(trial.machine, memory_is_counted=self._memory_is_counted)
        with ExitStack() as stack:
            self._folder = make_folder(stack)
            self._mounts = self._furnish()
            self._stack = stack.pop_all()

    def run(self, job: Job) -> Execution:
        """Run one job to its end. Raises RequestError for an input that is not there."""
        try:
            with ExitStack() as stack:
                execution = self._run(job, stack)
        except OSError as error:  # this machine has no process, descriptor or disk to give
            execution = Execution(status="sandbox_error", message=str(error))
        return replace(execution, isolation=self._isolation())

    def map(
        self, jobs: Iterable[Job], *, workers: int = 2, on_result: Callable[[int, Execution], None] | None = None
    ) -> list[Execution]:
        """Run many jobs, `workers` at a time, each in a container of its own; results in their order."""
        return run_all(self.run, jobs, workers=workers, on_result=on_result)

    def close(self) -> None:
        """Remove what is kept for this sandbox."""
        self._stack.close()

    def _furnish(self) -> list[Mount]:
        """What every container of this sandbox sees, beside its image."""
        furnish(self._folder, self._interpreter)
        environment, etc = self._folder / "environment", self._folder / "etc"
        put_reaper(environment)
        (etc / "resolv.conf").touch()
        if self._filter:
            (environment / _FILTER).write_bytes(self._filter)
        for folder in (environment, etc):
            open_to_all(folder)
        seen = package_places(self._interpreter)
        return [
            Mount(environment, str(ENVIRONMENT)),
            *(Mount(etc / name, f"/etc/{name}") for name in _OF_ETC),
            *(Mount(path, str(place)) for path, place in zip(self._interpreter.packages, seen, strict=True)),
        ]

    def _isolation(self) -> tuple[str, ...]:
        filtered = ("seccomp", "no-nested-user-namespace") if self._filter else ()
        return (*_ALWAYS, *_PRIVILEGES, *filtered, *self._trial.layers)

    def _run(self, job: Job, stack: ExitStack) -> Execution:
        talk = self._start(job, stack)
        hearing = Hearing(talk, job)
        try:
            hearing.wait_begun(START_S)
        except TalkEndedError as error:
            return Execution(status="sandbox_error", message=str(error))
        started = time.monotonic()
        try:
            ending = hearing.wait_ended()
            harvest = take_handed(hearing.outputs(), job, self._folder / "outputs")
        except TalkEndedError as error:
            wall_s = time.monotonic() - started
            stdout, stderr = hearing.stdout.kept, hearing.stderr.kept
            return replace(self._broken_off(error, talk), stdout=stdout, stderr=stderr, wall_s=wall_s)
        execution = describe(job, hearing, ending, harvest, full=hearing.outputs_are_full)
        return replace(execution, wall_s=hearing.wall_s)

    def _start(self, job: Job, stack: ExitStack) -> Talk:
        files = Files(self._folder)
        stack.callback(shutil.rmtree, files.folder, ignore_errors=True)
        files.add_all(APP, job.program)
        files.add_all(INPUTS, job.inputs)
        name = container_name()
        mounts = [*self._mounts, *files.mounts]
        command = run_command(self._trial.place, name, job.limits, mounts, "run")
        process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, bufsize=0, cwd="/", start_new_session=True)
        stack.enter_context(process)
        stack.callback(self._see_off, process, name)
        return stack.enter_context(closing(Talk(process, encode(self._settings(job), job.stdin))))

    def _settings(self, job: Job) -> Settings:
        limits = job.limits
        return Settings(
            command=job.command,
            env={**variables(ENVIRONMENT, package_places(self._interpreter)), **job.env},
            folder=APP,
            rlimits=self._rlimits(limits),
            seccomp=f"{ENVIRONMENT}/{_FILTER}" if self._filter else "",
            own_group=self._memory_is_counted,
            wall_s=limits.wall_s,
            cpu_s=limits.cpu_s,
            stream_bytes=limits.stream_kib << 10,
            outputs=None if isinstance(job.outputs, Everything) else job.outputs,
            output_files=limits.output_files,
            output_bytes=limits.output_mib << 20,
        )

    def _rlimits(self, limits: Limits) -> str:
        """Where a group counts the job's processes, they are not counted again: NPROC counts all that its user has."""
        rlimits = render_rlimits(limits, self._trial.layers).split(",")
        counted = "cgroup-processes" in self._trial.layers
        return ",".join(limit for limit in rlimits if not (counted and limit.startswith("NPROC=")))

    def _see_off(self, process: Popen[bytes], name: str) -> None:
        """Wait until the engine has removed the container, and do it ourselves where it does not."""
        try:
            status = process.wait(_GONE_S)
        except TimeoutExpired:
            process.kill()
            status = process.wait()
        if status != 0:
            self._trial.place.engine.remove(name)

    def _broken_off(self, error: TalkEndedError, talk: Talk) -> Execution:
        """A job whose container ended before it had told all, or that we have to end.

        Nothing inside can end process 1 but the kernel, where memory is used up and there is nobody else to kill.
        """
        if isinstance(error, StuckError):
            return Execution(status="timed_out")
        if talk.exit_status == _KILLED and self._memory_is_counted:
            return Execution(status="out_of_memory")
        return Execution(status="sandbox_error", message=str(error))


# Finding an engine and an image that together run the programs of an environment.

_ASKED = "import sys, importlib.machinery as m; print('%d.%d' % sys.version_info[:2], m.EXTENSION_SUFFIXES[0])"


def open_container(interpreter: Interpreter, *, image: str | None, may_pull: bool, any_python: bool) -> Container:
    """A sandbox of containers in which the packages of that interpreter can be imported.

    `any_python` takes the image's Python, whichever it is. An image that is not here is fetched if `may_pull`. Raises
    SandboxUnavailableError, with the remedy for each engine, where none will do; SandboxError for unreadable packages.
    """
    for folder in interpreter.packages:
        require_readable(folder)
    version, suffix = _python_of(interpreter.executable)
    name = image_name(image, version)
    reasons = []
    for engine in find_engines():
        try:
            trial = _try(engine, name, may_pull=may_pull)
            if not any_python:
                _require_same_python(trial, name, version, suffix)
        except SandboxUnavailableError as error:  # noqa: PERF203 - two engines at most
            reasons.append(str(error))
        else:
            return Container(trial, interpreter.packages)
    raise SandboxUnavailableError(_in_all(reasons))


def _try(engine: Engine, name: str, *, may_pull: bool) -> Trial:
    identity = find_image(engine, name, may_pull=may_pull)
    try:
        return try_image(engine, identity)
    except SandboxUnavailableError as error:
        raise SandboxUnavailableError(f"image {name!r}: {error}") from error


def _require_same_python(trial: Trial, name: str, version: str, suffix: str) -> None:
    if trial.suffix != suffix:
        raise SandboxUnavailableError(
            f"image {name!r} has Python {trial.version} ({trial.suffix}), and the environment's packages are for "
            f"{version} ({suffix}); name an image with that one in {IMAGE_VARIABLE}, such as python:{version}-slim"
        )


def _in_all(reasons: Iterable[str]) -> str:
    return (
        "; ".join(reasons) or "neither podman nor docker is installed; install one of them, such as apt install podman"
    )


@cache
def _python_of(executable: Path) -> tuple[str, str]:
    """The version of an interpreter, and what its extension modules end in."""
    done = subprocess.run([executable, "-I", "-S", "-c", _ASKED], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SandboxError(f"the environment's interpreter {executable} does not run: {done.stderr.strip()}")
    version, suffix = done.stdout.split()
    return version, suffix
