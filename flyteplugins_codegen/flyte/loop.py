"""The loop as dynamic workflows: every stage is a node with its own pod.

A `@dynamic` asks `next_action` and calls itself with the next stage's output, so no pod waits while another works.
Every stage is a node of a dynamic workflow, because only there the agent's `stage_settings` can change it.
"""

from __future__ import annotations

from typing import NamedTuple

from flytekit import dynamic
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.flyte import map_tasks, tasks
from flyteplugins_codegen.flyte.cli import launchable, short_working_directory
from flyteplugins_codegen.flyte.judging import shared_sandboxes
from flyteplugins_codegen.flyte.pods import PLANNING_POD, with_settings
from flyteplugins_codegen.flyte.state import Conversation, RunState, Samples
from flyteplugins_codegen.flyte.tasks import Generated
from flyteplugins_codegen.models.run import TestStrength
from flyteplugins_codegen.solution.flytekit import readable_errors
from flyteplugins_codegen.stages.attempts import settle_certainties, with_calls
from flyteplugins_codegen.stages.candidates.judge import with_judged
from flyteplugins_codegen.stages.draft import Drafts, SolutionDraft, TestsDraft, with_drafts, with_redrafts
from flyteplugins_codegen.stages.loop import (
    Finish,
    JudgeSideBySide,
    MeasureStrength,
    Redraft,
    Repair,
    StrengthenTests,
    WorkAsAgent,
    first_drafts,
)
from flyteplugins_codegen.stages.strength import parts_of, with_parts


class Judged(NamedTuple):
    """A finished run, and the files of its model calls."""

    state: RunState
    conversation: list[FlyteFile]


@dynamic(**PLANNING_POD)
@readable_errors
def take_stages(
    *, state: RunState, samples: dict[str, FlyteFile], save_to: str, allow_failure: bool, register: bool
) -> Generated:
    """All stages of a run whose request was checked."""
    settings = state.run.settings.stage_settings
    with short_working_directory(), shared_sandboxes():
        context = with_settings(settings, "extract_context", tasks.extract_context(state=state, samples=samples))
        inferred = with_settings(settings, "infer_schemas", tasks.infer_schemas(state=context, samples=samples))
        written = with_settings(settings, "write_solution", tasks.write_solution(state=inferred.state))
        written_tests = with_settings(settings, "write_tests", tasks.write_tests(state=inferred.state))
        judged = begin(
            state=inferred.state,
            samples=samples,
            solution=written.solution,
            tests=written_tests.tests,
            conversation=[part.conversation for part in (inferred, written, written_tests)],
        )
        finished = tasks.finish(
            state=judged.state,
            samples=samples,
            conversation=judged.conversation,
            save_to=save_to,
            allow_failure=allow_failure,
            register=register,
        )
        return Generated(*with_settings(settings, "finish", finished))


@dynamic(**PLANNING_POD)
@readable_errors
def begin(
    state: RunState,
    samples: dict[str, FlyteFile],
    solution: SolutionDraft,
    tests: TestsDraft,
    conversation: list[FlyteFile],
) -> Judged:
    """Combine the two drafts as the first candidate, after drafting more where asked for, and finish the run."""
    count = first_drafts(state.run)
    with short_working_directory():
        if count == 1:
            drafts = Drafts(solutions=(solution,), tests=tests)
            return _take_next_step(state.with_run(with_drafts(state.run, drafts)), samples, conversation)
        spent = state.with_run(with_calls(state.run, (*solution.calls, *tests.calls)))
        others = map_tasks.map_others(spent, range(1, count))
        return begin_with(
            state=state, samples=samples, solution=solution, tests=tests, others=others, conversation=conversation
        )


@dynamic(**PLANNING_POD)
@readable_errors
def begin_with(
    *,
    state: RunState,
    samples: dict[str, FlyteFile],
    solution: SolutionDraft,
    tests: TestsDraft,
    others: list[map_tasks.CandidateDraft],
    conversation: list[FlyteFile],
) -> Judged:
    """Combine all first drafts as the first round, and finish the run."""
    drafts = Drafts(solutions=(solution, *(other.draft for other in others)), tests=tests)
    with short_working_directory():
        messages = [*conversation, *map_tasks.conversations(others)]
        return _take_next_step(state.with_run(with_drafts(state.run, drafts)), samples, messages)


@launchable
@dynamic(**PLANNING_POD)
@readable_errors
def advance(state: RunState, samples: dict[str, FlyteFile], conversation: list[FlyteFile]) -> Judged:
    """Take the run from its current state to its end.

    Args:
        state: the run after the previous stage, as JSON or a file with it
        samples: a JSON object of name to path
        conversation: a JSON list of the files with model calls
    """
    with short_working_directory(), shared_sandboxes():
        return _take_next_step(state, samples, conversation)


@dynamic(**PLANNING_POD)
@readable_errors
def advance_with_fresh(
    state: RunState,
    samples: dict[str, FlyteFile],
    drafted: list[map_tasks.CandidateDraft],
    conversation: list[FlyteFile],
) -> Judged:
    """Finish the run, with redrafts as its next round."""
    redrafted = with_redrafts(state.run, [candidate.draft for candidate in drafted])
    with short_working_directory():
        messages = [*conversation, *map_tasks.conversations(drafted)]
        return _take_next_step(state.with_run(redrafted.run), samples, messages)


@dynamic(**PLANNING_POD)
@readable_errors
def advance_with_judged(
    state: RunState, samples: dict[str, FlyteFile], judged: list[RunState], conversation: list[FlyteFile]
) -> Judged:
    """Finish the run, with the judged candidates of the round."""
    run = with_judged(state.run, [candidate.run for candidate in judged])
    with short_working_directory():
        return _take_next_step(state.with_run(run), samples, conversation)


@dynamic(**PLANNING_POD)
@readable_errors
def advance_with_strength(
    state: RunState, samples: dict[str, FlyteFile], found: list[TestStrength], conversation: list[FlyteFile]
) -> Judged:
    """Finish the run, with the strength of its tests as measured in parts."""
    with short_working_directory():
        return _take_next_step(state.with_run(with_parts(state.run, found)), samples, conversation)


def _measure_strength(state: RunState, samples: Samples, conversation: Conversation) -> Judged:
    """The nodes that measure the tests, several where the tests take long, and all nodes after them."""
    parts = parts_of(state.run)
    if parts > 1:
        measured_parts = map_tasks.map_parts(state, parts)
        return advance_with_strength(state=state, samples=samples, found=measured_parts, conversation=conversation)
    settings = state.run.settings.stage_settings
    measured = with_settings(settings, "measure_strength", map_tasks.measure_strength(state=state))
    return advance(state=measured, samples=samples, conversation=conversation)


def _take_next_step(state: RunState, samples: Samples, conversation: Conversation) -> Judged:
    """The nodes of the next attempt and everything after it; the state itself where the run is finished."""
    run, action = settle_certainties(state.run)  # what is certain needs no pod
    state, settings = state.with_run(run), run.settings.stage_settings
    match action:
        case Finish():
            return Judged(state, conversation)
        case Redraft():
            drafted = map_tasks.map_redrafts(state, samples, action.count)
            return advance_with_fresh(state=state, samples=samples, drafted=drafted, conversation=conversation)
        case JudgeSideBySide():
            judged = map_tasks.map_judgements(state, samples)
            return advance_with_judged(state=state, samples=samples, judged=judged, conversation=conversation)
        case MeasureStrength():
            return _measure_strength(state, samples, conversation)
        case StrengthenTests():
            state, calls = with_settings(settings, "strengthen_tests", map_tasks.strengthen_tests(state=state))
            conversation = [*conversation, calls]
        case Repair():
            state, calls = with_settings(settings, "repair", tasks.repair(state=state, samples=samples))
            conversation = [*conversation, calls]
        case WorkAsAgent():
            state, calls = with_settings(settings, "work_as_agent", tasks.work_as_agent(state=state, samples=samples))
            conversation = [*conversation, calls]
    built = with_settings(settings, "build_environment", tasks.build_environment(state=state))
    tested = with_settings(settings, "run_tests", tasks.run_tests(state=built, samples=samples))
    return advance(state=tested, samples=samples, conversation=conversation)
