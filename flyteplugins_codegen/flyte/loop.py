"""The loop as dynamic workflows: a stage is a node with its own pod, and decisions are made where a pod runs anyway.

A `@dynamic` does what needs neither a model nor several pods (it resolves a changed environment, runs the tests and
measures them), asks `next_action`, and calls itself with the next stage's output, so no pod waits while another works
and none only decides. Every stage is a node of a dynamic workflow, because only there the agent's `stage_settings` can
change it.
"""

from __future__ import annotations

from typing import NamedTuple

from flytekit import dynamic
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.flyte import map_tasks, tasks
from flyteplugins_codegen.flyte.cli import launchable, short_working_directory
from flyteplugins_codegen.flyte.judging import judge_ahead, shared_sandboxes
from flyteplugins_codegen.flyte.pods import bounded_by, deciding_pod, with_settings
from flyteplugins_codegen.flyte.state import Conversation, RunState, Samples, sample_paths, split_timings
from flyteplugins_codegen.flyte.tasks import Generated
from flyteplugins_codegen.models.run import TestStrength
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.solution.flytekit import readable_errors
from flyteplugins_codegen.stages.actions import (
    Action,
    BuildEnvironment,
    Finish,
    JudgeSideBySide,
    MeasureStrength,
    Redraft,
    StrengthenTests,
    WorkAsAgent,
)
from flyteplugins_codegen.stages.attempts import with_calls
from flyteplugins_codegen.stages.candidates.judge import with_judged
from flyteplugins_codegen.stages.draft import Drafts, SolutionDraft, TestsDraft, with_drafts, with_redrafts
from flyteplugins_codegen.stages.loop import first_drafts
from flyteplugins_codegen.stages.strength import parts_of, with_parts


class Judged(NamedTuple):
    """A finished run, and the files of its model calls."""

    state: RunState
    conversation: list[FlyteFile]


class Ending(NamedTuple):
    """What becomes of the result of a run: the arguments of `finish`."""

    save_to: str = ""
    allow_failure: bool = False
    register: bool = False


def stages_of(state: RunState, samples: Samples, ending: Ending) -> Generated:
    """In a dynamic workflow, the nodes of all stages of a run whose request was checked."""
    settings = state.run.settings.stage_settings
    with short_working_directory(), shared_sandboxes():
        context = with_settings(settings, "extract_context", tasks.extract_context(state=state, samples=samples))
        inferred = with_settings(settings, "infer_schemas", tasks.infer_schemas(state=context, samples=samples))
        judged = _first_candidates(state.run.settings, first_drafts(state.run), samples, inferred)
        finished = tasks.finish(
            state=judged.state, samples=samples, conversation=judged.conversation, **ending._asdict()
        )
        return Generated(*with_settings(settings, "finish", finished))


def _first_candidates(settings: Settings, count: int, samples: Samples, inferred: tasks.SchemasInferred) -> Judged:
    """The nodes that draft the first `count` candidates, and all nodes after them but the last."""
    if settings.backend == "agent":
        return _advance(settings, inferred.state, samples, [inferred.conversation])
    written = with_settings(settings.stage_settings, "write_solution", tasks.write_solution(state=inferred.state))
    written_tests = with_settings(settings.stage_settings, "write_tests", tasks.write_tests(state=inferred.state))
    drafts = {"solution": written.solution, "tests": written_tests.tests}
    conversation = [part.conversation for part in (inferred, written, written_tests)]
    if count > 1:
        return begin(state=inferred.state, samples=samples, conversation=conversation, **drafts)
    built = tasks.build_first_environment(state=inferred.state, **drafts)
    built = with_settings(settings.stage_settings, "build_environment", built)
    return _advance(settings, built, samples, conversation)


@dynamic(**deciding_pod())
@readable_errors
def begin(
    state: RunState,
    samples: dict[str, FlyteFile],
    solution: SolutionDraft,
    tests: TestsDraft,
    conversation: list[FlyteFile],
) -> Judged:
    """Draft more solutions than the first, as many as the budget allows, and take the run to its end."""
    count = first_drafts(state.run)
    with short_working_directory():
        if count == 1:
            drafts = Drafts(solutions=(solution,), tests=tests)
            return _go_on(state.with_run(with_drafts(state.run, drafts)), samples, conversation)
        spent = state.with_run(with_calls(state.run, (*solution.calls, *tests.calls)))
        others = map_tasks.map_others(spent, range(1, count))
        return begin_with(
            state=state, samples=samples, solution=solution, tests=tests, others=others, conversation=conversation
        )


@dynamic(**deciding_pod())
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
    """Combine all first drafts as the first round, and take the run to its end."""
    drafts = Drafts(solutions=(solution, *(other.draft for other in others)), tests=tests)
    with short_working_directory():
        messages = [*conversation, *map_tasks.conversations(others)]
        return _go_on(state.with_run(with_drafts(state.run, drafts)), samples, messages)


@launchable
@dynamic(**deciding_pod())
@readable_errors
def run_tests_and_advance(state: RunState, samples: dict[str, FlyteFile], conversation: list[FlyteFile]) -> Judged:
    """Run the tests of the next candidate, and take the run from there to its end.

    Args:
        state: the run after the previous stage, as JSON or a file with it
        samples: a JSON object of name to path
        conversation: a JSON list of the files with model calls
    """
    with short_working_directory():
        return _go_on(state, samples, conversation)


@dynamic(**deciding_pod())
@readable_errors
def advance_with_fresh(
    state: RunState,
    samples: dict[str, FlyteFile],
    drafted: list[map_tasks.CandidateDraft],
    conversation: list[FlyteFile],
) -> Judged:
    """Take the run to its end, with redrafts as its next round."""
    redrafted = with_redrafts(state.run, [candidate.draft for candidate in drafted])
    with short_working_directory():
        messages = [*conversation, *map_tasks.conversations(drafted)]
        return _go_on(state.with_run(redrafted.run), samples, messages)


@dynamic(**deciding_pod())
@readable_errors
def advance_with_judged(
    state: RunState, samples: dict[str, FlyteFile], judged: list[RunState], conversation: list[FlyteFile]
) -> Judged:
    """Take the run to its end, with the judged candidates of the round."""
    run = with_judged(state.run, [candidate.run for candidate in judged])
    with short_working_directory():
        return _go_on(state.with_run(run), samples, conversation)


@dynamic(**deciding_pod())
@readable_errors
def advance_with_strength(
    state: RunState, samples: dict[str, FlyteFile], found: list[TestStrength], conversation: list[FlyteFile]
) -> Judged:
    """Take the run to its end, with the strength of its tests as measured in parts."""
    with short_working_directory():
        return _go_on(state.with_run(with_parts(state.run, found)), samples, conversation)


def _go_on(state: RunState, samples: Samples, conversation: Conversation) -> Judged:
    """Do what can be done here; return the nodes of the next stage and everything after it, or the finished run."""
    with shared_sandboxes():
        with bounded_by(state.run.settings.stage_settings, "run_tests"):
            run, action = judge_ahead(state.run, lambda: sample_paths(samples))
        return _next_nodes(state.with_run(run), action, samples, conversation)


def _next_nodes(state: RunState, action: Action, samples: Samples, conversation: Conversation) -> Judged:
    settings = state.run.settings
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
            parts = map_tasks.map_parts(state, parts_of(state.run))
            return advance_with_strength(state=state, samples=samples, found=parts, conversation=conversation)
        case BuildEnvironment():
            built = tasks.build_environment(state=state)
            built = with_settings(settings.stage_settings, "build_environment", built)
            return _advance(settings, built, samples, conversation)
    asked = _ask(state, action, samples)
    return _advance(settings, asked.state, samples, [*conversation, asked.conversation])


def _ask(state: RunState, action: Action, samples: Samples) -> tasks.Repaired:
    """The node of the stage that asks a model for the next candidate.

    Cached without the timings of the run: a second execution runs the tests again and finds the replies.
    """
    settings = state.run.settings.stage_settings
    timeless, timings = split_timings(state.run)
    state = state.with_run(timeless)
    match action:
        case StrengthenTests():
            strengthened = map_tasks.strengthen_tests(state=state, timings=timings)
            return with_settings(settings, "strengthen_tests", strengthened)
        case WorkAsAgent():
            worked = tasks.work_as_agent(state=state, samples=samples, timings=timings)
            return with_settings(settings, "work_as_agent", worked)
        case _:
            repaired = tasks.repair(state=state, samples=samples, timings=timings)
            return with_settings(settings, "repair", repaired)


def _advance(settings: Settings, state: RunState, samples: Samples, conversation: Conversation) -> Judged:
    """The node that runs the next candidate's tests, and everything after it."""
    advanced = run_tests_and_advance(state=state, samples=samples, conversation=conversation)
    return with_settings(settings.stage_settings, "run_tests", advanced, has_timeout=False)
