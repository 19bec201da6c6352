"""The report's page put together from its sections, whole or as a frame in another page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from flyteplugins_codegen.html.code import python_code
from flyteplugins_codegen.html.kit import badge, dollars, fitting, folded, render_document, seconds
from flyteplugins_codegen.llm.budget import total_cost_usd
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.job import Candidate
from flyteplugins_codegen.models.run import Attempt, Disagreement, Run
from flyteplugins_codegen.stages.arguments import why_not_run
from flyteplugins_codegen.stages.lineage import count_tests
from flyteplugins_codegen.stages.report.attempts import render_timeline, render_trust
from flyteplugins_codegen.stages.report.data import render_data
from flyteplugins_codegen.stages.report.job import (
    render_cases,
    render_commands,
    render_environment,
    render_job,
    render_plan,
    render_spending,
)


class ReportContent(Value):
    """What the page shows: a run, and what is known about it at its end.

    `chosen` is the number of the final attempt. `error` is set if the run failed; otherwise `image` and `task_name`,
    the task's name in `task.py`, are. `confidence` and `disagreement` are as in the result.
    """

    run: Run
    chosen: int | None = None
    error: str | None = None
    confidence: float | None = None
    disagreement: Disagreement | None = None
    image: str | None = None
    task_name: str | None = None

    @property
    def attempt(self) -> Attempt | None:
        """The final attempt of the run."""
        return next((attempt for attempt in self.run.attempts if attempt.number == self.chosen), None)


def render_page(content: ReportContent) -> str:
    """The whole page as text. It has no script, and loads nothing."""
    name = fitting(content.run.settings.name, 200)
    return render_document(name, _head(content, name), _sections(content))


def as_frame(page: str) -> str:
    """The page in a frame, for a notebook or a Deck.

    Both put it into a page of their own; in a frame, neither page's style affects the other. A shadow root would do the
    same, but needs a script if HTML is inserted after the page was loaded, as in notebooks. An empty `sandbox`
    attribute forbids scripts, forms, and access to the surrounding page.
    """
    style = "width:100%;height:46rem;border:1px solid #8885;border-radius:8px;resize:vertical;background:Canvas"
    return f'<iframe title="Report" sandbox srcdoc="{escape(page, quote=True)}" style="{style}"></iframe>'


def _head(content: ReportContent, name: str) -> str:
    verdict = badge("passed", "good") if content.error is None else badge("failed", "bad")
    reason = f'<p class="error">{fitting(content.error, 2_000)}</p>' if content.error is not None else ""
    tiles = "".join(f"<div><dt>{label}</dt><dd>{value}</dd></div>" for label, value in _tiles(content))
    reason += _warning(content)
    return f'<header><h1>{name} {verdict}</h1>{reason}<dl class="tiles">{tiles}</dl></header>'


def _warning(content: ReportContent) -> str:
    """Says that the solution never ran on the samples; "" if it did."""
    chosen = content.attempt
    why = why_not_run(content.run.request, chosen.report) if chosen else ""
    return f"<p><b>{fitting(why, 600)}</b></p>" if why else ""


def _tiles(content: ReportContent) -> Iterator[tuple[str, str]]:
    run, chosen = content.run, content.attempt
    passed, expected = count_tests(chosen.report if chosen else None)
    yield "attempts", str(len(run.attempts))
    if expected:
        yield "tests passed", f"{passed} of {expected}"
    if content.confidence is not None:
        yield "confidence", f"{content.confidence:.2f}"
    if chosen and chosen.strength and chosen.strength.share is not None:
        yield "test strength", f"{chosen.strength.share:.2f}"
    yield "model calls", str(len(run.calls))
    tokens = sum(call.usage.input_tokens + call.usage.output_tokens for call in run.calls)
    yield "tokens", f"{tokens:,}"
    yield "cost", dollars(total_cost_usd(run.calls))
    yield "model time", seconds(sum(call.wall_s for call in run.calls if not call.is_reused))


def _sections(content: ReportContent) -> Iterator[tuple[str, str]]:
    run, chosen = content.run, content.attempt
    yield "Request", render_job(run)
    yield "Data", render_data(run)
    yield "Plan", render_plan(chosen.candidate.plan) if chosen else ""
    yield "Attempts", render_timeline(run.attempts, chosen)
    yield "Trust", render_trust(chosen, content.confidence, content.disagreement, run.dropped_tests)
    yield "Model calls", render_spending(run.calls)
    if chosen is None:
        return
    yield "Solution", _code(chosen.candidate)
    yield "Environment", render_environment(chosen.environment, content.image) if chosen.environment else ""
    yield "Run it", render_commands(content.task_name, run.request) if content.task_name else ""


def _code(candidate: Candidate) -> str:
    tests = render_cases(candidate.cases) + python_code(candidate.tests) if candidate.tests else ""
    return python_code(candidate.solution.code) + folded("The generated tests", tests)
