"""How far a chosen candidate may be trusted, as a number with a meaning."""

from __future__ import annotations

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.report import SAMPLES_CASE, TestReport
from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.stages.candidates.grouping import does_same
from flyteplugins_codegen.stages.candidates.sameness import can_be_compared, is_trusted
from flyteplugins_codegen.stages.lineage import lineage_of


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
