"""The page of an evaluation: scores, comparison with an earlier run, problems, slowest samples, and every sample.

One HTML file that loads nothing; its script lists the samples from JSON that the page holds.
"""

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
from flyteplugins_codegen.html.kit import (
    figure,
    folded,
    read_asset,
    render_document,
    signed_figure,
    table,
    text,
    visible,
    words,
    wrapped,
)
from flyteplugins_codegen.store import write_file
from flyteplugins_codegen.text import shorten_middle

_MOST_NAMES: Final = 5  # in one cell, before they are folded
_MOST_SQUARES: Final = 40
_SLOWEST: Final = 20
_MAX_CODE_CHARS: Final = 20_000  # of one sample
_MAX_PAGE_CHARS: Final = 16 << 20  # of all code in one page, each program counted once


def write_report(
    findings: Findings, path: Path, *, samples: Iterable[Sample] | None, before: Findings | None, title: str
) -> Path:
    """Write the page whole or not at all.

    Raises RequestError if `samples` or `before` are for other problems, OSError if the file cannot be written.
    """
    page = render_page(findings, samples=samples, before=before, title=title)
    write_file(path, page.encode())
    return path


def render_page(findings: Findings, *, samples: Iterable[Sample] | None, before: Findings | None, title: str) -> str:
    """The whole page as text. Raises RequestError as `write_report` does."""
    name = text(title)
    data = f'<script type="application/json" id="data">{render_data(findings, samples)}</script>'
    return render_document(
        name,
        f"<header><h1>{name}</h1><p>{_sample_count(findings)}</p></header>",
        _sections(findings, before),
        kind="evaluation",
        footer=_sample_browser(findings),
        scripts=f"{data}\n<script>{read_asset('evaluation.js')}</script>",
    )


def _sections(findings: Findings, before: Findings | None) -> Iterator[tuple[str, str]]:
    yield "Scores", render_summary(findings)
    if before is not None:
        yield "Against the earlier run", _comparison(before, findings, pair(before, findings))
    yield "Problems", _problems(findings)
    yield "Slowest samples", _slowest(findings)


def _sample_count(findings: Findings) -> str:
    uncounted = findings.counts["infrastructure"]
    count = f"{len(findings.samples):,} samples of {len(findings.scores):,} problems"
    return f"{count}; {uncounted:,} that the machine failed are not counted" if uncounted else count


# --- scores ---


def render_summary(findings: Findings) -> str:
    """The top of a report, and what a notebook shows: tables of scores, outcomes, categories, and problems in doubt."""
    parts = [_scores(findings), _outcomes(findings)]
    if findings.by_category:
        parts.append(_categories(findings))
    if findings.flaws or findings.unanswered:
        parts.append(_doubts(findings))
    if findings.skipped:
        parts.append(table(("left out of the samples",), [(wrapped(reason),) for reason in findings.skipped]))
    return "\n".join(parts)


def _scores(findings: Findings) -> str:
    """pass@k with its interval, and pass^k, by k."""
    rows = []
    for k, value in findings.pass_at_k.items():
        low, high = findings.intervals[k]
        interval = "—" if math.isnan(low) else f"{figure(low)} to {figure(high)}"
        scale = _scale(value, low, high)
        rows.append((f"pass@{k}", f"<b>{figure(value)}</b>", interval, scale, figure(findings.pass_hat_k[k])))
    return table(("", "estimate", "95 % interval", "", "all k pass"), rows)


def _scale(value: float, low: float, high: float) -> str:
    """The interval on a line from 0 to 1, the estimate as a mark on it."""
    if math.isnan(value):
        return "too few samples"
    interval, estimate = f"left:{100 * low:.2f}%;width:{100 * (high - low):.2f}%", f"left:{100 * value:.2f}%"
    return f'<span class="scale"><i style="{interval}"></i><b style="{estimate}"></b></span>'


def _outcomes(findings: Findings) -> str:
    """How many samples had each outcome; outcomes of no sample are left out."""
    total = len(findings.samples) or 1
    rows = [
        (
            _outcome(outcome),
            f"{count:,}",
            f"{100 * count / total:.1f} %",
            f'<span class="share"><i class="{outcome}" style="width:{100 * count / total:.2f}%"></i></span>',
        )
        for outcome, count in findings.counts.items()
        if count
    ]
    return table(("end", "samples", "share", ""), rows)


def _outcome(outcome: Outcome) -> str:
    return f'<i class="dot {outcome}"></i> {words(outcome)}'


def _categories(findings: Findings) -> str:
    ks = list(findings.pass_at_k)
    rows = [(wrapped(name), *(figure(scores[k]) for k in ks)) for name, scores in findings.by_category.items()]
    return table(("category", *(f"pass@{k}" for k in ks)), rows)


def _doubts(findings: Findings) -> str:
    """Problems without a score, and those whose score may be wrong because their own tests are in doubt."""
    rows = [(wrapped(flaw.task_id), wrapped(flaw.reason)) for flaw in findings.flaws]
    if findings.unanswered:
        tasks = findings.unanswered
        names = wrapped(", ".join(tasks))
        # Of a benchmark that is sampled in part, hundreds have no sample.
        cell = names if len(tasks) <= _MOST_NAMES else folded(f"{len(tasks):,} problems", names)
        rows.append((cell, "no sample; in no score"))
    return table(("problem in doubt", "why"), rows)


# --- comparison with an earlier run ---


def _comparison(before: Findings, findings: Findings, pairing: Pairing) -> str:
    """The difference of the scores by k, and the problems that do better and worse."""
    numbers = _task_numbers(findings)
    rows = [
        (
            f"pass@{k}",
            figure(before.pass_at_k[k]),
            figure(findings.pass_at_k[k]),
            f"<b>{signed_figure(difference)}</b>",
            f"{signed_figure(pairing.intervals[k][0])} to {signed_figure(pairing.intervals[k][1])}",
        )
        for k, difference in pairing.difference.items()
    ]
    parts = [
        table(("", "before", "now", "difference", "95 % interval"), rows),
        f"<p>McNemar's exact test: p = {pairing.p_value:.3g} on {pairing.problems} problems that both runs have.</p>",
    ]
    for name, tasks in (("Better", pairing.better), ("Worse", pairing.worse)):
        if tasks:
            rates = [
                _task_button(task, numbers[task], f"<span>{_rate(before, task)} → {_rate(findings, task)}</span>")
                for task in tasks
            ]
            parts.append(f'<h3>{name}: {len(tasks)}</h3><div class="matrix">{"".join(rates)}</div>')
    return "".join(parts)


def _rate(findings: Findings, task: str) -> str:
    return f"{findings.scores[task].c}/{findings.scores[task].n}"


# --- problems and samples ---


def _task_numbers(findings: Findings) -> dict[str, int]:
    """The position of each problem in the page's data; the script finds a problem by it, whatever its name shows."""
    return {task: number for number, task in enumerate(findings.scores)}


def _task_button(task: str, number: int, columns: str) -> str:
    """A button that shows the samples of one problem; `columns` is HTML that follows its name."""
    name = text(task)
    return f'<button value="{number}" data-task="{name}"><span>{name}</span>{columns}</button>'


def _problems(findings: Findings) -> str:
    """A button for each problem, in the order of their first samples, with a square for each sample."""
    outcomes: dict[str, list[Outcome]] = {}
    for sample in findings.samples:
        outcomes.setdefault(sample.task_id, []).append(sample.outcome)
    numbers = _task_numbers(findings)
    buttons = [
        _task_button(
            task, numbers[task], f'<span class="strip">{_strip(ends)}</span><span>{_rate(findings, task)}</span>'
        )
        for task, ends in outcomes.items()
    ]
    return f'<div class="matrix">{"".join(buttons)}</div>'


def _strip(outcomes: Sequence[Outcome]) -> str:
    """A square for each sample; of too many samples, one part for each outcome, as wide as its share."""
    if len(outcomes) <= _MOST_SQUARES:
        return "".join(f'<i class="{outcome}" title="{words(outcome)}"></i>' for outcome in outcomes)
    counts = Counter(outcomes)
    return "".join(
        f'<i class="{outcome}" style="flex:{counts[outcome]}" title="{counts[outcome]} {words(outcome)}"></i>'
        for outcome in OUTCOMES
        if counts[outcome]
    )


def _slowest(findings: Findings) -> str:
    """The samples that took the most processor time."""
    slowest = sorted(enumerate(findings.samples), key=lambda item: -item[1].cpu_s)[:_SLOWEST]
    rows = [
        (
            f'<button class="link" data-sample="{position}">{wrapped(f"{sample.task_id} #{sample.index}")}</button>',
            _outcome(sample.outcome),
            f"{sample.cpu_s:.3f}",
            f"{sample.wall_s:.3f}",
        )
        for position, sample in slowest
    ]
    return table(("sample", "end", "CPU s", "wall s"), rows)


def _sample_browser(findings: Findings) -> str:
    """The form and the empty list that the page's script fills with samples."""
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
        '<p class="pages"><button id="previous">Previous</button> <button id="next">Next</button></p></section>\n'
    )


# --- the data of the page's script ---


def render_data(findings: Findings, samples: Iterable[Sample] | None) -> str:
    """The samples as JSON that cannot be mistaken for markup, with marks of direction made visible in every string.

    `rows` are by position, with the numbers of their task, outcome and code in the other lists. Raises RequestError
    if a sample is for another problem than the result of the same index.
    """
    tasks = _task_numbers(findings)
    codes = _Codes()
    numbers = {} if samples is None else _code_numbers(findings, samples, codes)
    rows = [_row(sample, tasks[sample.task_id], numbers.get(sample.index)) for sample in findings.samples]
    data: dict[str, Any] = {
        "tasks": [visible(task) for task in tasks],
        "outcomes": OUTCOMES,
        "rows": rows,
        "codes": [visible(code) for code in codes.numbers],
    }
    # In a script element only `<` can begin the element's end, or a comment.
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _row(sample: SampleResult, task: int, code: int | None) -> list[Any]:
    """One sample in the order of the constants at the top of `evaluation.js`."""
    return [
        task,
        OUTCOMES.index(sample.outcome),
        sample.index,
        visible(sample.sample_id),
        visible(sample.reason),
        sample.judged_by,
        round(sample.cpu_s, 4),
        round(sample.wall_s, 4),
        sample.attempts,
        code,
    ]


class _Codes:
    """The programs of a page, each once, up to the number of characters that a page may hold."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._free_chars = _MAX_PAGE_CHARS

    def number(self, code: str) -> int | None:
        """The program's position in the list; None if the page has no room for it."""
        code = shorten_middle(code, _MAX_CODE_CHARS)
        if code not in self.numbers:
            if len(code) > self._free_chars:
                return None
            self._free_chars -= len(code)
        return self.numbers.setdefault(code, len(self.numbers))


def _code_numbers(findings: Findings, samples: Iterable[Sample], codes: _Codes) -> dict[int, int | None]:
    results = {result.index: result for result in findings.samples}
    numbers: dict[int, int | None] = {}
    for index, sample in enumerate(samples):
        if index not in results:
            continue
        if results[index].task_id != sample.task_id:
            raise RequestError(
                f"{sample.place} is number {index}, and the result of that number is of {results[index].task_id!r}; "
                "give the samples that were evaluated, in their order"
            )
        numbers[index] = codes.number(sample.solution if sample.solution is not None else sample.completion or "")
    return numbers
