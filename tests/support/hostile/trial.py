"""Running a hostile program in a sandbox, and looking at what it leaves."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import TypeAlias

from backends import Warm

from flyteplugins_codegen.sandbox import Execution, Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.contract import Everything
from hostile import Program, attack
from hostile.host import Host

Outputs: TypeAlias = "tuple[str, ...] | Everything"


@dataclass(frozen=True)
class Trial:
    """What a program did in a sandbox: what became of its job, and the lines that it said."""

    program: Program
    execution: Execution
    variables: dict[str, str]

    @property
    def lines(self) -> list[str]:
        """What it said."""
        return self.execution.stdout.decode(errors="replace").splitlines()

    @property
    def leaks(self) -> list[str]:
        """What it got; BLIND is said by one that could not have noticed."""
        return [line for line in self.lines if line.startswith(("LEAK", "BLIND"))]

    @property
    def refusals(self) -> set[str]:
        """For what reasons it was refused something."""
        return {line.split()[1] for line in self.lines if line.startswith("REFUSED")}

    def has_come_to_its_point(self) -> bool:
        """Whether it failed of the sandbox, and not of a mistake of its own."""
        if self.execution.status != "exited":
            return True
        if self.execution.stderr or "DONE" not in self.lines:
            return False
        expected = set(self.program.refusals)
        return self.refusals <= expected and bool(self.refusals) == bool(expected)

    def left_behind(self) -> list[str]:
        """Processes that are still there."""
        return left_behind(self.variables["RUN"])


def make_variables(host: Host) -> dict[str, str]:
    """What a program is told: where to look, and names that no other run has. `GIVEN` is for `before` alone."""
    given = f"given-{token_hex(8)}"
    told = {"RUN": f"box-{token_hex(5)}", "PAIR": token_hex(4)[:7]}
    return {**host.facts, **told, "GIVEN": given, "SHIFTED_GIVEN": attack.shift(given).decode()}


def try_program(sandbox: Sandbox, host: Host, program: Program) -> Trial:
    """Run it, and before it what it builds on."""
    variables = make_variables(host)
    if program.before:
        before = sandbox.run(make_job(program.before, host, variables, program.limits))
        if b"DONE" not in before.stdout or before.stderr:
            raise AssertionError(before)
    del variables["GIVEN"]
    job = make_job(program.code, host, variables, program.limits)
    inputs = host.files if isinstance(sandbox, Warm) else host.inputs
    return Trial(program, sandbox.run(replace(job, inputs=inputs)), variables)


def try_together(sandbox: Sandbox, host: Host, programs: Iterable[Program]) -> dict[Program, Trial]:
    """Run them one after another in one job."""
    variables = make_variables(host)
    named = {f"each-{number}.py": program for number, program in enumerate(programs)}
    job = make_job(_ONE_AFTER_ANOTHER, host, variables, Limits(wall_s=120))
    codes = {name: program.code.encode() for name, program in named.items()}
    execution = sandbox.run(replace(job, program={**job.program, **codes}, inputs=host.inputs))
    lines = execution.stdout.splitlines()
    told = json.loads(lines[0]) if lines else {}
    if set(told) != set(named):
        raise AssertionError(execution)
    return {program: Trial(program, _as_told(execution, *told[name]), variables) for name, program in named.items()}


_ONE_AFTER_ANOTHER = """
import json, subprocess
told = {}
for name in sorted(os.listdir(APP)):
    if name.startswith("each-"):
        done = subprocess.run([sys.executable, __file__, RUN, name], capture_output=True, text=True)
        told[name] = done.returncode, done.stdout, done.stderr
say(json.dumps(told))
"""


def _as_told(execution: Execution, exit_code: int, stdout: str, stderr: str) -> Execution:
    return replace(execution, exit_code=exit_code, stdout=stdout.encode(), stderr=stderr.encode())


def make_job(code: str, host: Host, variables: Mapping[str, str], limits: Limits, outputs: Outputs = ()) -> Job:
    """A job that runs this code as a hostile program."""
    attack_code, told = Path(attack.__file__).read_bytes(), render_told(variables)
    return Job(
        command=("python", "/app/attack.py", variables["RUN"]),
        program={"attack.py": attack_code, "program.py": code.encode(), "told": told.encode()},
        inputs=host.files,
        stdin=variables.get("GIVEN", "").encode(),
        limits=limits,
        outputs=outputs,
    )


def render_told(variables: Mapping[str, str]) -> str:
    """The variables as `attack` reads them."""
    return "".join(f"{name}={value}\n" for name, value in variables.items())


def left_behind(run: str) -> list[str]:
    """The processes of this machine that belong to a run: by their own name, their variables or their arguments."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile
            if run.encode() in b"".join((process / file).read_bytes() for file in ("comm", "environ", "cmdline")):
                found.append(process.name)
    return found


def kill_left_behind(run: str) -> None:
    """End them."""
    while found := left_behind(run):
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        time.sleep(0.01)
