"""Runs a solution's script in a sandbox as a cluster would, and judges what it left from outside.

The launcher inside checks the outputs too, as it does in a pod; its word is not taken: every output is read again here.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue

from flyteplugins_codegen.errors import InterfaceError, OutputError, SandboxError
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
from flyteplugins_codegen.portable.launcher import (
    MAX_TEXT_BYTES,
    check_folder_files,
    format_value,
    invalid_output,
    is_simple,
    missing_output,
    parse_output,
)
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Output, Sandbox
from flyteplugins_codegen.store import digest
from flyteplugins_codegen.text import decoded, failure_text

# Digests by which the outputs of two candidates are held against each other after both sandboxes are gone.

_CHUNK_BYTES: Final = 1 << 20
_LONGEST_TEXT_BYTES: Final = 16 << 20
_LONGEST_NUMBERS_BYTES: Final = 1 << 18
"""In a longer text decimals stay as they are: to read them all would be felt by every run."""
_SIGNIFICANT_DIGITS: Final = 12
# A decimal or a power of ten that stands by itself: no part of a name, of a version or of a date.
_DECIMAL: Final = re.compile(r"(?<![\w.])(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?(?![\w.])")


def file_digests(path: Path, size_bytes: int) -> dict[str, str]:
    """`sha256` of a file's bytes and, for a text of up to 16 MiB, `text_sha256` of what it reads as."""
    if size_bytes > _LONGEST_TEXT_BYTES:
        return {"sha256": _sha256_of(path)}
    data = path.read_bytes()
    exact = {"sha256": hashlib.sha256(data).hexdigest()}
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return exact
    return exact if "\0" in text else {**exact, "text_sha256": hashlib.sha256(plain_text(text).encode()).hexdigest()}


def folder_digests(files: Mapping[str, Path]) -> dict[str, str]:
    """As of a file, over the names and contents of all files; `text_sha256` where each of them is a text."""
    each = {name: file_digests(path, path.stat().st_size) for name, path in sorted(files.items())}
    kinds = ["sha256", "text_sha256"] if all("text_sha256" in digests for digests in each.values()) else ["sha256"]
    return {kind: digest({name: digests[kind] for name, digests in each.items()}) for kind in kinds}


def plain_text(text: str) -> str:
    """The text with one kind of line end, none at its end, and decimals of 12 significant digits: 7.50 is 7.5."""
    lines = text.replace("\r\n", "\n").rstrip("\n")
    if len(lines) > _LONGEST_NUMBERS_BYTES:
        return lines
    return _DECIMAL.sub(lambda found: format(float(found[0]), f".{_SIGNIFICANT_DIGITS}g"), lines)


def _sha256_of(path: Path) -> str:
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            sha.update(chunk)
    return sha.hexdigest()


# Reading what a script left, by the cluster's rules, in our own process: data from an adversary, never believed.

_HEAD_CHARS: Final = 500
_FILES_LISTED: Final = 100


def output_cause(execution: Execution, declared: Mapping[str, TypeName], present: Iterable[str] = ()) -> Cause | None:
    """The first declared output that is missing or not of its type, with the remedy; None where all are in order.

    `present` are the names that were there, for the message only.
    """
    for name, type_name in declared.items():
        refused = execution.refused_outputs.get(name)
        if name in execution.outputs:
            flaw = _flaw(execution.outputs[name], type_name)
        elif refused:
            flaw = f"it {refused}"
        else:
            return Cause(
                kind="missing_output", subject=name, message=missing_output(name, type_name, present), is_certain=True
            )
        if flaw:
            return Cause(kind="invalid_output", subject=name, message=invalid_output(name, type_name, flaw))
    return None


def read_value(output: Output, type_name: TypeName) -> Any:
    """The Python value of a simple output. Raises OutputError, naming the output, where it is not of its type."""
    try:
        return _value(output, type_name)
    except ValueError as error:
        raise OutputError(invalid_output(output.name, type_name, str(error))) from None


def summarise_outputs(outputs: Mapping[str, Output], declared: Mapping[str, TypeName]) -> dict[str, JsonValue]:
    """Each output that is in order as a small JSON value.

    Simple values are themselves; datetimes, timedeltas and non-finite floats are their text; a file is its size, its
    digests (`output_digests`) and, where it is text, its first 500 characters; a directory is the sizes of its files by
    name, and the digests of all of them.
    """
    return {
        name: _summary(outputs[name], type_name)
        for name, type_name in declared.items()
        if name in outputs and not _flaw(outputs[name], type_name)
    }


def _flaw(output: Output, type_name: TypeName) -> str | None:
    try:
        _check(output, type_name)
    except ValueError as error:
        return str(error)
    return None


def _check(output: Output, type_name: TypeName) -> None:
    if output.is_directory != (type_name == "directory"):
        raise ValueError("it is a folder; write a file" if output.is_directory else "it is a file; write a folder")
    if output.is_directory:
        check_folder_files(output.files)
    elif is_simple(type_name):
        _value(output, type_name)


def _value(output: Output, type_name: TypeName) -> Any:
    return parse_output(output.read_bytes(MAX_TEXT_BYTES + 1), type_name)


def _summary(output: Output, type_name: TypeName) -> JsonValue:
    if type_name == "directory":
        listed = sorted(output.files.items())[:_FILES_LISTED]
        sizes: dict[str, JsonValue] = {name: path.stat().st_size for name, path in listed}
        return {"files": sizes, "count": len(output.files), **folder_digests(output.files)}
    if type_name == "file":
        return _file_summary(output)
    value = _value(output, type_name)
    if type_name in {"datetime", "timedelta"} or (isinstance(value, float) and not math.isfinite(value)):
        return format_value(value, type_name)
    return value  # str, int, float or bool, by its type


def _file_summary(output: Output) -> JsonValue:
    # Four bytes are the most that one character takes; a last one that was cut is left out.
    head = output.read_bytes(_HEAD_CHARS * 4).decode(errors="replace")[:_HEAD_CHARS]
    digests = file_digests(output.files[output.name], output.size_bytes)
    summary: dict[str, JsonValue] = {"size_bytes": output.size_bytes, **digests}
    return summary if "\0" in head or "\ufffd" in head else {**summary, "head": head}


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
        env={**DETERMINISTIC_ENVIRONMENT, **job.env},
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
