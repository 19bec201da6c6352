"""Runs a solution's script in a sandbox as a cluster would, and reports what happened.

The launcher checks the outputs inside the sandbox, as it does in a pod. Its verdict is not trusted: every output is
read again here.
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
from flyteplugins_codegen.judging.causes import (
    DETERMINISTIC_ENVIRONMENT,
    exception_cause,
    limit_cause,
    signal_name,
    syntax_cause,
)
from flyteplugins_codegen.judging.suites.inside import variables
from flyteplugins_codegen.models.job import TypeName
from flyteplugins_codegen.models.run import Cause, ScriptRun
from flyteplugins_codegen.portable import launcher
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Output, Sandbox
from flyteplugins_codegen.sandbox.null_device import check_null_device
from flyteplugins_codegen.sandbox.payload import module_path
from flyteplugins_codegen.solution.outputs import output_cause, summarise_outputs
from flyteplugins_codegen.text import decoded, failure_text

_FOUND_BY_LAUNCHER: Final = re.compile(r"^(?:launcher: )?output .*; found there: ('.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptJob:
    """One run of a script: its text, its interface, and a Python value for each input.

    A folder is a path, a file a path or its content in bytes. With `tells_variables`, the values of its variables are
    reported when it ends with an exception.
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
    """Run the script. Returns the report, and the outputs by name that exist and could be collected.

    Where `ScriptRun.cause` is None, every declared output exists and is of its type. The outputs can be read until the
    sandbox is closed.

    Raises:
        InterfaceError: a value is missing, not declared, or not of its type.
        SandboxError: the sandbox itself failed, not the program, or the machine has no usable /dev/null.
    """
    laid_out = lay_out_values(job.inputs, job.values)
    syntax_error = syntax_cause(job.solution, "solution.py")
    if syntax_error is not None:
        return ScriptRun(case=job.case, status="not_run", cause=syntax_error), {}
    execution = sandbox.run(_sandbox_job(job, laid_out))
    if execution.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it ran the script on {job.case}: {execution.message}")
    report = _report(job, execution)
    if report.cause is not None:
        check_null_device(sandbox, f"{report.cause.message}\n{report.stderr}")
    return report, execution.outputs


def lay_out_values(inputs: Mapping[str, TypeName], values: Mapping[str, Any]) -> dict[str, Path | bytes]:
    """The files under /var/inputs, as co-pilot writes them in a pod. Raises InterfaceError with the input's name."""
    unknown = sorted(set(values) - set(inputs))
    if unknown:
        raise InterfaceError(f"no input is called {unknown[0]!r}; the inputs are {', '.join(inputs) or 'none'}")
    return {name: _lay_out(name, type_name, values) for name, type_name in inputs.items()}


def _lay_out(name: str, type_name: TypeName, values: Mapping[str, Any]) -> Path | bytes:
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


def _sandbox_job(job: ScriptJob, inputs: Mapping[str, Path | bytes]) -> Job:
    return Job(
        command=launcher.command_line(job.inputs, job.outputs),
        inputs=inputs,
        program={
            "launcher.py": module_path(launcher),
            "solution.py": job.solution.encode(),
            **({"sitecustomize.py": module_path(variables)} if job.tells_variables else {}),
        },
        outputs=tuple(job.outputs),
        env={**DETERMINISTIC_ENVIRONMENT, **job.env},
        limits=job.limits,
    )


def _report(job: ScriptJob, execution: Execution) -> ScriptRun:
    execution, variable_values = _split_variables(execution)
    stderr = decoded(execution.stderr, execution.stderr_cut)
    return ScriptRun(
        case=job.case,
        status=execution.status,
        exit_code=execution.exit_code,
        stdout=decoded(execution.stdout, execution.stdout_cut),
        stderr=stderr,
        variables=variable_values,
        outputs=summarise_outputs(execution.outputs, job.outputs),
        cause=limit_cause(execution, job.limits) or _cause(job, execution, stderr),
        wall_s=execution.wall_s,
        isolation=execution.isolation,
    )


def _split_variables(execution: Execution) -> tuple[Execution, str]:
    """The execution with the script's own stderr, and the values of variables that were appended to it."""
    mark = variables.MARK.encode()
    lines = execution.stderr.splitlines(keepends=True)
    values = b"".join(line.removeprefix(mark) for line in lines if line.startswith(mark))
    stderr = b"".join(line for line in lines if not line.startswith(mark))
    return replace(execution, stderr=stderr) if values else execution, failure_text(values.decode(errors="replace"))


def _cause(job: ScriptJob, execution: Execution, stderr: str) -> Cause | None:
    # The launcher's status counts only where our own check comes to the same result.
    if execution.exit_code in {0, launcher.OUTPUT_ERROR}:
        cause = output_cause(execution, job.outputs, _names_in_message(stderr))
        if cause is not None or execution.exit_code == 0:
            return cause
    return exception_cause(execution.stderr.decode(errors="replace"), _ending(execution))


def _names_in_message(stderr: str) -> list[str]:
    """The names of outputs that the launcher listed: a hint for a message, not used for the verdict."""
    match = _FOUND_BY_LAUNCHER.search(stderr)
    return re.findall(r"'([^']{1,100})'", match[1]) if match else []


def _ending(execution: Execution) -> str:
    if execution.signal is not None:
        return f"the script was ended by {signal_name(execution.signal)}"
    code = execution.exit_code or 0
    # The launcher follows the shell: 128 plus the signal that ended the script.
    if code - 128 in set(signal.Signals):
        return f"the script was ended by {signal_name(code - 128)} (status {code})"
    return f"the script ended with exit status {code}"
