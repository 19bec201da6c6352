"""Judging whole programs: by what they print for a text on stdin, or by tests in their own language.

A Python program is run once for each text; a program in another language is built once, by a driver in the sandbox that
also does its runs. Expected output never enters the sandbox.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, Final

from flyteplugins_codegen.errors import MissingInterpreterError, RequestError, SandboxError
from flyteplugins_codegen.evaluation.programs import inside
from flyteplugins_codegen.evaluation.programs.languages import (
    REMEDIES,
    Sources,
    Toolchain,
    fill_command,
    sources_of,
    toolchains_for,
)
from flyteplugins_codegen.evaluation.trials import CandidateProgram, Settled, Trial, verdict_of
from flyteplugins_codegen.evaluation.values import JudgedBy, ProgramTests, StdinPair, StdinTests
from flyteplugins_codegen.judging.causes import (
    DETERMINISTIC_ENVIRONMENT,
    exception_cause,
    limit_cause,
    signal_name,
    syntax_cause,
)
from flyteplugins_codegen.judging.equality import are_close, printed_numbers
from flyteplugins_codegen.models.run import Cause, CauseKind
from flyteplugins_codegen.sandbox.contract import APP, Execution, Job, Limits
from flyteplugins_codegen.sandbox.payload import module_path
from flyteplugins_codegen.text import failure_text, short_repr

OUTPUT_TESTS: Final = (StdinTests,)
PROGRAM_TESTS: Final = (ProgramTests, StdinTests)
_SHOWN_CHARS: Final = 120
_REPORT_BYTES: Final = 1 << 30
_TEST_FAILED: Final = ("assert", "panicked")  # words of failed tests on stderr
_LIMITS_MET: Final[Mapping[str, tuple[CauseKind, str]]] = {
    "timed_out": ("timed_out", "it had not ended when its time was up"),
    "output_limit": ("output_limit", f"it printed more than {inside.MOST_OUTPUT_BYTES >> 20} MiB"),
}

# --- comparison of output ---


def printed_difference(printed: str, expected: str, tolerance: float) -> str:
    """The first line that differs, and the expected one, as a message; "" if no line differs.

    White space at the ends of lines and empty lines at the end do not count; numbers may differ by the tolerance.
    """
    for number, (actual, wanted) in enumerate(zip_longest(_lines(printed), _lines(expected)), 1):
        if actual is None or wanted is None or not _is_like(actual, wanted, tolerance):
            return f"line {number} is {_line_repr(actual)}, expected {_line_repr(wanted)}"
    return ""


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def _line_repr(line: str | None) -> str:
    return "missing" if line is None else short_repr(line, _SHOWN_CHARS)


def _is_like(actual: str, expected: str, tolerance: float) -> bool:
    if actual == expected:
        return True
    words, wanted = actual.split(), expected.split()
    alike = (_is_close(*pair, tolerance) for pair in zip(words, wanted, strict=False))
    return tolerance > 0 and len(words) == len(wanted) and all(alike)


def _is_close(found: str, expected: str, tolerance: float) -> bool:
    try:
        return are_close(float(found), float(expected), printed_numbers(tolerance))
    except ValueError:
        return found == expected


# --- the sandboxed job of a program in another language ---


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """A whole program in one of `LANGUAGES_OF_PROGRAMS`, and how it is judged.

    `limits` are for all its runs together; building it has its own time. `word` is random: the program prints it once
    its tests have run to their end.
    """

    language: str
    program: str
    tests: ProgramTests | StdinTests
    limits: Limits
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnd:
    """How a program ended: `cause` is None if it passed, `case` is the number of the last pair that was run."""

    cause: Cause | None
    case: int
    cpu_s: float
    wall_s: float


def program_job(run: ProgramRun) -> Job:
    """The job that builds a program and does all its runs; it holds no expected output."""
    sources = sources_of(run.language, run.program, run.tests.source if isinstance(run.tests, ProgramTests) else None)
    encoded = {name: text.encode(errors="surrogatepass") for name, text in sources.files.items()}
    toolchains = toolchains_for(run.language)
    request = {
        "ways": [_commands(toolchain, sources) for toolchain in toolchains],
        "inputs": _inputs(run),
        "cpu_s": run.limits.cpu_s,
        "wall_s": run.limits.wall_s,
    }
    return Job(
        command=("python", f"{APP}/driver.py"),
        program={"driver.py": module_path(inside), **encoded},
        inputs={name: path for toolchain in toolchains for name, path in toolchain.inputs.items()},
        env={name: value for toolchain in toolchains for name, value in toolchain.env.items()},
        outputs=("report",),
        stdin=json.dumps(request).encode(),
        limits=_with_build(run.limits),
    )


def program_end(run: ProgramRun, execution: Execution) -> ProgramEnd:
    """Read the execution of the job.

    Raises SandboxError if the machine failed, MissingInterpreterError if it has no toolchain for the program.
    """
    if execution.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it ran a program: {execution.message}")
    records = list(_records(execution))
    cases = [record for record in records if record["kind"] == "case"]
    missing = next((record["said"] for record in records if record["kind"] == "missing"), None)
    if missing is not None:
        remedy = REMEDIES[run.language]
        raise MissingInterpreterError(
            f"the sandbox has nothing to run {run.language} with ({missing}): install {remedy}"
        )
    return ProgramEnd(
        cause=limit_cause(execution, run.limits) or _cause(run, records, cases) or _unfinished(run, cases, execution),
        case=len(cases),
        cpu_s=sum(case["cpu_s"] for case in cases),
        wall_s=sum(case["wall_s"] for case in cases),
    )


def _inputs(run: ProgramRun) -> list[str]:
    return [pair.stdin for pair in run.tests.pairs] if isinstance(run.tests, StdinTests) else [run.word]


def _commands(toolchain: Toolchain, sources: Sources) -> dict[str, Sequence[str]]:
    names = tuple(sources.files)
    build, run = (fill_command(command, names, sources.main_class) for command in (toolchain.build, toolchain.run))
    return {"check": toolchain.check, "build": build, "run": run}


def _with_build(limits: Limits) -> Limits:
    """The limits of the whole job, with what the compiler may use; the driver enforces those of the runs."""
    return replace(
        limits,
        wall_s=limits.wall_s + 2 * inside.BUILD_S,
        cpu_s=None if limits.cpu_s is None else limits.cpu_s + 4 * inside.BUILD_S,
        memory_mib=max(limits.memory_mib, 2048),
        processes=max(limits.processes, 128),
        output_mib=max(limits.output_mib, 512),
        file_mib=max(limits.file_mib, 512),
    )


def _records(execution: Execution) -> Iterator[dict[str, Any]]:
    """The lines of the report, up to one that is malformed.

    The program may have written to the report; it gains nothing by that, as it does not know the expected output.
    """
    output = execution.outputs.get("report")
    for line in output.read_bytes(_REPORT_BYTES).splitlines() if output else ():
        record = _record(line)
        if record is None:
            return
        yield record


def _record(line: bytes) -> dict[str, Any] | None:
    """A line of the report with its fields converted to their types; None for anything else."""
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
    """The first failure in the report."""
    rejected = next((record["said"] for record in records if record["kind"] == "rejected"), None)
    if rejected is not None:
        return Cause(kind="syntax_error", message=failure_text(f"it is refused: {rejected}"))
    return next((cause for index, case in enumerate(cases) if (cause := _case_cause(run, index, case))), None)


def _case_cause(run: ProgramRun, index: int, case: Mapping[str, Any]) -> Cause | None:
    if case["why"] in _LIMITS_MET:
        kind, message = _LIMITS_MET[case["why"]]
        return Cause(kind=kind, message=message)
    if case["status"] != 0:
        return _failed_exit(run.tests, case["status"], case["stderr"])
    printed = case["stdout"].decode(errors="replace")
    if isinstance(run.tests, StdinTests):
        difference = printed_difference(printed, run.tests.pairs[index].stdout, run.tests.tolerance)
        return Cause(kind="test_failed", message=difference) if difference else None
    if printed.rpartition("\n")[2] != run.word:
        return Cause(kind="untrusted_report", message="it ended with status 0 before its tests came to their end")
    return None


def _failed_exit(tests: ProgramTests | StdinTests, status: int, stderr: str) -> Cause:
    ending = f"it ended by {signal_name(-status)}" if status < 0 else f"it ended with status {status}"
    is_test = isinstance(tests, ProgramTests) and (not stderr or any(word in stderr.lower() for word in _TEST_FAILED))
    message = failure_text(f"{ending}: {stderr}" if stderr else ending)
    return Cause(kind="test_failed" if is_test else "exception", message=message)


def _unfinished(run: ProgramRun, cases: Sequence[object], execution: Execution) -> Cause | None:
    if len(cases) >= len(_inputs(run)):
        return None
    stderr = execution.stderr.decode(errors="replace").strip()
    if execution.status == "exited" and execution.exit_code == 0:
        message = "the report of its runs was cut short"
    else:
        message = f"what runs it was ended: {stderr or execution.status}"
    return Cause(kind="untrusted_report", message=failure_text(message))


# --- Python programs, by output ---


def output_flaw(candidate: CandidateProgram) -> Cause | None:
    """The syntax error of a program, None if it has none."""
    return syntax_cause(candidate.program, "solution.py")


def output_trials(candidates: Sequence[CandidateProgram]) -> Iterable[Trial]:
    """For each candidate, the run on its first pair; the other pairs follow one by one."""
    return [OutputTrial(candidate) for candidate in candidates]


@dataclass(frozen=True, slots=True)
class OutputTrial:
    """A program's run on one pair; `cpu_s` and `wall_s` are the time of its earlier runs."""

    candidate: CandidateProgram
    index: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    judged_by: JudgedBy = "output"

    @property
    def candidates(self) -> tuple[CandidateProgram, ...]:
        """The candidate alone."""
        return (self.candidate,)

    @property
    def job(self) -> Job:
        """The program with the pair's text on stdin; the job does not hold the expected output."""
        return Job(
            command=("python", "/app/solution.py"),
            program={"solution.py": self.candidate.program.encode()},
            env=DETERMINISTIC_ENVIRONMENT,
            stdin=self._pairs[self.index].stdin.encode(),
            limits=self.candidate.limits,
        )

    @property
    def _pairs(self) -> tuple[StdinPair, ...]:
        tests = self.candidate.problem.tests
        return tests.pairs if isinstance(tests, StdinTests) else ()

    def settle(self, execution: Execution) -> Settled:
        """The verdict if a pair failed or none remains, else the run on the next pair. Raises SandboxError."""
        if execution.status == "sandbox_error":
            raise SandboxError(f"the sandbox failed while it ran the program: {execution.message}")
        cause = self._cause(execution)
        cpu_s, wall_s = self.cpu_s + execution.cpu_s, self.wall_s + execution.wall_s
        if cause is None and self.index + 1 < len(self._pairs):
            return Settled(remaining=(replace(self, index=self.index + 1, cpu_s=cpu_s, wall_s=wall_s),))
        verdict = verdict_of(
            self.candidate, cause, case=f"pair {self.index + 1}" if cause else "", cpu_s=cpu_s, wall_s=wall_s
        )
        return Settled(verdicts=((self.candidate, verdict),))

    def again(self, candidates: Iterable[CandidateProgram]) -> Iterable[Trial]:
        """The same run for each."""
        return [replace(self, candidate=candidate) for candidate in candidates]

    def _cause(self, execution: Execution) -> Cause | None:
        cause = limit_cause(execution, self.candidate.limits)
        if cause is not None:
            return cause
        if execution.exit_code != 0:
            return exception_cause(execution.stderr.decode(errors="replace"), _ending(execution))
        if execution.stdout_cut:
            return Cause(kind="output_limit", message="it printed more than is kept of an output")
        tests = self.candidate.problem.tests
        tolerance = tests.tolerance if isinstance(tests, StdinTests) else 0.0
        expected = self._pairs[self.index].stdout
        difference = printed_difference(execution.stdout.decode(errors="replace"), expected, tolerance)
        return Cause(kind="test_failed", message=difference) if difference else None


def _ending(execution: Execution) -> str:
    if execution.signal is not None:
        return f"the program was ended by {signal_name(execution.signal)}"
    return f"the program ended with exit status {execution.exit_code}"


# --- programs in other languages, by output or by their own tests ---


def program_trials(candidates: Sequence[CandidateProgram]) -> Iterable[Trial]:
    """A trial for each."""
    return [ProgramTrial(candidate) for candidate in candidates]


@dataclass(frozen=True, slots=True)
class ProgramTrial:
    """A program that is built once and run on every text; `word` as in `ProgramRun`."""

    candidate: CandidateProgram
    word: str = field(default_factory=lambda: secrets.token_hex(16))
    judged_by: JudgedBy = "output"

    @property
    def candidates(self) -> tuple[CandidateProgram, ...]:
        """The candidate alone."""
        return (self.candidate,)

    @property
    def job(self) -> Job:
        """The job that builds the program and does its runs."""
        return program_job(self._run)

    @property
    def _run(self) -> ProgramRun:
        problem = self.candidate.problem
        if not isinstance(problem.tests, ProgramTests | StdinTests):
            raise RequestError(f"problem {problem.task_id!r} is of {problem.language}; give StdinTests or ProgramTests")
        return ProgramRun(
            language=problem.language,
            program=self.candidate.program,
            tests=problem.tests,
            limits=self.candidate.limits,
            word=self.word,
        )

    def settle(self, execution: Execution) -> Settled:
        """The verdict. Raises SandboxError if the machine failed, or has no toolchain for the language."""
        end = program_end(self._run, execution)
        case = f"pair {end.case}" if end.case and isinstance(self.candidate.problem.tests, StdinTests) else ""
        verdict = verdict_of(
            self.candidate, end.cause, case=case if end.cause else "", cpu_s=end.cpu_s, wall_s=end.wall_s
        )
        return Settled(verdicts=((self.candidate, verdict),))

    def again(self, candidates: Iterable[CandidateProgram]) -> Iterable[Trial]:
        """A trial for each, with another word."""
        return program_trials(tuple(candidates))
