"""Map tasks: several candidates drafted, built and run at once, and the strength of tests measured in parts.

Each item is a pod of its own. In local execution each is a task of its own too, which a run that was killed finds in
Flyte's cache when it is started again.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from flytekit import map_task, task
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.flyte import tasks
from flyteplugins_codegen.flyte.cli import launchable
from flyteplugins_codegen.flyte.drafts import draft_another, redraft
from flyteplugins_codegen.flyte.judging import measure, without_strength
from flyteplugins_codegen.flyte.pods import keeping_replies, stage_pod, with_settings
from flyteplugins_codegen.flyte.state import (
    BESIDE_STATE,
    JUDGING_CODE,
    MODEL_CODE,
    Conversation,
    RunState,
    Samples,
    cached_by_code,
    join_timings,
    sample_paths,
    split_timings,
    write_calls,
)
from flyteplugins_codegen.flyte.tasks import Repaired, model_secrets, split_messages
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.run import TestStrength
from flyteplugins_codegen.solution.flytekit import readable_errors
from flyteplugins_codegen.stages import strength
from flyteplugins_codegen.stages.build import with_known_environments
from flyteplugins_codegen.stages.candidates.judge import distinct_pending
from flyteplugins_codegen.stages.draft import SolutionDraft
from flyteplugins_codegen.stages.model_calls import open_account
from flyteplugins_codegen.sync import run_blocking

_CONCURRENCY = 4
"""Pods of one map task at a time."""


class CandidateDraft(Value):
    """A draft without its messages, and the file that has them."""

    draft: SolutionDraft
    conversation: FlyteFile


@task(cache=cached_by_code(*MODEL_CODE), secret_requests=model_secrets(), **stage_pod("write_solution"))
@readable_errors
@keeping_replies
def write_another(place: int, others: int, state: RunState) -> CandidateDraft:
    """Ask the model for one of `others` more first solutions, independent of each other."""
    return _candidate_draft(draft_another(state, place, others))


@launchable
@task(
    cache=cached_by_code(*MODEL_CODE, ignored=BESIDE_STATE), secret_requests=model_secrets(), **stage_pod("draft_anew")
)
@readable_errors
@keeping_replies
def draft_anew(place: int, state: RunState, samples: dict[str, FlyteFile], timings: list[float] = []) -> CandidateDraft:  # noqa: B006 - never changed
    """Ask the model for another solution, with what was learnt from those that failed.

    Args:
        place: which of the drafts of this round it is, from 0
        state: the run after the previous stage, as JSON or a file with it
        samples: a JSON object of name to path
        timings: those of the state, where it has none itself
    """
    return _candidate_draft(redraft(state.with_run(join_timings(state.run, timings)), sample_paths(samples), place))


def _candidate_draft(draft: SolutionDraft) -> CandidateDraft:
    without_messages, conversation = split_messages(draft)
    return CandidateDraft(draft=without_messages, conversation=conversation)


def map_others(state: RunState, places: Sequence[int]) -> list[CandidateDraft]:
    """In a dynamic workflow, the node that drafts more first solutions. `state` has all calls so far."""
    drafting = functools.partial(write_another, state=state, others=len(places))
    drafted = map_task(drafting, concurrency=_CONCURRENCY)(place=list(places))
    return with_settings(state.run.settings.stage_settings, "write_solution", drafted)


def map_redrafts(state: RunState, samples: Samples, count: int) -> list[CandidateDraft]:
    """In a dynamic workflow, the node that drafts the solutions of a later round."""
    timeless, timings = split_timings(state.run)
    drafting = functools.partial(draft_anew, state=state.with_run(timeless), samples=samples, timings=timings)
    drafted = map_task(drafting, concurrency=_CONCURRENCY)(place=list(range(count)))
    return with_settings(state.run.settings.stage_settings, "draft_anew", drafted)


def map_judgements(state: RunState, samples: Samples) -> list[RunState]:
    """In a dynamic workflow, the nodes that build and run all candidates not yet judged, equal ones once."""
    runs = distinct_pending(with_known_environments(state.run))
    states = [state.with_run(run) for run in runs]
    settings = state.run.settings.stage_settings
    built: Any = states
    if any(run.attempts[0].environment is None for run in runs):
        built = map_task(tasks.build_environment, concurrency=_CONCURRENCY)(state=states)
        with_settings(settings, "build_environment", built)
    with without_strength():
        tested = map_task(functools.partial(tasks.run_tests, samples=samples), concurrency=_CONCURRENCY)(state=built)
    return with_settings(settings, "run_tests", tested)


def conversations(drafted: Iterable[CandidateDraft]) -> Conversation:
    """The files with the messages about the drafts, in order."""
    return [candidate.conversation for candidate in drafted]


# --- strength of the generated tests ---


@launchable
@task(
    cache=cached_by_code(*JUDGING_CODE, ignored=()),
    **stage_pod("measure_strength"),
)
@readable_errors
def measure_strength(state: RunState) -> RunState:
    """Run the tests that a candidate passed against mutants of it, in this pod's sandbox.

    Args:
        state: the run after the previous stage, as JSON or a file with it
    """
    return state.with_run(measure(state.run))


@task(
    cache=cached_by_code(*JUDGING_CODE, ignored=()),
    **stage_pod("measure_strength"),
)
@readable_errors
def measure_part(state: RunState, part: int, parts: int) -> TestStrength:
    """As `measure_strength`, with every `parts`-th mutant from number `part` on: for tests that take long."""
    return strength.measure_part(state.run, part, parts)


def map_parts(state: RunState, parts: int) -> list[TestStrength]:
    """In a dynamic workflow, the node that measures in parts, each in a pod of its own."""
    measuring = functools.partial(measure_part, state=state, parts=parts)
    measured = map_task(measuring, concurrency=_CONCURRENCY)(part=list(range(parts)))
    return with_settings(state.run.settings.stage_settings, "measure_strength", measured)


@launchable
@task(
    cache=cached_by_code(*MODEL_CODE, ignored=("timings",)),
    secret_requests=model_secrets(),
    **stage_pod("strengthen_tests"),
)
@readable_errors
@keeping_replies
def strengthen_tests(state: RunState, timings: list[float] = []) -> Repaired:  # noqa: B006 - never changed
    """Ask the model for tests that tell the candidate from the mutants that survived.

    Args:
        state: the run after the previous stage, as JSON or a file with it
        timings: those of the state, where it has none itself
    """
    run = join_timings(state.run, timings)
    strengthened = run_blocking(strength.strengthen_tests(run, {}, open_account(run)))
    return Repaired(state.with_run(strengthened.run), write_calls(strengthened.calls))
