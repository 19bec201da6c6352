"""Jobs as plain processes, for trusted code where not even a mount namespace can be had (see `opening`).

Nothing is isolated, and /app, /var/inputs and /var/outputs do not exist: arguments that begin with them are rewritten
to the job's temporary folder, and FLYTE_CODEGEN_APP, FLYTE_CODEGEN_INPUTS and FLYTE_CODEGEN_OUTPUTS say where that is.
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

from flyteplugins_codegen.sandbox.bwrap_options import memory_file
from flyteplugins_codegen.sandbox.collect import take_outputs
from flyteplugins_codegen.sandbox.contract import APP, INPUTS, OUTPUTS, Execution, Job
from flyteplugins_codegen.sandbox.kernel.limits import Census
from flyteplugins_codegen.sandbox.pool import run_all
from flyteplugins_codegen.sandbox.process import START_S, Launch, Watch
from flyteplugins_codegen.sandbox.python_files import Interpreter, furnish, variables
from flyteplugins_codegen.sandbox.running import describe, failure_message, read_ending
from flyteplugins_codegen.sandbox.temporary import make_folder, require_input

_VARIABLES = {"FLYTE_CODEGEN_APP": APP, "FLYTE_CODEGEN_INPUTS": INPUTS, "FLYTE_CODEGEN_OUTPUTS": OUTPUTS}


class Unisolated:
    """The sandbox of kind `none` where bubblewrap cannot even share the host's root."""

    kind = "none"

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        with ExitStack() as stack:
            self._folder = make_folder(stack)
            furnish(self._folder, interpreter)
            self._stack = stack.pop_all()

    def run(self, job: Job) -> Execution:
        """Run one job to its end. Raises RequestError for an input that is not there."""
        try:
            with ExitStack() as stack:
                return self._run(job, stack)
        except OSError as error:  # this machine has no process, descriptor or disk to give
            return Execution(status="sandbox_error", message=str(error))

    def map(
        self, jobs: Iterable[Job], *, workers: int = 2, on_result: Callable[[int, Execution], None] | None = None
    ) -> list[Execution]:
        """Run many jobs, `workers` at a time; results in their order."""
        return run_all(self.run, jobs, workers=workers, on_result=on_result)

    def close(self) -> None:
        """Remove what is kept for this sandbox."""
        self._stack.close()

    def _run(self, job: Job, stack: ExitStack) -> Execution:
        launch = Launch(stack, job.limits)
        root = self._lay_out(job, stack)
        watch = self._start(job, launch, root, stack)
        kill = partial(_kill_group, watch.process.pid)
        stack.callback(kill)  # what the job left running, too
        if not watch.wait_ready(START_S):
            return Execution(status="sandbox_error", message=failure_message(watch, job))
        launch.release()
        started = time.monotonic()
        census = Census(watch.process.pid, ())
        cut_short = watch.wait_end(job.limits.wall_s, [partial(census.guard, job.limits)])
        usage = census.usage()
        if cut_short:
            kill()
        watch.wait_gone()
        wall_s = time.monotonic() - started
        kill()
        outputs = os.open(root / "outputs", os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, outputs)
        harvest = take_outputs(outputs, job, self._folder / "outputs")
        ending = read_ending(watch, cut_short).counted(usage)
        return replace(describe(job, watch, ending, harvest, full=False), wall_s=wall_s)

    def _lay_out(self, job: Job, stack: ExitStack) -> Path:
        root = Path(tempfile.mkdtemp(prefix="job-", dir=self._folder))
        stack.callback(subprocess.run, ["rm", "-rf", "--", str(root)], check=False)  # `rmtree` recurses, a job nests
        for name in ("app", "inputs", "outputs"):
            (root / name).mkdir()
        _put(root / "app", job.program)
        _put(root / "inputs", job.inputs)
        return root

    def _start(self, job: Job, launch: Launch, root: Path, stack: ExitStack) -> Watch:
        environment = self._folder / "environment"
        places = {seen: str(root / Path(seen).name) for seen in (APP, INPUTS, OUTPUTS)}
        env = variables(environment, self._interpreter.packages)
        env |= {name: places[seen] for name, seen in _VARIABLES.items()} | dict(job.env)
        command = launch.reaper_command(self._interpreter.executable)
        command += [_rewrite(argument, places) for argument in job.command]
        stdin = memory_file(job.stdin)
        stack.callback(os.close, stdin)
        return launch.start(command, stdin=stdin, env=env, cwd=root / "app")


def _put(folder: Path, files: Mapping[str, Path | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.symlink_to(require_input(name, content))


def _rewrite(argument: str, places: Mapping[str, str]) -> str:
    for seen, place in places.items():
        if argument == seen or argument.startswith(f"{seen}/"):
            return place + argument[len(seen) :]
    return argument


def _kill_group(leader: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
