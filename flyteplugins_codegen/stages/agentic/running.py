"""What the agent's files do when they run: by the stages that judge every candidate, in the sandbox, masked."""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from flyteplugins_codegen.data.privacy.masking import mask_profile
from flyteplugins_codegen.errors import InterfaceError
from flyteplugins_codegen.llm.prompts import describe_failure
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution, Example, Request
from flyteplugins_codegen.models.run import SOLUTION_FILE, TESTS_FILE, AgentSession, Attempt, Run, ScriptRun, TestReport
from flyteplugins_codegen.portable.launcher import parse_output
from flyteplugins_codegen.stages.agentic.tools import InputValue, ToolError, file_text
from flyteplugins_codegen.stages.build import build_environment
from flyteplugins_codegen.stages.context import extract_context
from flyteplugins_codegen.stages.lineage import count_tests
from flyteplugins_codegen.stages.privacy import masked_failures, masker_for
from flyteplugins_codegen.stages.repair_context import without_texts_of_samples
from flyteplugins_codegen.stages.sandboxes import Sandboxes
from flyteplugins_codegen.stages.test import judge_attempt
from flyteplugins_codegen.text import shorten_middle

_STREAM_CHARS: Final = 2_000
_OUR_WORDS: Final = frozenset({"syntax_error", "timed_out", "out_of_memory", "output_limit"})
_LINE: Final = re.compile(r'solution\.py"?(?::|, line )(\d+)')
_NOT_SHOWN: Final = "(left out by privacy='profile')"


@dataclass(frozen=True, slots=True)
class Desk:
    """What an agent works on: the run, its samples on this machine, and the sandboxes that stay open meanwhile."""

    run: Run
    samples: Mapping[str, Path]
    sandboxes: Sandboxes | None = None


def candidate_of(session: AgentSession, plan: CodePlan | None = None, system_packages: Sequence[str] = ()) -> Candidate:
    """The files as a candidate. Raises ToolError where there is no solution yet."""
    if not session.files.get(SOLUTION_FILE, "").strip():
        raise ToolError(f"there is no {SOLUTION_FILE} yet; write it first")
    solution = CodeSolution(
        code=session.files[SOLUTION_FILE], packages=session.packages, system_packages=tuple(system_packages)
    )
    return Candidate(
        plan=plan or CodePlan(description="", approach=""), solution=solution, tests=session.files.get(TESTS_FILE)
    )


def judge_files(desk: Desk, session: AgentSession) -> tuple[TestReport, str]:
    """Everything that will judge these files, and what of it is told."""
    candidate = candidate_of(session)
    report = _judge(desk, desk.run, candidate, desk.samples)
    return report, report_text(desk, candidate, report)


def run_scratch_tests(desk: Desk, session: AgentSession, path: str) -> str:
    """What the tests of another file say of the solution, and what they print."""
    candidate = candidate_of(session).model_copy(update={"tests": file_text(session.files, path)})
    alone = desk.run.request.model_copy(update={"examples": (), "tests": None})
    settings = desk.run.settings.model_copy(update={"skip_tests": False})
    run = desk.run.model_copy(update={"request": alone, "settings": settings})
    report = _masked(desk, candidate, _judge(desk, run, candidate, {}))
    printed = "\n".join(suite.output for suite in report.suites)
    return (
        f"{_told(report)}\n\nPrinted:\n{shorten_middle(printed, _STREAM_CHARS)}" if printed.strip() else _told(report)
    )


def run_on_sample(desk: Desk, session: AgentSession, values: Sequence[InputValue]) -> str:
    """What the script prints and leaves, on the samples or on other values."""
    request = desk.run.request.model_copy(update={"examples": (), "tests": None})
    if values:
        case = Example(inputs={each.name: _value(desk.run.request, session, each) for each in values}, outputs={})
        request = request.model_copy(update={"examples": (case,)})
    settings = desk.run.settings.model_copy(update={"skip_tests": True})
    run = desk.run.model_copy(update={"request": request, "settings": settings})
    try:
        candidate = candidate_of(session).model_copy(update={"tests": None})
        report = _judge(desk, run, candidate, desk.samples)
    except InterfaceError as error:
        raise ToolError(str(error)) from error
    if report.build_cause is not None:
        return report_text(desk, candidate, report)
    if not report.runs:
        raise ToolError(f"not every input has a sample; give values for all of {', '.join(request.inputs)}")
    masked = _masked(desk, candidate, TestReport(runs=(_with_outputs(report.runs[0]),)))
    return _run_text(desk, masked.runs[0])


def report_text(desk: Desk, candidate: Candidate, report: TestReport) -> str:
    """A candidate's report as the model hears it: masked, bounded."""
    return _told(_masked(desk, candidate, report))


def sample_rows(desk: Desk, name: str) -> list[str]:
    """The rows of a sample that its privacy lets a model see, as lines. Raises ToolError for one that is not there."""
    context = extract_context(desk.run.settings, desk.run.request, desk.samples)
    if name not in context.samples:
        raise ToolError(f"there is no sample {name[:100]!r}; there are {', '.join(context.samples) or 'none'}")
    masked, _ = mask_profile(context.samples[name], masker_for(desk.run.settings, desk.run.request))
    lines = [json.dumps(row, ensure_ascii=False, default=str) for row in masked.sample_rows]
    return lines or (masked.text_excerpt or "").splitlines()


def _judge(desk: Desk, run: Run, candidate: Candidate, samples: Mapping[str, Path]) -> TestReport:
    trial = Attempt(number=1, action="agent", reason="a trial of the agent's own", candidate=candidate)
    built = build_environment(run.model_copy(update={"attempts": (trial,)}))
    (attempt,) = built.attempts
    return attempt.report or judge_attempt(built, attempt, samples, desk.sandboxes)


def _masked(desk: Desk, candidate: Candidate, report: TestReport) -> TestReport:
    told = without_texts_of_samples(desk.run, candidate, report)
    masked = masked_failures(told, masker_for(desk.run.settings, desk.run.request), desk.samples)
    if desk.run.settings.privacy != "profile":
        return masked
    return masked.model_copy(update={"runs": tuple(map(_without_words, masked.runs))})


def _without_words(run: ScriptRun) -> ScriptRun:
    """A run without what the program says: it may say any part of a sample in any form, which no mask finds."""
    if run.cause is not None and run.cause.kind not in _OUR_WORDS:
        lines = ", ".join(dict.fromkeys(_LINE.findall(run.cause.message)))
        where = f" at solution.py, line {lines}" if lines else ""
        kind = run.cause.subject if run.cause.subject in vars(builtins) else ""
        cause = run.cause.model_copy(update={"subject": kind, "message": f"it failed{where} {_NOT_SHOWN}"})
        run = run.model_copy(update={"cause": cause})
    return run.model_copy(update={"stdout": "", "stderr": "", "variables": ""})


def _told(report: TestReport) -> str:
    if not report.passed:
        return describe_failure(report)
    # Without how long it took: what is told must be the same when the work is taken up again, or replayed.
    passed, expected = count_tests(report)
    return f"Everything passed: the script on {len(report.runs)} cases, {passed} of {expected} tests."


def _value(request: Request, session: AgentSession, given: InputValue) -> JsonValue:
    """The value as an example has it: the content of a file in place of its name."""
    kind = request.inputs.get(given.name)
    if kind is None or kind == "directory":
        told = "cannot be given here, for it is a folder" if kind else "is no input"
        raise ToolError(f"{given.name[:100]!r} {told}; the inputs are {', '.join(request.inputs) or 'none'}")
    if kind == "file":
        return file_text(session.files, given.value)
    try:
        value: JsonValue = parse_output(given.value.encode(errors="replace"), kind)
    except ValueError as error:
        raise ToolError(f"input {given.name!r} ({kind}): {error}") from error
    return value


def _with_outputs(run: ScriptRun) -> ScriptRun:
    """The run with its outputs among what it printed, so that they are masked like that."""
    outputs = "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in run.outputs.items())
    return run.model_copy(update={"stdout": f"{run.stdout}\n# Outputs\n{outputs}"})


def _run_text(desk: Desk, run: ScriptRun) -> str:
    ended = "ended well, every output there and of its type" if run.cause is None else run.cause.message
    printed, _, outputs = run.stdout.rpartition("\n# Outputs\n")
    parts = [f"The script {ended}."] if run.cause is None else [ended]
    if desk.run.settings.privacy == "profile":
        parts.append(f"What it printed and left: {_NOT_SHOWN}")
    parts += [
        f"{name}:\n{shorten_middle(text, _STREAM_CHARS)}"
        for name, text in _streams(printed, run.stderr, outputs)
        if text
    ]
    return "\n\n".join(parts)


def _streams(printed: str, stderr: str, outputs: str) -> list[tuple[str, str]]:
    return [("Its outputs", outputs.strip()), ("stdout", printed.strip()), ("stderr", stderr.strip())]
