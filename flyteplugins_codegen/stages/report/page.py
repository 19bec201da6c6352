"""Puts the page together, whole or as a frame in somebody else's page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from flyteplugins_codegen.html.code import python_code
from flyteplugins_codegen.html.kit import badge, dollars, fitting, folded, render_document, seconds
from flyteplugins_codegen.llm.budget import total_cost_usd
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.job import Candidate
from flyteplugins_codegen.models.run import Attempt, Disagreement, Run
from flyteplugins_codegen.stages.lineage import count_tests
from flyteplugins_codegen.stages.report.attempts import render_timeline, render_trust
from flyteplugins_codegen.stages.report.data import render_data
from flyteplugins_codegen.stages.report.job import (
    render_commands,
    render_environment,
    render_job,
    render_plan,
    render_spending,
)


class Told(Value):
    """What a page is made of.

    A run, the number of the attempt that stands for it, `error` where it failed; where not, its `image` and its task in
    `task.py`. `confidence` and `disagreement` are as in the result.
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
        """The attempt that stands for the run."""
        return next((attempt for attempt in self.run.attempts if attempt.number == self.chosen), None)


def render_page(told: Told) -> str:
    """The whole page as text. It holds no script, and asks for nothing."""
    name = fitting(told.run.settings.name, 200)
    return render_document(name, _head(told, name), _sections(told))


def as_frame(page: str) -> str:
    """The page for a notebook or a Deck.

    In a frame of its own, because both put it into a page of theirs: neither's style reaches the other. A shadow root
    would do the same, and takes a script to make where HTML is set after the page was loaded, as notebooks do.
    `sandbox` without words refuses scripts, forms, and access to the page around it.
    """
    style = "width:100%;height:46rem;border:1px solid #8885;border-radius:8px;resize:vertical;background:Canvas"
    return f'<iframe title="Report" sandbox srcdoc="{escape(page, quote=True)}" style="{style}"></iframe>'


def _head(told: Told, name: str) -> str:
    verdict = badge("passed", "good") if told.error is None else badge("failed", "bad")
    reason = f'<p class="error">{fitting(told.error, 2_000)}</p>' if told.error is not None else ""
    tiles = "".join(f"<div><dt>{label}</dt><dd>{value}</dd></div>" for label, value in _tiles(told))
    return f'<header><h1>{name} {verdict}</h1>{reason}<dl class="tiles">{tiles}</dl></header>'


def _tiles(told: Told) -> Iterator[tuple[str, str]]:
    run, chosen = told.run, told.attempt
    passed, expected = count_tests(chosen.report if chosen else None)
    yield "attempts", str(len(run.attempts))
    if expected:
        yield "tests passed", f"{passed} of {expected}"
    if told.confidence is not None:
        yield "confidence", f"{told.confidence:.2f}"
    if chosen and chosen.strength and chosen.strength.share is not None:
        yield "test strength", f"{chosen.strength.share:.2f}"
    yield "model calls", str(len(run.calls))
    tokens = sum(call.usage.input_tokens + call.usage.output_tokens for call in run.calls)
    yield "tokens", f"{tokens:,}"
    yield "cost", dollars(total_cost_usd(run.calls))
    yield "model time", seconds(sum(call.wall_s for call in run.calls if not call.is_reused))


def _sections(told: Told) -> Iterator[tuple[str, str]]:
    run, chosen = told.run, told.attempt
    yield "Request", render_job(run)
    yield "Data", render_data(run)
    yield "Plan", render_plan(chosen.candidate.plan) if chosen else ""
    yield "Attempts", render_timeline(run.attempts, chosen)
    yield "Trust", render_trust(chosen, told.confidence, told.disagreement, run.dropped_tests)
    yield "Model calls", render_spending(run.calls)
    if chosen is None:
        return
    yield "Solution", _code(chosen.candidate)
    yield "Environment", render_environment(chosen.environment, told.image) if chosen.environment else ""
    yield "Run it", render_commands(told.task_name, run.request) if told.task_name else ""


def _code(candidate: Candidate) -> str:
    tests = python_code(candidate.tests) if candidate.tests else ""
    return python_code(candidate.solution.code) + folded("The generated tests", tests)
