"""The problems of a report, a row for each: how its samples ended, one square each; and how they did before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from flyteplugins_codegen.evaluation.findings import Findings
from flyteplugins_codegen.evaluation.pairing import Pairing
from flyteplugins_codegen.evaluation.report.markup import change, figure, long, table, text, words
from flyteplugins_codegen.evaluation.values import OUTCOMES, Outcome, SampleResult

_MOST_SQUARES: Final = 40
_SLOWEST: Final = 20


def render_matrix(findings: Findings) -> str:
    """A button for each problem, in the order of their first samples; it shows that problem's samples below."""
    ends: dict[str, list[Outcome]] = {}
    for sample in findings.samples:
        ends.setdefault(sample.task_id, []).append(sample.outcome)
    rows = [_problem(task, outcomes, findings) for task, outcomes in ends.items()]
    return f'<div class="matrix">{"".join(rows)}</div>'


def _problem(task: str, outcomes: Sequence[Outcome], findings: Findings) -> str:
    score = findings.scores[task]
    strip = _squares(outcomes) if len(outcomes) <= _MOST_SQUARES else _shares(outcomes)
    return (
        f'<button data-task="{text(task)}"><span>{text(task)}</span><span class="strip">{strip}</span>'
        f"<span>{score.c}/{score.n}</span></button>"
    )


def _squares(outcomes: Iterable[Outcome]) -> str:
    return "".join(f'<i class="{outcome}" title="{words(outcome)}"></i>' for outcome in outcomes)


def _shares(outcomes: Iterable[Outcome]) -> str:
    """For more samples than there is room for squares: one part for each end, as wide as its share."""
    counts = Counter(outcomes)
    return "".join(
        f'<i class="{outcome}" style="flex:{counts[outcome]}" title="{counts[outcome]} {words(outcome)}"></i>'
        for outcome in OUTCOMES
        if counts[outcome]
    )


def render_slowest(findings: Findings) -> str:
    """The samples that took most CPU time."""
    slowest = sorted(enumerate(findings.samples), key=lambda item: -item[1].cpu_s)[:_SLOWEST]
    rows = [(*_sample(position, sample), f"{sample.cpu_s:.3f}", f"{sample.wall_s:.3f}") for position, sample in slowest]
    return table(("sample", "end", "CPU s", "wall s"), rows)


def _sample(position: int, sample: SampleResult) -> tuple[str, str]:
    name = f"{sample.task_id} #{sample.index}"
    return (
        f'<button class="link" data-sample="{position}">{long(name)}</button>',
        f'<i class="dot {sample.outcome}"></i> {words(sample.outcome)}',
    )


def render_comparison(before: Findings, findings: Findings, pairing: Pairing) -> str:
    """What changed from the earlier run: scores by k, and the problems that do better and worse."""
    rows = [
        (
            f"pass@{k}",
            figure(before.pass_at_k[k]),
            figure(findings.pass_at_k[k]),
            f"<b>{change(value)}</b>",
            f"{change(pairing.intervals[k][0])} to {change(pairing.intervals[k][1])}",
        )
        for k, value in pairing.difference.items()
    ]
    scores = table(("", "before", "now", "difference", "95 % interval"), rows)
    chance = f"McNemar's exact test: p = {pairing.p_value:.3g} on {pairing.problems} problems that both runs have."
    lists = [_changed(name, tasks, before, findings) for name, tasks in _directions(pairing) if tasks]
    return f"{scores}<p>{chance}</p>{''.join(lists)}"


def _directions(pairing: Pairing) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ("Better", pairing.better), ("Worse", pairing.worse)


def _changed(name: str, tasks: Sequence[str], before: Findings, findings: Findings) -> str:
    entries = "".join(
        f'<button data-task="{text(task)}"><span>{text(task)}</span><span>{_rate(before, task)} → '
        f"{_rate(findings, task)}</span></button>"
        for task in tasks
    )
    return f'<h3>{name}: {len(tasks)}</h3><div class="matrix">{entries}</div>'


def _rate(findings: Findings, task: str) -> str:
    return f"{findings.scores[task].c}/{findings.scores[task].n}"
