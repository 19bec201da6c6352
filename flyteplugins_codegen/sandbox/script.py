"""Runs a solution's script in a sandbox as a cluster would, and judges what it left from outside.

The launcher inside checks the outputs too, as it does in a pod; its word is not taken: every output is read again here.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.errors import InterfaceError, SandboxError
from flyteplugins_codegen.models.interface import TypeName
from flyteplugins_codegen.models.report import Cause, ScriptRun
from flyteplugins_codegen.sandbox import launcher
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.failure_text import decoded, failure_text
from flyteplugins_codegen.sandbox.limit_causes import limit_cause
from flyteplugins_codegen.sandbox.outputs import Output
from flyteplugins_codegen.sandbox.python_errors import exception_cause, syntax_cause
from flyteplugins_codegen.sandbox.script_outputs import output_cause, summarise_outputs
from flyteplugins_codegen.sandbox.signal_names import signal_name
from flyteplugins_codegen.sandbox.steady import STEADY_ENVIRONMENT
from flyteplugins_codegen.sandbox.suites.suite_runner import variables

_FOUND_THERE: Final = re.compile(r"^(?:launcher: )?output .*; found there: ('.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptJob:
    """One run of a script: its text, its interface, and a Python value for each input.

    A folder is given as a path, a file as a path or as its content in bytes. `tells_variables`: where it ends by an
    exception, the values of its variables are reported.
    """

    solution: str
    inputs: Mapping[str, TypeName]
    outputs: Mapping[str, TypeName]
    values: Mapping[str, Any]
    case: str = "samples"
    limits: Limits = field(default_factory=Limits)
    env: Mapping[str, str] = field(default_factory=dict)
    tells_variables: bool = False


def run_script(sandbox: Sandbox, job: ScriptJob) -> tuple[ScriptRun, Mapping[str, Output]]:
    """Run the script; what happened, and its outputs by name as far as they were there and could be taken.

    Where `ScriptRun.cause` is None, every declared output is there and of its type. The outputs can be read until the
    sandbox is closed.

    Raises:
        InterfaceError: a value is missing, not declared, or not of its type.
        SandboxError: the sandbox itself failed; the program is not to blame.
    """
    laid_out = lay_out_values(job.inputs, job.values)
    flaw = syntax_cause(job.solution, "solution.py")
    if flaw is not None:
        return ScriptRun(case=job.case, status="not_run", cause=flaw), {}
    execution = sandbox.run(_sandboxed(job, laid_out))
    if execution.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it ran the script on {job.case}: {execution.message}")
    return _report(job, execution), execution.outputs


def lay_out_values(inputs: Mapping[str, TypeName], values: Mapping[str, Any]) -> dict[str, Path | bytes]:
    """The files under /var/inputs as a cluster's co-pilot writes them. Raises InterfaceError naming the input."""
    unknown = sorted(set(values) - set(inputs))
    if unknown:
        raise InterfaceError(f"no input is called {unknown[0]!r}; the inputs are {', '.join(inputs) or 'none'}")
    return {name: _laid_out(name, type_name, values) for name, type_name in inputs.items()}


def _laid_out(name: str, type_name: TypeName, values: Mapping[str, Any]) -> Path | bytes:
    if name not in values:
        raise InterfaceError(f"input {name!r} ({type_name}) has no value; pass one")
    value = values[name]
    if launcher.is_simple(type_name):
        return _text(name, type_name, value)
    if isinstance(value, bytes) and type_name == "file":
        return value
    if not isinstance(value, str | os.PathLike):
        raise InterfaceError(f"input {name!r} ({type_name}): {value!r} is not a path")
    path = Path(value).absolute()
    if not (path.is_dir() if type_name == "directory" else path.is_file()):
        raise InterfaceError(f"input {name!r}: there is no {type_name} at {path}")
    return path


def _text(name: str, type_name: TypeName, value: Any) -> bytes:
    try:
        text = launcher.format_value(value, type_name)
        launcher.check_argument(text)
    except ValueError as error:
        raise InterfaceError(f"input {name!r} ({type_name}): {error}") from None
    return text.encode()


def _sandboxed(job: ScriptJob, inputs: Mapping[str, Path | bytes]) -> Job:
    return Job(
        command=launcher.command_line(job.inputs, job.outputs),
        inputs=inputs,
        program={
            "launcher.py": Path(launcher.__file__),
            "solution.py": job.solution.encode(),
            **({"sitecustomize.py": Path(variables.__file__)} if job.tells_variables else {}),
        },
        outputs=tuple(job.outputs),
        env={**STEADY_ENVIRONMENT, **job.env},
        limits=job.limits,
    )


def _report(job: ScriptJob, execution: Execution) -> ScriptRun:
    execution, told = _without_variables(execution)
    stderr = decoded(execution.stderr, execution.stderr_cut)
    return ScriptRun(
        case=job.case,
        status=execution.status,
        exit_code=execution.exit_code,
        stdout=decoded(execution.stdout, execution.stdout_cut),
        stderr=stderr,
        variables=told,
        outputs=summarise_outputs(execution.outputs, job.outputs),
        cause=limit_cause(execution, job.limits) or _cause(job, execution, stderr),
        wall_s=execution.wall_s,
        isolation=execution.isolation,
    )


def _without_variables(execution: Execution) -> tuple[Execution, str]:
    """The execution with what the script itself said, and the variables that were told after that."""
    mark = variables.MARK.encode()
    lines = execution.stderr.splitlines(keepends=True)
    told = b"".join(line.removeprefix(mark) for line in lines if line.startswith(mark))
    said = b"".join(line for line in lines if not line.startswith(mark))
    return replace(execution, stderr=said) if told else execution, failure_text(told.decode(errors="replace"))


def _cause(job: ScriptJob, execution: Execution, stderr: str) -> Cause | None:
    # The launcher's own status is believed only where our own reading finds the same.
    if execution.exit_code in {0, launcher.OUTPUT_ERROR}:
        found = output_cause(execution, job.outputs, _names_found(stderr))
        if found is not None or execution.exit_code == 0:
            return found
    return exception_cause(execution.stderr.decode(errors="replace"), _ending(execution))


def _names_found(stderr: str) -> list[str]:
    """What the launcher saw among the outputs: a hint for a message, nothing that a verdict rests on."""
    found = _FOUND_THERE.search(stderr)
    return re.findall(r"'([^']{1,100})'", found[1]) if found else []


def _ending(execution: Execution) -> str:
    if execution.signal is not None:
        return f"the script was ended by {signal_name(execution.signal)}"
    code = execution.exit_code or 0
    # A shell's convention, which the launcher keeps: 128 and the signal that ended the script.
    if code - 128 in set(signal.Signals):
        return f"the script was ended by {signal_name(code - 128)} (status {code})"
    return f"the script ended with exit status {code}"
