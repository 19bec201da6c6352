"""The tables of `make eval-verdict`: what strength and confidence tell, and which verdicts were wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.verdict.corpus import SUITE_KINDS
from benchmarks.verdict.verdicts import Verdict
from flyteplugins_codegen.models.settings import Settings

GATE: float = Settings.model_fields["min_test_strength"].default
BINS = 10
COUNTED_BIN = 20
"""How many pairs a bin of confidences needs, to be held against the share of right ones in it."""


class Operating(NamedTuple):
    """What a threshold of strength does: shares of good, thin and vacuous suites that reach it."""

    threshold: float
    good: float
    thin: float
    vacuous: float


class Bin(NamedTuple):
    """The pairs whose confidence is in one tenth: how many, their mean confidence, and the share of right ones."""

    pairs: int
    confidence: float
    right: float

    @property
    def is_off(self) -> bool:
        """Whether confidence and truth are more than 0.1 apart, in a bin that counts."""
        return self.pairs >= COUNTED_BIN and abs(self.confidence - self.right) > 0.1  # noqa: PLR2004 - the bar


def area_under_roc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """The probability that a positive is above a negative, ties counted half (Mann and Whitney)."""
    above = sum((one > other) + (one == other) / 2 for one in positives for other in negatives)
    return above / (len(positives) * len(negatives)) if positives and negatives else float("nan")


def suite_strengths(verdicts: Iterable[Verdict]) -> dict[str, list[float]]:
    """The strengths of suites, measured with the first right solution, by their kind. A suite with a flaw has 0."""
    strengths: dict[str, list[float]] = {kind: [] for kind in SUITE_KINDS}
    for verdict in verdicts:
        if verdict.solution == "solution" and verdict.reference == "right" and verdict.strength is not None:
            strengths[verdict.suite_kind].append(verdict.strength)
    return strengths


def operating_points(strengths: dict[str, list[float]]) -> list[Operating]:
    """One for each tenth, and one for the gate."""
    thresholds = sorted({*(number / 10 for number in range(1, 11)), GATE})
    return [
        Operating(threshold, *(_share(value >= threshold for value in strengths[kind]) for kind in SUITE_KINDS))
        for threshold in thresholds
    ]


def confidence_bins(verdicts: Sequence[Verdict]) -> list[Bin]:
    """One for each tenth. A verdict without a confidence counts as 0: the run did not succeed, or cannot say."""
    bins: list[list[Verdict]] = [[] for _ in range(BINS)]
    for verdict in verdicts:
        bins[min(BINS - 1, int((verdict.confidence or 0.0) * BINS))].append(verdict)
    return [
        Bin(len(own), _mean(verdict.confidence or 0.0 for verdict in own), _share(verdict.is_right for verdict in own))
        for own in bins
    ]


def confidence_area(verdicts: Sequence[Verdict]) -> float:
    """The area under the ROC of confidence, right solutions against wrong ones."""
    right = [verdict.confidence or 0.0 for verdict in verdicts if verdict.is_right]
    return area_under_roc(right, [verdict.confidence or 0.0 for verdict in verdicts if not verdict.is_right])


def render(verdicts: Sequence[Verdict]) -> str:
    """The tables of suites and of verdicts."""
    return "\n\n".join(part(verdicts) for part in (_render_suites, _render_verdicts, _render_kinds))


def _render_suites(verdicts: Sequence[Verdict]) -> str:
    strengths = suite_strengths(verdicts)
    weak = strengths["thin"] + strengths["vacuous"]
    area, thin = area_under_roc(strengths["good"], weak), area_under_roc(strengths["good"], strengths["thin"])
    rows = [
        (f"{point.threshold:.2f}{' (the gate)' if point.threshold == GATE else ''}", *map(_percent, point[1:]))
        for point in operating_points(strengths)
    ]
    medians = ", ".join(f"{kind} {_median(strengths[kind])} of {len(strengths[kind])}" for kind in SUITE_KINDS)
    return "\n".join(
        [
            "Suites that reach a strength",
            _table(("strength", "good", "thin", "vacuous"), rows),
            f"Median strength: {medians}. Area under the ROC: {area:.3f}; against thin {thin:.3f}.",
        ]
    )


def _render_verdicts(verdicts: Sequence[Verdict]) -> str:
    rows = []
    for reference in dict.fromkeys(verdict.reference for verdict in verdicts):
        for kind in SUITE_KINDS:
            own = [verdict for verdict in verdicts if verdict.suite_kind == kind and verdict.reference == reference]
            if own:
                rows.append((reference, kind, _accepted_wrong(own), _refused_right(own)))
    return "\n".join(
        ["Verdicts", _table(("reference", "suite", "wrong accepted", "right refused"), rows), _slowest(verdicts)]
    )


def _render_kinds(verdicts: Sequence[Verdict]) -> str:
    wrong = [verdict for verdict in verdicts if not verdict.is_right and verdict.reference == "right"]
    rows = []
    for kind in sorted({verdict.kind for verdict in wrong}):
        own = [verdict for verdict in wrong if verdict.kind == kind]
        rows.append((kind, _accepted_wrong(own), ", ".join(f"{v.job}/{v.solution}" for v in own if v.is_accepted)))
    return "\n".join(["Wrong solutions beside a right reference", _table(("mistake", "accepted", "which"), rows)])


def render_confidence(title: str, verdicts: Sequence[Verdict]) -> str:
    """Its reliability in each tenth, and the area under its ROC."""
    rows = []
    for number, each in enumerate(confidence_bins(verdicts)):
        if each.pairs:
            told = "" if each.pairs < COUNTED_BIN else "off" if each.is_off else "within 0.1"
            bounds = f"{number / BINS:.1f} to {(number + 1) / BINS:.1f}"
            rows.append((bounds, str(each.pairs), f"{each.confidence:.2f}", f"{each.right:.2f}", told))
    accepted = [verdict for verdict in verdicts if verdict.is_accepted]
    area, among = confidence_area(verdicts), confidence_area(accepted)
    return "\n".join(
        [
            f"{title}; none counts as 0",
            _table(("confidence", "pairs", "mean", "right", ""), rows),
            f"Area under the ROC: {area:.3f} of {len(verdicts)} pairs; of the {len(accepted)} accepted {among:.3f}.",
        ]
    )


def _slowest(verdicts: Sequence[Verdict]) -> str:
    return f"{len(verdicts)} runs, {_mean(verdict.wall_s for verdict in verdicts):.1f} s each."


def _accepted_wrong(verdicts: Sequence[Verdict]) -> str:
    return _count(verdicts, lambda verdict: not verdict.is_right, lambda verdict: verdict.is_accepted)


def _refused_right(verdicts: Sequence[Verdict]) -> str:
    return _count(verdicts, lambda verdict: verdict.is_right, lambda verdict: not verdict.is_accepted)


def _count(verdicts: Sequence[Verdict], among: Callable[[Verdict], bool], which: Callable[[Verdict], bool]) -> str:
    own = [verdict for verdict in verdicts if among(verdict)]
    return f"{sum(map(which, own))} of {len(own)}" if own else ""


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _share(flags: Iterable[bool]) -> float:
    return _mean(float(flag) for flag in flags)


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else float("nan")


def _median(values: Sequence[float]) -> str:
    return f"{median(values):.2f}" if values else "-"


def _percent(share: float) -> str:
    return f"{share:.0%}"
