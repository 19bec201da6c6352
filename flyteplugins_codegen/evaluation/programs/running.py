"""A program in another language as a sandboxed job, and what became of it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.evaluation.programs import driver
from flyteplugins_codegen.evaluation.programs.languages import REMEDIES, Way, filled, ways_to_run
from flyteplugins_codegen.evaluation.programs.printed import printed_difference
from flyteplugins_codegen.evaluation.programs.sources import Sources, sources_of
from flyteplugins_codegen.evaluation.values import ProgramTests, StdinTests
from flyteplugins_codegen.models.report import Cause, CauseKind
from flyteplugins_codegen.sandbox.contract import APP, Execution, Job, Limits
from flyteplugins_codegen.sandbox.failure_text import failure_text
from flyteplugins_codegen.sandbox.limit_causes import limit_cause
from flyteplugins_codegen.sandbox.signal_names import signal_name

_REPORT_BYTES: Final = 1 << 30
_TEST_FAILED: Final = ("assert", "panicked")
_LIMITS_MET: Final[Mapping[str, tuple[CauseKind, str]]] = {
    "timed_out": ("timed_out", "it had not ended when its time was up"),
    "output_limit": ("output_limit", f"it printed more than {driver.MOST_OUTPUT_BYTES >> 20} MiB"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """A whole program in one of `LANGUAGES_OF_PROGRAMS`, and how it is judged.

    `limits` are for its runs, all together; building it has time of its own. `word` is what nobody can guess: the
    program prints it once its tests have come to their end.
    """

    language: str
    program: str
    tests: ProgramTests | StdinTests
    limits: Limits
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnd:
    """What became of a program: `cause` is None where it passed, `case` the number of the pair that failed."""

    cause: Cause | None
    case: int
    cpu_s: float
    wall_s: float


def program_job(run: ProgramRun) -> Job:
    """The building of a program and all its runs; of what is expected it holds nothing."""
    sources = sources_of(run.language, run.program, _own_tests(run.tests))
    ways = ways_to_run(run.language)
    told = {
        "ways": [_told(way, sources) for way in ways],
        "inputs": _inputs(run),
        "cpu_s": run.limits.cpu_s,
        "wall_s": run.limits.wall_s,
    }
    return Job(
        command=("python", f"{APP}/driver.py"),
        program={"driver.py": Path(driver.__file__), **_encoded(sources)},
        inputs={name: path for way in ways for name, path in way.inputs.items()},
        env={name: value for way in ways for name, value in way.env.items()},
        outputs=("report",),
        stdin=json.dumps(told).encode(),
        limits=_with_the_build(run.limits),
    )


def program_end(run: ProgramRun, execution: Execution) -> ProgramEnd:
    """What an execution of the job says. Raises SandboxError where the machine is to blame, or lacks the language."""
    if execution.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it ran a program: {execution.message}")
    records = list(_records(execution))
    cases = [each for each in records if each["kind"] == "case"]
    missing = next((each["said"] for each in records if each["kind"] == "missing"), None)
    if missing is not None:
        remedy = REMEDIES[run.language]
        raise SandboxError(f"the sandbox has nothing to run {run.language} with ({missing}): install {remedy}")
    return ProgramEnd(
        cause=limit_cause(execution, run.limits) or _cause(run, records, cases) or _unfinished(run, cases, execution),
        case=len(cases),
        cpu_s=sum(each["cpu_s"] for each in cases),
        wall_s=sum(each["wall_s"] for each in cases),
    )


def _own_tests(tests: ProgramTests | StdinTests) -> str | None:
    return tests.source if isinstance(tests, ProgramTests) else None


def _inputs(run: ProgramRun) -> list[str]:
    return [pair.stdin for pair in run.tests.pairs] if isinstance(run.tests, StdinTests) else [run.word]


def _told(way: Way, sources: Sources) -> dict[str, Sequence[str]]:
    names = tuple(sources.files)
    build, command = (filled(each, names, sources.main_class) for each in (way.build, way.run))
    return {"check": way.check, "build": build, "run": command}


def _encoded(sources: Sources) -> dict[str, bytes]:
    return {name: text.encode(errors="surrogatepass") for name, text in sources.files.items()}


def _with_the_build(limits: Limits) -> Limits:
    """What the compiler may use besides; the driver holds the runs to their own."""
    return replace(
        limits,
        wall_s=limits.wall_s + 2 * driver.BUILD_S,
        cpu_s=None if limits.cpu_s is None else limits.cpu_s + 4 * driver.BUILD_S,
        memory_mib=max(limits.memory_mib, 2048),
        processes=max(limits.processes, 128),
        output_mib=max(limits.output_mib, 512),
        file_mib=max(limits.file_mib, 512),
    )


def _records(execution: Execution) -> Iterator[dict[str, Any]]:
    """The lines of the report. A program may have written to it: of what it expects it knows nothing all the same."""
    output = execution.outputs.get("report")
    for line in output.read_bytes(_REPORT_BYTES).splitlines() if output else ():
        record = _record(line)
        if record is None:
            return
        yield record


def _record(line: bytes) -> dict[str, Any] | None:
    """A line of the report, its fields of the types that they are to be; None for anything else."""
    try:
        record = json.loads(line)
        return _case(record) if record["kind"] == "case" else {"kind": record["kind"], "said": str(record["said"])}
    except (ValueError, KeyError, TypeError):
        return None


def _case(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "case",
        "status": int(record["status"]),
        "why": str(record["why"]),
        "stdout": base64.b64decode(record["stdout"]),
        "stderr": str(record["stderr"]),
        "cpu_s": float(record["cpu_s"]),
        "wall_s": float(record["wall_s"]),
    }


def _cause(run: ProgramRun, records: Sequence[dict[str, Any]], cases: Sequence[dict[str, Any]]) -> Cause | None:
    """The first failure of which the report tells."""
    rejected = next((each["said"] for each in records if each["kind"] == "rejected"), None)
    if rejected is not None:
        return Cause(kind="syntax_error", message=failure_text(f"it is refused: {rejected}"))
    return next((cause for index, case in enumerate(cases) if (cause := _of_case(run, index, case))), None)


def _of_case(run: ProgramRun, index: int, case: Mapping[str, Any]) -> Cause | None:
    if case["why"] in _LIMITS_MET:
        kind, message = _LIMITS_MET[case["why"]]
        return Cause(kind=kind, message=message)
    if case["status"] != 0:
        return _ended_badly(run.tests, case["status"], case["stderr"])
    printed = case["stdout"].decode(errors="replace")
    if isinstance(run.tests, StdinTests):
        told = printed_difference(printed, run.tests.pairs[index].stdout, run.tests.tolerance)
        return Cause(kind="test_failed", message=told) if told else None
    if printed.rpartition("\n")[2] != run.word:
        return Cause(kind="untrusted_report", message="it ended with status 0 before its tests came to their end")
    return None


def _ended_badly(tests: ProgramTests | StdinTests, status: int, stderr: str) -> Cause:
    ending = f"it ended by {signal_name(-status)}" if status < 0 else f"it ended with status {status}"
    is_test = isinstance(tests, ProgramTests) and (not stderr or any(word in stderr.lower() for word in _TEST_FAILED))
    message = failure_text(f"{ending}: {stderr}" if stderr else ending)
    return Cause(kind="test_failed" if is_test else "exception", message=message)


def _unfinished(run: ProgramRun, cases: Sequence[object], execution: Execution) -> Cause | None:
    if len(cases) >= len(_inputs(run)):
        return None
    stderr = execution.stderr.decode(errors="replace").strip()
    if execution.status == "exited" and execution.exit_code == 0:
        told = "the report of its runs was cut short"
    else:
        told = f"what runs it was ended: {stderr or execution.status}"
    return Cause(kind="untrusted_report", message=failure_text(told))
