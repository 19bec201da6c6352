"""Jobs in containers of podman or docker: each in a container of its own, gone when its command ends.

An engine offers less than bubblewrap does: no descriptor can be passed in, no folder held open from outside. So process
1 of each container is a program of ours (`init`), which reports everything over its standard output.
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
from flyteplugins_codegen.sandbox.bwrap_options import package_paths
from flyteplugins_codegen.sandbox.container.collect import collect_sent
from flyteplugins_codegen.sandbox.container.engine import IMAGE_VARIABLE, Engine, find_engines, find_image, image_name
from flyteplugins_codegen.sandbox.container.options import (
    JobFileMounts,
    Mount,
    container_name,
    copy_init,
    run_command,
)
from flyteplugins_codegen.sandbox.container.probe import ProbedImage, probe_image
from flyteplugins_codegen.sandbox.container.session import (
    ContainerSession,
    FrameStream,
    InitSettings,
    SessionEndedError,
    StuckError,
    encode_opening,
)
from flyteplugins_codegen.sandbox.contract import APP, INPUTS, Everything, Execution, Job, Limits
from flyteplugins_codegen.sandbox.host_files import open_to_all, require_readable
from flyteplugins_codegen.sandbox.kernel.limits import render_rlimits
from flyteplugins_codegen.sandbox.kernel.seccomp import seccomp_program
from flyteplugins_codegen.sandbox.pool import run_all
from flyteplugins_codegen.sandbox.process import START_S
from flyteplugins_codegen.sandbox.python_files import (
    ENVIRONMENT,
    EnvironmentPython,
    base_variables,
    write_shared_folders,
)
from flyteplugins_codegen.sandbox.running import describe
from flyteplugins_codegen.sandbox.temporary import make_folder

_NAMESPACES = ("container", "mount", "pid", "network", "ipc", "uts")
_PRIVILEGES = ("no-capabilities", "no-new-privileges", "private-root", "unprivileged-uid", "rlimit-files")
_FILTER = "seccomp.bpf"
_ETC_FILES = ("passwd", "group", "hosts", "resolv.conf")
_REMOVAL_S = 10.0  # for the engine to remove an ended container
_KILLED = 128 + 9
_PRINT_PYTHON = "import sys, importlib.machinery as m; print('%d.%d' % sys.version_info[:2], m.EXTENSION_SUFFIXES[0])"


class Container:
    """The sandbox of kind `container`."""

    kind = "container"

    def __init__(self, probed: ProbedImage, packages: tuple[Path, ...]) -> None:
        self._probed = probed
        self._interpreter = EnvironmentPython(Path(probed.image.python), (), (), packages)
        self._memory_is_counted = "cgroup-memory" in probed.layers
        self._filter = seccomp_program(probed.machine, memory_is_counted=self._memory_is_counted)
        with ExitStack() as stack:
            self._folder = make_folder(stack)
            self._mounts = self._prepare_mounts()
            self._stack = stack.pop_all()

    def run(self, job: Job) -> Execution:
        """Run one job to its end. Raises RequestError for an input that does not exist."""
        try:
            with ExitStack() as stack:
                execution = self._run(job, stack)
        except OSError as error:  # this machine is out of processes, descriptors or disk space
            execution = Execution(status="sandbox_error", message=str(error))
        return replace(execution, isolation=self._isolation())

    def map(
        self, jobs: Iterable[Job], *, workers: int = 2, on_result: Callable[[int, Execution], None] | None = None
    ) -> list[Execution]:
        """Run many jobs, `workers` at a time, each in a container of its own; results are in their order."""
        return run_all(self.run, jobs, workers=workers, on_result=on_result)

    def close(self) -> None:
        """Remove the sandbox's folder."""
        self._stack.close()

    def _prepare_mounts(self) -> list[Mount]:
        """What every container of this sandbox sees besides its image."""
        write_shared_folders(self._folder, self._interpreter)
        environment, etc = self._folder / "environment", self._folder / "etc"
        copy_init(environment)
        (etc / "resolv.conf").touch()
        if self._filter:
            (environment / _FILTER).write_bytes(self._filter)
        for folder in (environment, etc):
            open_to_all(folder)
        package_folders = zip(self._interpreter.packages, package_paths(self._interpreter), strict=True)
        return [
            Mount(environment, str(ENVIRONMENT)),
            *(Mount(etc / name, f"/etc/{name}") for name in _ETC_FILES),
            *(Mount(folder, str(path)) for folder, path in package_folders),
        ]

    def _isolation(self) -> tuple[str, ...]:
        filtered = ("seccomp", "no-nested-user-namespace") if self._filter else ()
        return (*_NAMESPACES, *_PRIVILEGES, *filtered, *self._probed.layers)

    def _run(self, job: Job, stack: ExitStack) -> Execution:
        frames = self._start(job, stack)
        session = ContainerSession(frames, job)
        try:
            session.wait_begun(START_S)
        except SessionEndedError as error:
            return Execution(status="sandbox_error", message=str(error))
        started = time.monotonic()
        try:
            ending = session.wait_ended()
            collected = collect_sent(session.outputs(), job, self._folder / "outputs")
        except SessionEndedError as error:
            wall_s = time.monotonic() - started
            stdout, stderr = session.stdout.kept, session.stderr.kept
            return replace(self._describe_failure(error, frames), stdout=stdout, stderr=stderr, wall_s=wall_s)
        execution = describe(job, session, ending, collected, full=session.outputs_are_full)
        return replace(execution, wall_s=session.wall_s)

    def _start(self, job: Job, stack: ExitStack) -> FrameStream:
        files = JobFileMounts(self._folder)
        stack.callback(shutil.rmtree, files.folder, ignore_errors=True)
        files.add_all(APP, job.program)
        files.add_all(INPUTS, job.inputs)
        name = container_name()
        mounts = [*self._mounts, *files.mounts]
        command = run_command(self._probed.image, name, job.limits, mounts, "run")
        process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, bufsize=0, cwd="/", start_new_session=True)
        stack.enter_context(process)
        stack.callback(self._wait_removed, process, name)
        return stack.enter_context(closing(FrameStream(process, encode_opening(self._settings(job), job.stdin))))

    def _settings(self, job: Job) -> InitSettings:
        limits = job.limits
        return InitSettings(
            command=job.command,
            env={**base_variables(ENVIRONMENT, package_paths(self._interpreter)), **job.env},
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
        """The resource limits; without NPROC, which counts all processes of a user, if a group counts the job's."""
        rlimits = render_rlimits(limits, self._probed.layers).split(",")
        counted = "cgroup-processes" in self._probed.layers
        return ",".join(limit for limit in rlimits if not (counted and limit.startswith("NPROC=")))

    def _wait_removed(self, process: Popen[bytes], name: str) -> None:
        """Wait until the engine has removed the container; remove it if the engine does not."""
        try:
            status = process.wait(_REMOVAL_S)
        except TimeoutExpired:
            process.kill()
            status = process.wait()
        if status != 0:
            self._probed.image.engine.remove(name)

    def _describe_failure(self, error: SessionEndedError, frames: FrameStream) -> Execution:
        """The result of a job whose container ended before the session was complete, or that we have to end.

        Only the kernel can kill process 1 from inside, if memory is used up and no other process is left to kill.
        """
        if isinstance(error, StuckError):
            return Execution(status="timed_out")
        if frames.exit_status == _KILLED and self._memory_is_counted:
            return Execution(status="out_of_memory")
        return Execution(status="sandbox_error", message=str(error))


def open_container(interpreter: EnvironmentPython, *, image: str | None, may_pull: bool, any_python: bool) -> Container:
    """A sandbox of containers in which the packages of that interpreter can be imported.

    `any_python` accepts any Python in the image. An image that is not on this machine is pulled if `may_pull`. Raises
    SandboxUnavailableError, with the remedy for each engine, if none can; SandboxError for unreadable packages.
    """
    for folder in interpreter.packages:
        require_readable(folder)
    version, suffix = _python_of(interpreter.executable)
    name = image_name(image, version)
    reasons = []
    for engine in find_engines():
        try:
            probed = _probe(engine, name, may_pull=may_pull)
            if not any_python:
                _require_same_python(probed, name, version, suffix)
        except SandboxUnavailableError as error:  # noqa: PERF203 - two engines at most
            reasons.append(str(error))
        else:
            return Container(probed, interpreter.packages)
    no_engine = "neither podman nor docker is installed; install one of them, such as apt install podman"
    raise SandboxUnavailableError("; ".join(reasons) or no_engine)


def _probe(engine: Engine, name: str, *, may_pull: bool) -> ProbedImage:
    identity = find_image(engine, name, may_pull=may_pull)
    try:
        return probe_image(engine, identity)
    except SandboxUnavailableError as error:
        raise SandboxUnavailableError(f"image {name!r}: {error}") from error


def _require_same_python(probed: ProbedImage, name: str, version: str, suffix: str) -> None:
    if probed.suffix != suffix:
        raise SandboxUnavailableError(
            f"image {name!r} has Python {probed.version} ({probed.suffix}), and the environment's packages are for "
            f"{version} ({suffix}); name an image with that one in {IMAGE_VARIABLE}, such as python:{version}-slim"
        )


@cache
def _python_of(executable: Path) -> tuple[str, str]:
    """The version of an interpreter, and the suffix of its extension modules."""
    completed = subprocess.run(
        [executable, "-I", "-S", "-c", _PRINT_PYTHON], capture_output=True, text=True, check=False
    )
    if completed.returncode != 0:
        raise SandboxError(f"the environment's interpreter {executable} does not run: {completed.stderr.strip()}")
    version, suffix = completed.stdout.split()
    return version, suffix
