"""The problems of a report, a row for each: how its samples ended, one square each; and how they did before."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.scores import Findings, Pairing, pair
from flyteplugins_codegen.evaluation.values import OUTCOMES, Outcome, Sample, SampleResult
from flyteplugins_codegen.html.kit import change, figure, long, read_asset, table, text, words
from flyteplugins_codegen.store import write_file
from flyteplugins_codegen.text import shorten_middle

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


# What the page's script shows samples from: their ends and their code, as JSON that no page can mistake for markup.

_MAX_CODE_CHARS: Final = 20_000  # of one sample
_MAX_PAGE_CHARS: Final = 16 << 20  # of all code in one page, each program counted once


def render_data(findings: Findings, samples: Iterable[Sample] | None) -> str:
    """The samples as JSON: `rows` by position, with the numbers of their task, outcome and code in the other lists.

    Raises RequestError where a given sample is of another problem than its result.
    """
    tasks = {task: number for number, task in enumerate(findings.scores)}
    codes = _Codes()
    numbers = {} if samples is None else _code_numbers(findings, samples, codes)
    rows = [
        [
            tasks[each.task_id],
            OUTCOMES.index(each.outcome),
            each.index,
            each.sample_id,
            each.reason,
            each.judged_by,
            round(each.cpu_s, 4),
            round(each.wall_s, 4),
            each.attempts,
            numbers.get(each.index),
        ]
        for each in findings.samples
    ]
    return _as_script({"tasks": list(tasks), "outcomes": OUTCOMES, "rows": rows, "codes": list(codes.numbers)})


class _Codes:
    """Each program once, until the page holds as much as a browser likes."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._room = _MAX_PAGE_CHARS

    def number(self, code: str) -> int | None:
        """Its number among them, None where there is no room for it."""
        code = shorten_middle(code, _MAX_CODE_CHARS)
        if code not in self.numbers:
            if len(code) > self._room:
                return None
            self._room -= len(code)
        return self.numbers.setdefault(code, len(self.numbers))


def _code_numbers(findings: Findings, samples: Iterable[Sample], codes: _Codes) -> dict[int, int | None]:
    ends = {each.index: each for each in findings.samples}
    found: dict[int, int | None] = {}
    for index, sample in enumerate(samples):
        if index not in ends:
            continue
        if ends[index].task_id != sample.task_id:
            raise RequestError(
                f"{sample.place} is number {index}, and the result of that number is of {ends[index].task_id!r}; "
                "give the samples that were evaluated, in their order"
            )
        found[index] = codes.number(sample.solution if sample.solution is not None else sample.completion or "")
    return found


def _as_script(data: dict[str, Any]) -> str:
    # Within a script element only `<` can begin its end, or a comment.
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


# The scores and how samples ended, as tables: the top of a report, and what a notebook shows of an evaluation.

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


# Puts the report together and writes it.

# Even a string that got through unescaped could not reach the network.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def write_report(
    findings: Findings, path: Path, *, samples: Iterable[Sample] | None, before: Findings | None, title: str
) -> Path:
    """Write the page whole or not at all. Raises RequestError for what is of other problems, OSError."""
    page = render_page(findings, samples=samples, before=before, title=title)
    write_file(path, page.encode(errors="backslashreplace"))
    return path


def render_page(findings: Findings, *, samples: Iterable[Sample] | None, before: Findings | None, title: str) -> str:
    """The whole page as text."""
    sections = "\n".join(
        f"<section><h2>{name}</h2>{body}</section>" for name, body in _sections(findings, before) if body
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{read_asset('evaluation.css')}</style></head>\n"
        f"<body>\n<h1>{text(title)}</h1>\n<p>{_told(findings)}</p>\n{sections}\n{_browser(findings)}\n"
        f'<script type="application/json" id="data">{render_data(findings, samples)}</script>\n'
        f"<script>{read_asset('evaluation.js')}</script>\n</body></html>\n"
    )


def _sections(findings: Findings, before: Findings | None) -> Iterator[tuple[str, str]]:
    yield "Scores", render_summary(findings)
    if before is not None:
        yield "Against the earlier run", render_comparison(before, findings, pair(before, findings))
    yield "Problems", render_matrix(findings)
    yield "Slowest samples", render_slowest(findings)


def _told(findings: Findings) -> str:
    left_out = findings.counts["infrastructure"]
    told = f"{len(findings.samples):,} samples of {len(findings.scores):,} problems"
    return f"{told}; {left_out:,} that the machine failed are not counted" if left_out else told


def _browser(findings: Findings) -> str:
    options = "".join(
        f'<option value="{outcome}">{words(outcome)} ({count:,})</option>'
        for outcome, count in findings.counts.items()
        if count
    )
    return (
        '<section id="samples"><h2>Samples</h2><noscript><p>Showing samples takes JavaScript.</p></noscript>'
        '<form><label>Problem <input type="search" id="task" placeholder="part of its name"></label>'
        f'<label>End <select id="outcome"><option value="">all</option>{options}</select></label></form>'
        '<p id="found" role="status"></p><div id="list"></div>'
        '<p class="pages"><button id="previous">Previous</button> <button id="next">Next</button></p></section>'
    )
