"""The result of a run's candidates: the final one, how far it can be trusted, and an input on which others differ."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import zip_longest

from pydantic import JsonValue

from flyteplugins_codegen.models.job import Request
from flyteplugins_codegen.models.reference import OutputsDiffer
from flyteplugins_codegen.models.run import (
    SAMPLES_CASE,
    Answer,
    Attempt,
    Disagreement,
    Group,
    Run,
    ScriptRun,
    TestOutcome,
    TestReport,
)
from flyteplugins_codegen.source.tests import find_test_functions, function_of, source_of
from flyteplugins_codegen.stages.candidates.choose import (
    choose,
    differing_output,
    differing_run,
)
from flyteplugins_codegen.stages.lineage import base_attempt, best_attempt
from flyteplugins_codegen.text import shorten_middle

_ANSWER_CHARS = 300
_INPUT_CHARS = 600
_MOST_ANSWERS = 5


def final_attempt(run: Run) -> Attempt | None:
    """The attempt that was chosen last if it passed, else the best of all attempts."""
    if not run.attempts:
        return None
    base = base_attempt(run)
    return base if base.report is not None and base.report.passed else best_attempt(run.attempts)


# --- disagreement ---


def last_disagreement(run: Run) -> Disagreement | None:
    """Where the final attempt differs from the reference, or else the last round's candidates from each other."""
    final = final_attempt(run)
    reference = final.report.reference if final and final.report else None
    if final and reference and reference.difference:
        return _from_reference(final, reference.difference)
    return _disagreement_of_rounds(run)


def _from_reference(attempt: Attempt, found: OutputsDiffer) -> Disagreement:
    place = f"{found.output_name}, {found.where}: " if found.where else f"{found.output_name}: "
    rows = f"{found.row_count} rows of {found.sample}:\n{found.rows.rstrip()}" if found.rows else ""
    answers = (
        Answer(attempts=(attempt.number,), text=place + found.solution_answer),
        Answer(attempts=(), text=place + found.reference_answer),
    )
    told = "; ".join(filter(None, [found.arguments, rows])) or found.case
    return Disagreement(case=found.case, input=shorten_middle(told, _INPUT_CHARS), answers=answers)


def _disagreement_of_rounds(run: Run) -> Disagreement | None:
    """The disagreement in the last round with several candidates, whether one of them was chosen or none."""
    numbers = sorted({attempt.round_number for attempt in run.attempts})
    rounds = [[attempt for attempt in run.attempts if attempt.round_number == number] for number in numbers]
    several = [attempts for attempts in rounds if len(attempts) > 1]
    return disagreement_of(run.request, several[-1]) if several else None


def disagreement_of(request: Request, attempts: Sequence[Attempt]) -> Disagreement | None:
    """Where candidates of one round that pass the user's checks differ; if undecided, those that pass everything."""
    choice = choose(attempts)
    among = [group for group in choice.groups if group.passes_all or not choice.is_undecided]
    return find_disagreement(request, among, attempts)


def find_disagreement(request: Request, groups: Sequence[Group], attempts: Sequence[Attempt]) -> Disagreement | None:
    """The first case on which the first two groups differ, and the answer of each group; None for fewer groups.

    A run of the script says more than a test, for it shows outputs. A test is named only if all runs agree.
    """
    if len(groups) < 2:  # noqa: PLR2004 - it takes two to disagree
        return None
    members = [_first_member(group, attempts) for group in groups[:_MOST_ANSWERS]]
    reports = [member.report or TestReport() for member in members]
    differing = differing_run(reports[0], reports[1])
    if differing is None:
        return _disagreement_on_test(groups, members, reports)
    case, output = differing[0].case, differing_output(*differing) or ""
    runs = [next((run for run in report.runs if run.case == case), None) for report in reports]
    texts = _output_texts(output, [run.outputs.get(output) if run else None for run in runs])
    return Disagreement(case=case, input=_input_text(request, differing[0]), answers=_answers(groups, texts))


def _first_member(group: Group, attempts: Sequence[Attempt]) -> Attempt:
    return next(attempt for attempt in attempts if attempt.number == group.attempts[0])


def _answers(groups: Sequence[Group], texts: Sequence[str]) -> tuple[Answer, ...]:
    pairs = zip(groups, texts, strict=False)  # there are texts for the first few groups only
    return tuple(Answer(attempts=group.attempts, text=shorten_middle(text, _ANSWER_CHARS)) for group, text in pairs)


def _input_text(request: Request, run: ScriptRun) -> str:
    if run.case == SAMPLES_CASE:
        files = [f"{sample.name}={sample.file_name}" for sample in request.samples]
        values = [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in run.arguments.items()]
        return shorten_middle(", ".join([*files, *values]), _INPUT_CHARS) or "no inputs"
    example = request.examples[int(run.case.rpartition(" ")[2]) - 1]
    return shorten_middle(json.dumps(example.inputs, ensure_ascii=False), _INPUT_CHARS)


def _output_texts(name: str, values: Sequence[JsonValue]) -> list[str]:
    """The values as text; of text files only the first line that differs, if the stored beginnings contain it."""
    heads = [value.get("head") if isinstance(value, dict) else None for value in values]
    if all(isinstance(head, str) for head in heads):
        lines = list(zip_longest(*(str(head).splitlines() for head in heads), fillvalue="no such line"))
        number = next((number for number, line in enumerate(lines) if len(set(line)) > 1), None)
        if number is not None:
            return [f"{name}, line {number + 1}: {line}" for line in lines[number]]
    return [f"{name} = {_value_text(value)}" for value in values]


def _value_text(value: JsonValue) -> str:
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if "files" in value:
        return f"a folder of {value['count']} files, {json.dumps(value['files'], ensure_ascii=False)}"
    return f"a file of {value.get('size_bytes')} bytes, sha256 {str(value.get('sha256'))[:12]}"


def _disagreement_on_test(
    groups: Sequence[Group], members: Sequence[Attempt], reports: Sequence[TestReport]
) -> Disagreement | None:
    differing = set(groups[0].passed) ^ set(groups[1].passed)
    name = next((name for name in (*groups[0].passed, *groups[1].passed) if name in differing), None)
    if name is None:
        return None
    texts = [_outcome_text(report, name) for report in reports]
    source = _test_source(members[0].candidate.tests or "", name)
    return Disagreement(case=name, input=shorten_middle(source, _INPUT_CHARS), answers=_answers(groups, texts))


def _outcome_text(report: TestReport, name: str) -> str:
    outcomes: list[TestOutcome] = [test for suite in report.suites for test in suite.tests if test.name == name]
    if not outcomes:
        return "it did not run"
    test = outcomes[0]
    return test.outcome if test.outcome == "passed" else f"{test.outcome}: {test.message.strip()}"


def _test_source(tests: str, name: str) -> str:
    """The source of the test function; `name` is its name as pytest reports it."""
    functions = [function for function in find_test_functions(tests) if function.name == function_of(name)]
    return source_of(tests, functions[0]).strip() if functions else name
