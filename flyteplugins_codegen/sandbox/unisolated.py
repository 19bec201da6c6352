"""Jobs as plain processes, for trusted code on a machine where not even a mount namespace can be made (see `opening`).

Nothing is isolated, and /app, /var/inputs and /var/outputs do not exist: arguments that begin with them are rewritten
to the job's temporary folder, and FLYTE_CODEGEN_APP, FLYTE_CODEGEN_INPUTS and FLYTE_CODEGEN_OUTPUTS name that folder.
A program that has the literal paths in its text needs a container.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from flyteplugins_codegen.sandbox.collect import collect_outputs
from flyteplugins_codegen.sandbox.contract import APP, INPUTS, OUTPUTS, Execution, Job
from flyteplugins_codegen.sandbox.host_files import require_input
from flyteplugins_codegen.sandbox.kernel.limits import ProcessTree
from flyteplugins_codegen.sandbox.pool import run_all
from flyteplugins_codegen.sandbox.process import START_S, JobLauncher, ProcessWatcher, memory_file
from flyteplugins_codegen.sandbox.python_files import EnvironmentPython, base_variables, write_shared_folders
from flyteplugins_codegen.sandbox.running import describe, failure_message, read_ending
from flyteplugins_codegen.sandbox.temporary import make_folder

_VARIABLES = {"FLYTE_CODEGEN_APP": APP, "FLYTE_CODEGEN_INPUTS": INPUTS, "FLYTE_CODEGEN_OUTPUTS": OUTPUTS}


class Unisolated:
    """The sandbox of kind `none` if bubblewrap cannot even share the host's root."""

    kind = "none"

    def __init__(self, interpreter: EnvironmentPython) -> None:
        self._interpreter = interpreter
        with ExitStack() as stack:
            self._folder = make_folder(stack)
            write_shared_folders(self._folder, interpreter)
            self._stack = stack.pop_all()

    def run(self, job: Job) -> Execution:
        """Run one job to its end. Raises RequestError for an input that does not exist."""
        try:
            with ExitStack() as stack:
                return self._run(job, stack)
        except OSError as error:  # this machine is out of processes, descriptors or disk space
            return Execution(status="sandbox_error", message=str(error))

    def map(
        self, jobs: Iterable[Job], *, workers: int = 2, on_result: Callable[[int, Execution], None] | None = None
    ) -> list[Execution]:
        """Run many jobs, `workers` at a time; results are in their order."""
        return run_all(self.run, jobs, workers=workers, on_result=on_result)

    def close(self) -> None:
        """Remove the sandbox's folder."""
        self._stack.close()

    def _run(self, job: Job, stack: ExitStack) -> Execution:
        launcher = JobLauncher(stack, job.limits)
        root = self._write_files(job, stack)
        watcher = self._start(job, launcher, root, stack)
        kill = partial(_kill_group, watcher.process.pid)
        stack.callback(kill)  # and what the job left running
        if not watcher.wait_ready(START_S):
            return Execution(status="sandbox_error", message=failure_message(watcher, job))
        launcher.release()
        started = time.monotonic()
        process_tree = ProcessTree(watcher.process.pid, ())
        cut_short = watcher.wait_end(job.limits.wall_s, [partial(process_tree.guard, job.limits)])
        usage = process_tree.usage()
        if cut_short:
            kill()
        watcher.wait_gone()
        wall_s = time.monotonic() - started
        kill()
        outputs = os.open(root / "outputs", os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, outputs)
        collected = collect_outputs(outputs, job, self._folder / "outputs")
        ending = read_ending(watcher, cut_short).with_usage(usage)
        return replace(describe(job, watcher, ending, collected, full=False), wall_s=wall_s)

    def _write_files(self, job: Job, stack: ExitStack) -> Path:
        root = Path(tempfile.mkdtemp(prefix="job-", dir=self._folder))
        stack.callback(subprocess.run, ["rm", "-rf", "--", str(root)], check=False)  # `rmtree` recurses, a job nests
        for name in ("app", "inputs", "outputs"):
            (root / name).mkdir()
        _write_all(root / "app", job.program)
        _write_all(root / "inputs", job.inputs)
        return root

    def _start(self, job: Job, launcher: JobLauncher, root: Path, stack: ExitStack) -> ProcessWatcher:
        environment = self._folder / "environment"
        folders = {path: str(root / Path(path).name) for path in (APP, INPUTS, OUTPUTS)}
        env = base_variables(environment, self._interpreter.packages)
        env |= {name: folders[path] for name, path in _VARIABLES.items()} | dict(job.env)
        command = launcher.init_command(self._interpreter.executable)
        command += [_rewrite(argument, folders) for argument in job.command]
        stdin = memory_file(job.stdin)
        stack.callback(os.close, stdin)
        return launcher.start(command, stdin=stdin, env=env, cwd=root / "app")


def _write_all(folder: Path, files: Mapping[str, Path | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.symlink_to(require_input(name, content))


def _rewrite(argument: str, folders: Mapping[str, str]) -> str:
    for path, folder in folders.items():
        if argument == path or argument.startswith(f"{path}/"):
            return folder + argument[len(path) :]
    return argument


def _kill_group(leader: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
