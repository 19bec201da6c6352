"""The scores and how samples ended, as tables: the top of a report, and what a notebook shows of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from flyteplugins_codegen.evaluation.findings import Findings
from flyteplugins_codegen.evaluation.report.markup import figure, long, table, words

_MOST_NAMES: Final = 5


def render_summary(findings: Findings) -> str:
    """Both tables, and those of categories, of problems in doubt and of what was skipped where there are any."""
    parts = [render_scores(findings), render_counts(findings)]
    if findings.by_category:
        parts.append(render_categories(findings))
    if findings.flaws or findings.unanswered:
        parts.append(render_doubts(findings))
    if findings.skipped:
        parts.append(table(("left out of the samples",), [(long(said),) for said in findings.skipped]))
    return "\n".join(parts)


def render_scores(findings: Findings) -> str:
    """pass@k with its interval, and pass^k, by k."""
    rows = [
        (
            f"pass@{k}",
            f"<b>{figure(value)}</b>",
            _interval(*findings.intervals[k]),
            _bar(value, *findings.intervals[k]),
            figure(findings.pass_hat_k[k]),
        )
        for k, value in findings.pass_at_k.items()
    ]
    return table(("", "estimate", "95 % interval", "", "all k pass"), rows)


def render_counts(findings: Findings) -> str:
    """How many samples ended in each way that any ended in."""
    total = len(findings.samples) or 1
    rows = [
        (
            f'<i class="dot {outcome}"></i> {words(outcome)}',
            f"{count:,}",
            f"{100 * count / total:.1f} %",
            f'<span class="bar"><i class="{outcome}" style="width:{100 * count / total:.2f}%"></i></span>',
        )
        for outcome, count in findings.counts.items()
        if count
    ]
    return table(("end", "samples", "share", ""), rows)


def render_categories(findings: Findings) -> str:
    """pass@k of each category."""
    ks = list(findings.pass_at_k)
    rows = [(long(name), *(figure(scores[k]) for k in ks)) for name, scores in findings.by_category.items()]
    return table(("category", *(f"pass@{k}" for k in ks)), rows)


def render_doubts(findings: Findings) -> str:
    """Problems that are in no score, or whose scores may not mean much."""
    rows = [(long(flaw.task_id), long(flaw.reason)) for flaw in findings.flaws]
    if findings.unanswered:
        rows.append((_names(findings.unanswered), "no sample; in no score"))
    return table(("problem in doubt", "why"), rows)


def _names(tasks: Sequence[str]) -> str:
    """Names in one cell, folded where they are many: of a benchmark that is sampled in part, hundreds."""
    names = long(", ".join(tasks))
    if len(tasks) <= _MOST_NAMES:
        return names
    return f"<details><summary>{len(tasks):,} problems</summary>{names}</details>"


def _interval(low: float, high: float) -> str:
    return "—" if math.isnan(low) else f"{figure(low)} to {figure(high)}"


def _bar(value: float, low: float, high: float) -> str:
    """The interval on a line from 0 to 1, the estimate as a mark on it."""
    if math.isnan(value):
        return "too few samples"
    left, width, mark = 100 * low, 100 * (high - low), 100 * value
    interval, estimate = f"left:{left:.2f}%;width:{width:.2f}%", f"left:{mark:.2f}%"
    return f'<span class="scale"><i style="{interval}"></i><b style="{estimate}"></b></span>'
