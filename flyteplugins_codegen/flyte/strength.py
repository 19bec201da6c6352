"""Testing the generated tests, as Flyte tasks."""

from __future__ import annotations

import functools
from typing import Final

from flytekit import map_task, task

from flyteplugins_codegen.flyte.caching import cached_by_code
from flyteplugins_codegen.flyte.checkpoints import keeping_replies
from flyteplugins_codegen.flyte.judging import measure
from flyteplugins_codegen.flyte.launching import launchable
from flyteplugins_codegen.flyte.readable import readable_errors
from flyteplugins_codegen.flyte.stage_pods import own_settings, with_settings
from flyteplugins_codegen.flyte.state import RunState, write_calls
from flyteplugins_codegen.flyte.tasks import Repaired, model_secrets
from flyteplugins_codegen.models.strength import TestStrength
from flyteplugins_codegen.stages import strength, stronger_tests
from flyteplugins_codegen.stages.asking import open_account
from flyteplugins_codegen.syncing import run_blocking

_AT_ONCE: Final = 4


@launchable
@task(cache=cached_by_code("environment", "sandbox", "source", ignored=()), **own_settings("measure_strength"))
@readable_errors
def measure_strength(state: RunState) -> RunState:
    """Run the tests that a candidate passed against mutants of it, in this pod's sandbox.

    Args:
        state: the run as the stage before left it, as JSON or a file of it
    """
    return state.with_run(measure(state.run))


@task(cache=cached_by_code("environment", "sandbox", "source", ignored=()), **own_settings("measure_strength"))
@readable_errors
def measure_part(state: RunState, part: int, parts: int) -> TestStrength:
    """As `measure_strength`, with every `parts`-th mutant from number `part` on: of tests that take long."""
    return strength.measure_part(state.run, part, parts)


def map_parts(state: RunState, parts: int) -> list[TestStrength]:
    """The node that measures in parts, each in a pod of its own, to be called in a dynamic."""
    measuring = functools.partial(measure_part, state=state, parts=parts)
    found = map_task(measuring, concurrency=_AT_ONCE)(part=list(range(parts)))
    return with_settings(state.run.settings.stage_settings, "measure_strength", found)


@launchable
@task(
    cache=cached_by_code("llm", "source", ignored=()),
    secret_requests=model_secrets(),
    **own_settings("strengthen_tests"),
)
@readable_errors
@keeping_replies
def strengthen_tests(state: RunState) -> Repaired:
    """Ask the model for tests that tell the candidate from the mutants that survived.

    Args:
        state: the run as the stage before left it, as JSON or a file of it
    """
    asked = run_blocking(stronger_tests.strengthen_tests(state.run, {}, open_account(state.run)))
    return Repaired(state.with_run(asked.run), write_calls(asked.calls))
