"""How likely it is that a candidate which passed is right: a logistic model of the evidence for it.

The weights are measured, not chosen: `benchmarks/verdict` fits them on solutions whose truth is known.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final, NamedTuple

from flyteplugins_codegen.models.reference import REFERENCE_FILE
from flyteplugins_codegen.models.run import SAMPLES_CASE, Attempt, Run, TestReport
from flyteplugins_codegen.stages.arguments import why_not_run
from flyteplugins_codegen.stages.candidates.choose import can_be_compared, does_same, is_trusted
from flyteplugins_codegen.stages.lineage import lineage_of


class Features(NamedTuple):
    """What speaks for and against a candidate that passed, by number.

    `agreed` is the logarithm of 1 + the number of cases, samples or derived files, on which the reference has the same
    outputs, and `unsettled` that of 1 + the cases on which it differs in what the description leaves open. `checks` is
    the logarithm of 1 + the user's examples and tests, `strength` the square of the share of mutants that the generated
    tests kill; their number told nothing more. `agreeing` and `dissenting` are drafts that were written without knowing
    this one; `repairs` are those of the solution, not of its tests. `is_blind` is 1 if the script never ran on the
    samples.
    """

    agreed: float = 0.0
    unsettled: float = 0.0
    checks: float = 0.0
    strength: float = 0.0
    agreeing: float = 0.0
    dissenting: float = 0.0
    repairs: float = 0.0
    is_blind: float = 0.0

    @property
    def is_evidence(self) -> bool:
        """Whether anything judged the candidate's values."""
        return any((self.agreed, self.checks, self.strength, self.agreeing, self.dissenting))


WEIGHTS: Final = Features(
    # Fitted by `python -m benchmarks.verdict --fit`.
    agreed=0.45,
    unsettled=-2.47,
    checks=1.00,
    strength=2.25,
    # Assumed, for the corpus has one draft a job: a draft weighs as much as the reference on a few files; a
    # repair halves the odds, and so does a script that never ran on the samples.
    agreeing=0.90,
    dissenting=-0.90,
    repairs=-0.69,
    is_blind=-0.69,
)
BIAS: Final = -1.60  # of the corpus, one solution in five is right before anything is known
_MOST_LOG_ODDS: Final = math.log(999)  # 0.999: no number of checks reaches certainty


def confidence_in(run: Run, chosen: Attempt) -> float | None:
    """The probability that the chosen candidate is right, above 0 and below 1.

    None if the candidate failed, or if nothing judged its values, such as a single draft that only ran on the samples.
    """
    if chosen.report is None or not chosen.report.passed:
        return None
    features = features_of(run, chosen, chosen.report)
    return probability(features) if features.is_evidence else None


def probability(features: Features) -> float:
    """What the model makes of the features: more evidence never makes less of it."""
    log_odds = BIAS + sum(weight * value for weight, value in zip(WEIGHTS, features, strict=True))
    return 1 / (1 + math.exp(-max(-_MOST_LOG_ODDS, min(_MOST_LOG_ODDS, log_odds))))


def features_of(run: Run, chosen: Attempt, report: TestReport) -> Features:
    """The features of a candidate that passed; `report` is its own."""
    lineage = lineage_of(run, chosen)
    # The same code may have been tried again with other packages, or with fewer tests than its rivals had.
    code = chosen.candidate.solution.code
    witness = next(
        attempt for attempt in lineage if attempt.candidate.solution.code == code and is_trusted(attempt.report)
    )
    rivals = [other for other in run.attempts if other.parent is None and other.number != lineage[0].number]
    agree = [does_same(witness, rival) for rival in rivals if _has_vote(rival, report)]
    codes = [attempt.candidate.solution.code for attempt in lineage]
    reference = report.reference if report.reference is not None and report.reference.agrees else None
    return Features(
        agreed=math.log1p(len(reference.agreed)) if reference else 0.0,
        unsettled=math.log1p(len(reference.unsettled)) if reference else 0.0,
        checks=math.log1p(_user_checks(report)),
        strength=_strength_of_tests(run, lineage, report) ** 2,
        agreeing=float(sum(agree)),
        dissenting=float(len(agree) - sum(agree)),
        repairs=float(sum(before != after for before, after in pairwise(codes))),
        is_blind=float(bool(why_not_run(run.request, report))),
    )


def _has_vote(rival: Attempt, report: TestReport) -> bool:
    return rival.report is not None and is_trusted(rival.report) and can_be_compared(rival.report, report)


def _user_checks(report: TestReport) -> int:
    examples = sum(run.case != SAMPLES_CASE for run in report.runs)
    return examples + sum(len(suite.expected) for suite in report.suites if suite.origin == "user")


def _strength_of_tests(run: Run, lineage: tuple[Attempt, ...], report: TestReport) -> float:
    """The strength of the generated tests; 0 once some of them were wrong, or if their author had seen the solution.

    An agent has seen its solution. So has the author of tests that were added to weak ones: the strength from before
    they were added counts.
    """
    are_wrong = any(dropped.name != REFERENCE_FILE for dropped in run.dropped_tests)
    are_there = any(suite.origin == "generated" and suite.expected for suite in report.suites)
    if not are_there or are_wrong or run.settings.backend == "agent":
        return 0.0
    strengths = (attempt.strength for attempt in lineage)
    shares = (strength.share for strength in strengths if strength is not None and strength.share is not None)
    return min(shares, default=1.0)
