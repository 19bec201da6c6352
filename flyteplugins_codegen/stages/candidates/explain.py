"""The result of a run's candidates: the final one, how far it can be trusted, and an input on which others differ."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import zip_longest

from pydantic import JsonValue

from flyteplugins_codegen.models.base import Value
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
from flyteplugins_codegen.stages.arguments import why_not_run
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


def final_attempt(run: Run) -> Attempt | None:
    """The attempt that was chosen last if it passed, else the best of all attempts."""
    if not run.attempts:
        return None
    base = base_attempt(run)
    return base if base.report is not None and base.report.passed else best_attempt(run.attempts)


# --- confidence ---


class Votes(Value):
    """How many independent votes are for a candidate, and how many against. A weak vote counts less than 1."""

    agreeing: float = 0.0
    dissenting: float = 0.0

    @property
    def confidence(self) -> float | None:
        """The probability that the next vote agrees, by Laplace's rule of succession; None without any vote."""
        count = self.agreeing + self.dissenting
        return (self.agreeing + 1) / (count + 2) if count else None


def confidence_in(run: Run, chosen: Attempt) -> float | None:
    """The probability that one more independent check of the chosen candidate's results would agree, from 0 to 1.

    These votes count: each example and each of the user's tests that it passed, 1; the generated tests together, if
    their author had not seen the candidate, their measured strength; every other draft that passes the user's checks,
    1 for or against, by what it does. Each repair behind the candidate is a vote against: a candidate that was changed
    until a check passed has not passed it blind. So is a script that never ran on the samples, because an input has no
    known value: only its tests have run it. Laplace's rule of succession makes of them
    (for + 1) / (for + against + 2): 0.67 for a first draft that only passes generated tests of full strength, 0.8 if
    two more drafts do the same, more with every example. 1.0 would be certainty, which no number of checks reaches.
    None if the candidate failed or has no vote, such as a single draft that only ran on the samples.
    """
    report = chosen.report
    return _votes(run, chosen, report).confidence if report is not None and report.passed else None


def _votes(run: Run, chosen: Attempt, report: TestReport) -> Votes:
    lineage = lineage_of(run, chosen)
    # The same code may have been tried again with other packages, or with fewer tests than its rivals had.
    code = chosen.candidate.solution.code
    witness = next(
        attempt for attempt in lineage if attempt.candidate.solution.code == code and is_trusted(attempt.report)
    )
    rivals = [other for other in run.attempts if other.parent is None and other.number != lineage[0].number]
    agree = [does_same(witness, rival) for rival in rivals if _has_vote(rival, report)]
    repairs = sum(attempt.action == "repair" and not attempt.unusable for attempt in lineage)
    return Votes(
        agreeing=_user_checks(report) + _vote_of_generated_tests(run, chosen, report) + sum(agree),
        dissenting=repairs + bool(why_not_run(run.request, report)) + len(agree) - sum(agree),
    )


def _has_vote(rival: Attempt, report: TestReport) -> bool:
    return rival.report is not None and is_trusted(rival.report) and can_be_compared(rival.report, report)


def _user_checks(report: TestReport) -> int:
    examples = sum(run.case != SAMPLES_CASE for run in report.runs)
    return examples + sum(len(suite.expected) for suite in report.suites if suite.origin == "user")


def _vote_of_generated_tests(run: Run, chosen: Attempt, report: TestReport) -> float:
    """The strength of the generated tests; 0 once some of them were wrong, or if their author had seen the solution.

    An agent has seen its solution. So has the author of tests that were added to weak ones: the strength from before
    they were added counts.
    """
    judged = any(suite.origin == "generated" and suite.expected for suite in report.suites)
    if not judged or run.dropped_tests or run.settings.backend == "agent":
        return 0.0
    strengths = (attempt.strength for attempt in lineage_of(run, chosen))
    shares = (strength.share for strength in strengths if strength is not None and strength.share is not None)
    return min(shares, default=1.0)


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
