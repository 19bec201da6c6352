"""The agent's files run in the sandbox, by the stages that judge every candidate; what the model is shown is masked."""

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
from flyteplugins_codegen.llm.failures import describe_failure
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution, Example, Request
from flyteplugins_codegen.models.run import SOLUTION_FILE, TESTS_FILE, AgentSession, Attempt, Run, ScriptRun, TestReport
from flyteplugins_codegen.portable.launcher import parse_output
from flyteplugins_codegen.stages.agentic.tools import InputValue, ToolError, file_text
from flyteplugins_codegen.stages.build import build_environment
from flyteplugins_codegen.stages.context import extract_context
from flyteplugins_codegen.stages.lineage import count_tests
from flyteplugins_codegen.stages.privacy import masked_failures, masker_for
from flyteplugins_codegen.stages.repair_context import without_texts_of_samples
from flyteplugins_codegen.stages.sandboxes import RunSandboxes
from flyteplugins_codegen.stages.test import judge_attempt
from flyteplugins_codegen.text import shorten_middle

_STREAM_CHARS: Final = 2_000
_OWN_MESSAGES: Final = frozenset({"syntax_error", "timed_out", "out_of_memory", "output_limit"})
_LINE: Final = re.compile(r'solution\.py"?(?::|, line )(\d+)')
_NOT_SHOWN: Final = "(left out by privacy='profile')"


@dataclass(frozen=True, slots=True)
class AgentWorkspace:
    """What an agent works with: the run, its samples on this machine, and the sandboxes that are kept open."""

    run: Run
    samples: Mapping[str, Path]
    sandboxes: RunSandboxes | None = None


def candidate_of(session: AgentSession, plan: CodePlan | None = None, system_packages: Sequence[str] = ()) -> Candidate:
    """The files as a candidate. Raises ToolError if there is no solution yet."""
    if not session.files.get(SOLUTION_FILE, "").strip():
        raise ToolError(f"there is no {SOLUTION_FILE} yet; write it first")
    solution = CodeSolution(
        code=session.files[SOLUTION_FILE], packages=session.packages, system_packages=tuple(system_packages)
    )
    return Candidate(
        plan=plan or CodePlan(description="", approach=""), solution=solution, tests=session.files.get(TESTS_FILE)
    )


def judge_files(workspace: AgentWorkspace, session: AgentSession) -> tuple[TestReport, str]:
    """Run every check that will judge these files; return the report, and its text for the model."""
    candidate = candidate_of(session)
    report = _judge(workspace, workspace.run, candidate, workspace.samples)
    return report, report_text(workspace, candidate, report)


def run_scratch_tests(workspace: AgentWorkspace, session: AgentSession, path: str) -> str:
    """Run only the tests in another file; return the results and the tests' output as text."""
    candidate = candidate_of(session).model_copy(update={"tests": file_text(session.files, path)})
    alone = workspace.run.request.model_copy(update={"examples": (), "tests": None, "values": {}})
    settings = workspace.run.settings.model_copy(update={"skip_tests": False})
    run = workspace.run.model_copy(update={"request": alone, "settings": settings})
    judged = _judge(workspace, run, candidate, {})
    tests_alone = judged.model_copy(update={"runs": tuple(each for each in judged.runs if not each.arguments)})
    report = _masked(workspace, candidate, tests_alone)
    printed = "\n".join(suite.output for suite in report.suites)
    results = _results_text(report)
    return f"{results}\n\nPrinted:\n{shorten_middle(printed, _STREAM_CHARS)}" if printed.strip() else results


def run_on_sample(workspace: AgentWorkspace, session: AgentSession, values: Sequence[InputValue]) -> str:
    """Run the script on the samples, or on other values; return its output and its outputs as text."""
    request = workspace.run.request.model_copy(update={"examples": (), "tests": None})
    if values:
        case = Example(
            inputs={value.name: _input_value(workspace.run.request, session, value) for value in values}, outputs={}
        )
        request = request.model_copy(update={"examples": (case,)})
    settings = workspace.run.settings.model_copy(update={"skip_tests": True})
    run = workspace.run.model_copy(update={"request": request, "settings": settings})
    try:
        candidate = candidate_of(session).model_copy(update={"tests": None})
        report = _judge(workspace, run, candidate, workspace.samples)
    except InterfaceError as error:
        raise ToolError(str(error)) from error
    if report.build_cause is not None:
        return report_text(workspace, candidate, report)
    if not report.runs:
        raise ToolError(f"not every input has a sample; give values for all of {', '.join(request.inputs)}")
    masked = _masked(workspace, candidate, TestReport(runs=(_with_outputs(report.runs[0]),)))
    return _run_text(workspace, masked.runs[0])


def report_text(workspace: AgentWorkspace, candidate: Candidate, report: TestReport) -> str:
    """A candidate's report as text for the model: masked and bounded."""
    are_values_given = bool(workspace.run.request.values)
    return _results_text(_masked(workspace, candidate, report), are_values_given=are_values_given)


def sample_rows(workspace: AgentWorkspace, name: str) -> list[str]:
    """The rows of a sample that a model may see, as lines. Raises ToolError for an unknown sample."""
    context = extract_context(workspace.run.settings, workspace.run.request, workspace.samples)
    if name not in context.samples:
        raise ToolError(f"there is no sample {name[:100]!r}; there are {', '.join(context.samples) or 'none'}")
    masked, _ = mask_profile(context.samples[name], masker_for(workspace.run.settings, workspace.run.request))
    lines = [json.dumps(row, ensure_ascii=False, default=str) for row in masked.sample_rows]
    return lines or (masked.text_excerpt or "").splitlines()


def _judge(workspace: AgentWorkspace, run: Run, candidate: Candidate, samples: Mapping[str, Path]) -> TestReport:
    attempt = Attempt(number=1, action="agent", reason="a trial of the agent's own", candidate=candidate)
    built = build_environment(run.model_copy(update={"attempts": (attempt,)}))
    (built_attempt,) = built.attempts
    return built_attempt.report or judge_attempt(built, built_attempt, samples, workspace.sandboxes)


def _masked(workspace: AgentWorkspace, candidate: Candidate, report: TestReport) -> TestReport:
    report = without_texts_of_samples(workspace.run, candidate, report)
    masked = masked_failures(report, masker_for(workspace.run.settings, workspace.run.request), workspace.samples)
    if workspace.run.settings.privacy != "profile":
        return masked
    return masked.model_copy(update={"runs": tuple(map(_without_output, masked.runs))})


def _without_output(run: ScriptRun) -> ScriptRun:
    """The run without the program's output, which may have any part of a sample in a form that no mask recognises."""
    if run.cause is not None and run.cause.kind not in _OWN_MESSAGES:
        lines = ", ".join(dict.fromkeys(_LINE.findall(run.cause.message)))
        where = f" at solution.py, line {lines}" if lines else ""
        kind = run.cause.subject if run.cause.subject in vars(builtins) else ""
        cause = run.cause.model_copy(update={"subject": kind, "message": f"it failed{where} {_NOT_SHOWN}"})
        run = run.model_copy(update={"cause": cause})
    return run.model_copy(update={"stdout": "", "stderr": "", "variables": ""})


def _results_text(report: TestReport, *, are_values_given: bool = False) -> str:
    if not report.passed:
        return describe_failure(report)
    # Without durations: the text must be the same when the work is resumed or replayed.
    passed, expected = count_tests(report)
    # Values that were not given are no case here: conversations that were recorded before they were used count none.
    cases = sum(are_values_given or not run.arguments for run in report.runs)
    return f"Everything passed: the script on {cases} cases, {passed} of {expected} tests."


def _input_value(request: Request, session: AgentSession, value: InputValue) -> JsonValue:
    """The value as in an example: the content of a file instead of its name."""
    kind = request.inputs.get(value.name)
    if kind is None or kind == "directory":
        reason = "cannot be given here, for it is a folder" if kind else "is no input"
        raise ToolError(f"{value.name[:100]!r} {reason}; the inputs are {', '.join(request.inputs) or 'none'}")
    if kind == "file":
        return file_text(session.files, value.value)
    try:
        parsed: JsonValue = parse_output(value.value.encode(errors="replace"), kind)
    except ValueError as error:
        raise ToolError(f"input {value.name!r} ({kind}): {error}") from error
    return parsed


def _with_outputs(run: ScriptRun) -> ScriptRun:
    """The run with its outputs appended to its stdout, so that both are masked together."""
    outputs = "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in run.outputs.items())
    return run.model_copy(update={"stdout": f"{run.stdout}\n# Outputs\n{outputs}"})


def _run_text(workspace: AgentWorkspace, run: ScriptRun) -> str:
    has_ended = "The script ended well, every output there and of its type."
    printed, _, outputs = run.stdout.rpartition("\n# Outputs\n")
    parts = [has_ended if run.cause is None else run.cause.message]
    if workspace.run.settings.privacy == "profile":
        parts.append(f"What it printed and left: {_NOT_SHOWN}")
    streams = {"Its outputs": outputs.strip(), "stdout": printed.strip(), "stderr": run.stderr.strip()}
    parts += [f"{name}:\n{shorten_middle(text, _STREAM_CHARS)}" for name, text in streams.items() if text]
    return "\n\n".join(parts)
