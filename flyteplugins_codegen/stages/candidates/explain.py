"""The input on which candidates differ, told so that a person can say who is right."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import zip_longest

from pydantic import JsonValue

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.job import Request
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
    can_be_compared,
    choose,
    differing_output,
    differing_run,
    does_same,
    is_trusted,
)
from flyteplugins_codegen.stages.lineage import base_attempt, best_attempt, lineage_of
from flyteplugins_codegen.text import shorten_middle

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
    return tuple(Answer(attempts=group.attempts, text=shorten_middle(text, _ANSWER_CHARS)) for group, text in told)


def _told_input(request: Request, run: ScriptRun) -> str:
    if run.case == SAMPLES_CASE:
        return ", ".join(f"{sample.name}={sample.file_name}" for sample in request.samples) or "no inputs"
    example = request.examples[int(run.case.rpartition(" ")[2]) - 1]
    return shorten_middle(json.dumps(example.inputs, ensure_ascii=False), _INPUT_CHARS)


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
    return Disagreement(case=name, input=shorten_middle(source, _INPUT_CHARS), answers=_answers(groups, texts))


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


# How far a chosen candidate may be trusted, as a number with a meaning.


class Voices(Value):
    """How many voices that do not know each other are for a candidate, and how many against; a weak one counts less."""

    agreeing: float = 0.0
    dissenting: float = 0.0

    @property
    def confidence(self) -> float | None:
        """Laplace's rule of succession: how likely the next such voice agrees, None where none has spoken."""
        heard = self.agreeing + self.dissenting
        return (self.agreeing + 1) / (heard + 2) if heard else None


def confidence_in(run: Run, chosen: Attempt) -> float | None:
    """How likely one more independent check of the chosen candidate's results would agree with them, from 0 to 1.

    Each voice counts once: every example and every test of the user's that it passed; the generated tests together,
    where their author had not seen it, and no more of them than their measured strength; every other draft that passes
    what the user gave, for or against by what it does. Each repair behind the candidate counts against, for what is
    mended until a check is content has not passed it blind. By Laplace's rule of succession that makes
    (for + 1) / (for + against + 2): 0.67 for a first draft that passes generated tests of full strength alone, 0.8
    where two more drafts do the same, more with every example. 1.0 would be certainty, which no number of checks gives:
    it is approached and never reached. None where the candidate failed or no voice is heard, as of a single draft that
    only ran on the samples.
    """
    report = chosen.report
    return _voices(run, chosen, report).confidence if report is not None and report.passed else None


def _voices(run: Run, chosen: Attempt, report: TestReport) -> Voices:
    lineage = lineage_of(run, chosen)
    # The same code may have been tried again with other packages, or with fewer tests than its rivals were.
    witness = next(attempt for attempt in lineage if _code(attempt) == _code(chosen) and is_trusted(attempt.report))
    rivals = [other for other in run.attempts if other.parent is None and other.number != lineage[0].number]
    others = [does_same(witness, rival) for rival in rivals if _has_a_voice(rival, report)]
    return Voices(
        agreeing=_checks_of_the_user(report) + _blind_suite(run, chosen, report) + sum(others),
        dissenting=sum(attempt.action == "repair" and not attempt.unusable for attempt in lineage)
        + len(others)
        - sum(others),
    )


def _has_a_voice(rival: Attempt, report: TestReport) -> bool:
    return rival.report is not None and is_trusted(rival.report) and can_be_compared(rival.report, report)


def _code(attempt: Attempt) -> str:
    return attempt.candidate.solution.code


def _checks_of_the_user(report: TestReport) -> int:
    examples = sum(run.case != SAMPLES_CASE for run in report.runs)
    return examples + sum(len(suite.expected) for suite in report.suites if suite.origin == "user")


def _blind_suite(run: Run, chosen: Attempt, report: TestReport) -> float:
    """The voice of the author of the generated tests; none once some of them were found wrong.

    Nor where it had seen the solution, as an agent has, and as whoever wrote tests beyond weak ones: these alone count.
    """
    judged = any(suite.origin == "generated" and suite.expected for suite in report.suites)
    if not judged or run.dropped_tests or run.settings.backend == "agent":
        return 0.0
    strengths = (attempt.strength for attempt in lineage_of(run, chosen))
    return min((each.share for each in strengths if each is not None and each.share is not None), default=1.0)


# What a run's candidates come to at its end: the one that stands for the run, and where they differed.


def final_attempt(run: Run) -> Attempt | None:
    """The attempt that was chosen last where it passed, else the one of all that came farthest."""
    if not run.attempts:
        return None
    base = base_attempt(run)
    return base if base.report is not None and base.report.passed else best_attempt(run.attempts)


def disagreement_of(request: Request, attempts: Sequence[Attempt]) -> Disagreement | None:
    """Where candidates of one round differ that pass what the user gave; undecided, those that pass everything."""
    choice = choose(attempts)
    among = [group for group in choice.groups if group.passes_all or not choice.is_undecided]
    return find_disagreement(request, among, attempts)


def last_disagreement(run: Run) -> Disagreement | None:
    """Of the last round in which several candidates were made at once, whether one of them was chosen or none."""
    rounds = [[each for each in run.attempts if each.round_number == number] for number in _rounds(run)]
    several = [attempts for attempts in rounds if len(attempts) > 1]
    return disagreement_of(run.request, several[-1]) if several else None


def _rounds(run: Run) -> list[int]:
    return sorted({attempt.round_number for attempt in run.attempts})
