"""The input on which candidates differ, told so that a person can say who is right."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import zip_longest

from pydantic import JsonValue

from flyteplugins_codegen.models.agreement import Answer, Disagreement, Group
from flyteplugins_codegen.models.report import SAMPLES_CASE, ScriptRun, TestOutcome, TestReport
from flyteplugins_codegen.models.request import Request
from flyteplugins_codegen.models.run import Attempt
from flyteplugins_codegen.sandbox.failure_text import shortened
from flyteplugins_codegen.source.test_functions import find_test_functions, function_of, source_of
from flyteplugins_codegen.stages.candidates.sameness import differing_output, differing_run

_ANSWER_CHARS = 300
_INPUT_CHARS = 600
_MOST_ANSWERS = 5


def find_disagreement(request: Request, groups: Sequence[Group], attempts: Sequence[Attempt]) -> Disagreement | None:
    """Where the first two groups part, and what each group makes of it; None where there are not two groups.

    A run of the script says more than a test, for it shows what comes out; a test is told where all runs agree.
    """
    if len(groups) < 2:  # noqa: PLR2004 - it takes two to disagree
        return None
    speakers = [_speaker(group, attempts) for group in groups[:_MOST_ANSWERS]]
    reports = [speaker.report or TestReport() for speaker in speakers]
    differing = differing_run(reports[0], reports[1])
    if differing is None:
        return _on_test(groups, speakers, reports)
    case, output = differing[0].case, differing_output(*differing) or ""
    runs = [next((run for run in report.runs if run.case == case), None) for report in reports]
    texts = _told_outputs(output, [run.outputs.get(output) if run else None for run in runs])
    return Disagreement(case=case, input=_told_input(request, differing[0]), answers=_answers(groups, texts))


def _speaker(group: Group, attempts: Sequence[Attempt]) -> Attempt:
    return next(attempt for attempt in attempts if attempt.number == group.attempts[0])


def _answers(groups: Sequence[Group], texts: Sequence[str]) -> tuple[Answer, ...]:
    told = zip(groups, texts, strict=False)  # the first few groups alone are told
    return tuple(Answer(attempts=group.attempts, text=shortened(text, _ANSWER_CHARS)) for group, text in told)


def _told_input(request: Request, run: ScriptRun) -> str:
    if run.case == SAMPLES_CASE:
        return ", ".join(f"{sample.name}={sample.file_name}" for sample in request.samples) or "no inputs"
    example = request.examples[int(run.case.rpartition(" ")[2]) - 1]
    return shortened(json.dumps(example.inputs, ensure_ascii=False), _INPUT_CHARS)


def _told_outputs(name: str, values: Sequence[JsonValue]) -> list[str]:
    """A value as it is; of files the first line on which any two differ, where the part of them that is kept has it."""
    heads = [value.get("head") if isinstance(value, dict) else None for value in values]
    if all(isinstance(head, str) for head in heads):
        lines = list(zip_longest(*(str(head).splitlines() for head in heads), fillvalue="no such line"))
        number = next((number for number, line in enumerate(lines) if len(set(line)) > 1), None)
        if number is not None:
            return [f"{name}, line {number + 1}: {line}" for line in lines[number]]
    return [f"{name} = {_told_value(value)}" for value in values]


def _told_value(value: JsonValue) -> str:
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if "files" in value:
        return f"a folder of {value['count']} files, {json.dumps(value['files'], ensure_ascii=False)}"
    return f"a file of {value.get('size_bytes')} bytes, sha256 {str(value.get('sha256'))[:12]}"


def _on_test(
    groups: Sequence[Group], speakers: Sequence[Attempt], reports: Sequence[TestReport]
) -> Disagreement | None:
    apart = set(groups[0].passed) ^ set(groups[1].passed)
    name = next((name for name in (*groups[0].passed, *groups[1].passed) if name in apart), None)
    if name is None:
        return None
    texts = [_told_outcome(_outcome(report, name)) for report in reports]
    source = _source_of(speakers[0].candidate.tests or "", name)
    return Disagreement(case=name, input=shortened(source, _INPUT_CHARS), answers=_answers(groups, texts))


def _outcome(report: TestReport, name: str) -> TestOutcome | None:
    return next((test for suite in report.suites for test in suite.tests if test.name == name), None)


def _told_outcome(test: TestOutcome | None) -> str:
    if test is None:
        return "it did not run"
    return test.outcome if test.outcome == "passed" else f"{test.outcome}: {test.message.strip()}"


def _source_of(tests: str, name: str) -> str:
    """The text of the test's function, by the name that pytest gives it."""
    functions = [each for each in find_test_functions(tests) if each.name == function_of(name)]
    return source_of(tests, functions[0]).strip() if functions else name
