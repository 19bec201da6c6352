"""Runs one program on many cases in one sandboxed job, and returns the outputs of each case.

A single start serves all cases: a fork for each costs a few milliseconds, a start of the interpreter with its libraries
up to a second.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.judging.agreement import inside
from flyteplugins_codegen.judging.causes import DETERMINISTIC_ENVIRONMENT, syntax_cause
from flyteplugins_codegen.judging.suites.run import SUITE_COMMAND
from flyteplugins_codegen.models.job import TypeName
from flyteplugins_codegen.portable import launcher
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.payload import module_path

OutputValue: TypeAlias = str | int | float | bool | bytes | dict[str, bytes]
"""A simple value, datetimes and timedeltas as text; a file as its bytes, a folder as those of its files by name."""
Ending = Literal["finished", "failed", "timed_out", "not_run"]

MAX_BYTES: Final = 2 << 20
"""A larger output is not compared."""
_GRACE_S: Final = 10.0
_STREAM_KIB: Final = 128 << 10
_INPUTS: Final = "/var/inputs"
_EXCEPTION_CHARS: Final = 300
_NEGATIVE: Final = re.compile(r"-\d+(?:\.\d+)?\Z")
_RAISE: Final = re.compile(r"(?:^|: )raise\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputationJob:
    """A program and its cases; a case is a value for each input, files and folders as paths.

    `modules` are imported once for all. A case may take `case_s` of wall time, no case begins after `wall_s`.
    """

    program: str
    inputs: Mapping[str, TypeName]
    outputs: Mapping[str, TypeName]
    cases: Sequence[Mapping[str, Any]]
    modules: Sequence[str] = ()
    case_s: float
    wall_s: float
    limits: Limits = field(default_factory=Limits)
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """How a program ended on one case. `outputs` has every declared output if it `finished`.

    An output of None is too large to be compared. `error` is the exception's line, or why an output is not valid;
    `is_refusal`: the program ended itself with a message about its data.
    """

    ending: Ending
    outputs: Mapping[str, OutputValue | None] = field(default_factory=dict)
    error: str = ""
    is_refusal: bool = False


def compute_cases(sandbox: Sandbox, job: ComputationJob) -> list[Computed]:
    """The outputs of the program on each case, in order; `not_run` for cases that its time did not suffice for.

    Raises SandboxError if the sandbox itself failed.
    """
    if not job.cases:
        return []
    flaw = syntax_cause(job.program, "solution.py")
    if flaw is not None:
        return [Computed(ending="failed", error=flaw.summary) for _ in job.cases]
    nonce = secrets.token_hex(16)
    execution = sandbox.run(_sandboxed(job, nonce))
    if execution.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it ran a computation: {execution.message}")
    computed = dict(_read(job, execution, nonce))
    return [computed.get(number, Computed(ending="not_run")) for number in range(len(job.cases))]


def _sandboxed(job: ComputationJob, nonce: str) -> Job:
    files: dict[str, Path] = {}
    cases = [_arguments(job, case, files) for case in job.cases]
    order = {
        "nonce": nonce,
        "program": job.program,
        "cases": cases,
        "outputs": list(job.outputs),
        "modules": list(job.modules),
        "case_s": job.case_s,
        "wall_s": job.wall_s,
        "max_bytes": MAX_BYTES,
    }
    return Job(
        command=SUITE_COMMAND,
        inputs=files,
        program={"runner.py": module_path(inside), "solution.py": job.program.encode()},
        env={**DETERMINISTIC_ENVIRONMENT, **job.env},
        stdin=json.dumps(order).encode(),
        limits=replace(job.limits, wall_s=job.wall_s + _GRACE_S, stream_kib=_STREAM_KIB),
    )


def _arguments(job: ComputationJob, case: Mapping[str, Any], files: dict[str, Path]) -> list[str]:
    """The script's arguments for a case. Adds the files that it needs to `files`, each once."""
    arguments: list[str] = []
    for name, kind in job.inputs.items():
        value = case[name]
        text = launcher.canonical(value, kind) if launcher.is_simple(kind) else _placed(name, Path(value), files)
        # A negative number in words of its own, as `argparse` takes it and a plainer reader of arguments expects it.
        arguments += (f"--{name}", text) if _NEGATIVE.match(text) else launcher.option(name, text)
    return arguments


def _placed(name: str, path: Path, files: dict[str, Path]) -> str:
    """The path of a file inside the sandbox."""
    number = 1
    placed = name
    while files.setdefault(placed, path.absolute()) != path.absolute():
        number += 1
        placed = f"{name}.{number}"
    return f"{_INPUTS}/{placed}"


def _read(job: ComputationJob, execution: Execution, nonce: str) -> Iterator[tuple[int, Computed]]:
    """The cases on the lines that begin with the nonce, which the program does not know."""
    for line in execution.stdout.decode(errors="replace").splitlines():
        mark, _, text = line.partition(" ")
        if mark == nonce:
            try:
                report = json.loads(text)
            except ValueError:  # the last line was cut
                continue
            yield report["case"], _computed(job, report)


def _computed(job: ComputationJob, report: dict[str, Any]) -> Computed:
    if report["status"] is None:
        return Computed(ending="timed_out", error=f"it had not ended after {job.case_s:g} s")
    if report["status"] != 0:
        return _failed(report["status"], report["error"])
    try:
        outputs = {name: _value(name, kind, report["outputs"]) for name, kind in job.outputs.items()}
    except ValueError as error:
        return Computed(ending="failed", error=str(error))
    return Computed(ending="finished", outputs=outputs)


def _failed(status: int, stderr: str) -> Computed:
    """A script that raised or ended itself. A message without a traceback, or a `raise` of its own, is a refusal."""
    lines = stderr.strip().splitlines()
    last = lines[-1].strip()[:_EXCEPTION_CHARS] if lines else f"it ended with exit status {status}"
    raised = "Traceback (most recent call last):" in stderr
    is_refusal = status > 0 and bool(lines) and (not raised or _is_raised_by_script(lines))
    return Computed(ending="failed", error=last, is_refusal=is_refusal)


def _is_raised_by_script(lines: Sequence[str]) -> bool:
    """Whether the traceback ends in a `raise` of the script, not of a library that it called."""
    frames = [index for index, line in enumerate(lines) if line.startswith('  File "')]
    if not frames or '/solution.py"' not in lines[frames[-1]] or frames[-1] + 1 >= len(lines):
        return False
    return bool(_RAISE.search(lines[frames[-1] + 1].strip()))


def _value(name: str, kind: TypeName, outputs: Mapping[str, Any]) -> OutputValue | None:
    """The value of a declared output. Raises ValueError for one that is missing or not of its type."""
    if name not in outputs:
        raise ValueError(launcher.missing_output(name, kind, outputs))
    content = outputs[name]
    if content is None:
        return None
    if isinstance(content, dict) != (kind == "directory"):
        raise ValueError(f"output {name!r} is a {'folder' if isinstance(content, dict) else 'file'}, not a {kind}")
    if isinstance(content, dict):
        files = {file: base64.b64decode(text) for file, text in content.items() if text is not None}
        return files if len(files) == len(content) else None
    decoded = base64.b64decode(content)
    if kind == "file":
        return decoded
    value = launcher.parse_output(decoded, kind)
    return value if isinstance(value, str | int | float | bool) else launcher.format_value(value, kind)
