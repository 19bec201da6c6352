"""A program in another language as a sandboxed job, and what became of it."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from flyteplugins_codegen.errors import RequestError, SandboxError
from flyteplugins_codegen.evaluation.programs import inside
from flyteplugins_codegen.evaluation.programs.languages import REMEDIES, Sources, Way, filled, sources_of, ways_to_run
from flyteplugins_codegen.evaluation.trials import Candidate, Settled, Trial, Verdict, too_long, verdict_of
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
from flyteplugins_codegen.text import failure_text

# Whether a program printed what it was to print.

_SHOWN_CHARS: Final = 120


def printed_difference(printed: str, expected: str, tolerance: float) -> str:
    """What the first line that differs is and should be; "" where none does.

    White space at the ends of lines, and empty lines at the end, do not count; numbers may differ by the tolerance.
    """
    found, wanted = _lines(printed), _lines(expected)
    for number in range(max(len(found), len(wanted))):
        one = found[number] if number < len(found) else None
        other = wanted[number] if number < len(wanted) else None
        if one is None or other is None or not _is_like(one, other, tolerance):
            return f"line {number + 1} is {_shown(one)}, expected {_shown(other)}"
    return ""


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def _shown(line: str | None) -> str:
    return "missing" if line is None else repr(line[:_SHOWN_CHARS])


def _is_like(found: str, expected: str, tolerance: float) -> bool:
    if found == expected:
        return True
    words, wanted = found.split(), expected.split()
    alike = (_is_close(*pair, tolerance) for pair in zip(words, wanted, strict=False))
    return tolerance > 0 and len(words) == len(wanted) and all(alike)


def _is_close(found: str, expected: str, tolerance: float) -> bool:
    try:
        return are_close(float(found), float(expected), printed_numbers(tolerance))
    except ValueError:
        return found == expected


_REPORT_BYTES: Final = 1 << 30
_TEST_FAILED: Final = ("assert", "panicked")
_LIMITS_MET: Final[Mapping[str, tuple[CauseKind, str]]] = {
    "timed_out": ("timed_out", "it had not ended when its time was up"),
    "output_limit": ("output_limit", f"it printed more than {inside.MOST_OUTPUT_BYTES >> 20} MiB"),
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
        program={"driver.py": module_path(inside), **_encoded(sources)},
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
        wall_s=limits.wall_s + 2 * inside.BUILD_S,
        cpu_s=None if limits.cpu_s is None else limits.cpu_s + 4 * inside.BUILD_S,
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


# Judged by what a program prints: run once for each text on stdin, what it printed compared outside of the sandbox.

OUTPUT_TESTS: Final = (StdinTests,)


def begin_output(candidate: Candidate) -> Verdict | None:
    """The verdict where there is nothing to run; None where there is."""
    verdict = too_long(candidate)
    flaw = None if verdict else syntax_cause(candidate.program, "solution.py")
    return verdict_of(candidate, flaw, cpu_s=0, wall_s=0) if flaw else verdict


def output_trials(candidates: Sequence[Candidate]) -> Iterable[Trial]:
    """For each, the run on its first pair; the others follow one by one."""
    return [OutputTrial(candidate) for candidate in candidates]


@dataclass(frozen=True, slots=True)
class OutputTrial:
    """A program's run on one pair; `cpu_s` and `wall_s` are what those before it took."""

    candidate: Candidate
    index: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    judged_by: JudgedBy = "output"

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The one."""
        return (self.candidate,)

    @property
    def job(self) -> Job:
        """The program, with the pair's text on its stdin and nothing of what is expected."""
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
        """The verdict once a pair fails or there is none left."""
        if execution.status == "sandbox_error":
            raise SandboxError(f"the sandbox failed while it ran the program: {execution.message}")
        cause = self._cause(execution)
        cpu_s, wall_s = self.cpu_s + execution.cpu_s, self.wall_s + execution.wall_s
        if cause is None and self.index + 1 < len(self._pairs):
            return Settled(left=(replace(self, index=self.index + 1, cpu_s=cpu_s, wall_s=wall_s),))
        verdict = verdict_of(
            self.candidate, cause, case=f"pair {self.index + 1}" if cause else "", cpu_s=cpu_s, wall_s=wall_s
        )
        return Settled(verdicts=((self.candidate, verdict),))

    def again(self, candidates: Iterable[Candidate]) -> Iterable[Trial]:
        """The same run anew."""
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
        told = printed_difference(execution.stdout.decode(errors="replace"), expected, tolerance)
        return Cause(kind="test_failed", message=told) if told else None


def _ending(execution: Execution) -> str:
    if execution.signal is not None:
        return f"the program was ended by {signal_name(execution.signal)}"
    return f"the program ended with exit status {execution.exit_code}"


# Judged by a program in another language: by what it prints, or by its own tests, run to their end with status 0.

PROGRAM_TESTS: Final = (ProgramTests, StdinTests)


def begin_program(candidate: Candidate) -> Verdict | None:
    """The verdict where there is nothing to run; None where there is."""
    return too_long(candidate)


def program_trials(candidates: Sequence[Candidate]) -> Iterable[Trial]:
    """A trial for each."""
    return [ProgramTrial(candidate) for candidate in candidates]


@dataclass(frozen=True, slots=True)
class ProgramTrial:
    """A program, built once and run on everything; `word` is what it prints once its tests have come to their end."""

    candidate: Candidate
    word: str = field(default_factory=lambda: secrets.token_hex(16))
    judged_by: JudgedBy = "output"

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The one."""
        return (self.candidate,)

    @property
    def job(self) -> Job:
        """The building and the runs."""
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
        """The verdict. Raises SandboxError where the machine is to blame, which may lack the language."""
        end = program_end(self._run, execution)
        case = f"pair {end.case}" if end.case and isinstance(self.candidate.problem.tests, StdinTests) else ""
        verdict = verdict_of(
            self.candidate, end.cause, case=case if end.cause else "", cpu_s=end.cpu_s, wall_s=end.wall_s
        )
        return Settled(verdicts=((self.candidate, verdict),))

    def again(self, candidates: Iterable[Candidate]) -> Iterable[Trial]:
        """The same anew."""
        return program_trials(tuple(candidates))
