"""Testing the generated tests, as Flyte tasks."""

from __future__ import annotations

from flytekit import task

from flyteplugins_codegen.flyte.caching import cached_by_code
from flyteplugins_codegen.flyte.checkpoints import keeping_replies
from flyteplugins_codegen.flyte.judging import measure
from flyteplugins_codegen.flyte.launching import launchable
from flyteplugins_codegen.flyte.readable import readable_errors
from flyteplugins_codegen.flyte.stage_pods import own_settings
from flyteplugins_codegen.flyte.state import RunState, write_calls
from flyteplugins_codegen.flyte.tasks import Repaired, model_secrets
from flyteplugins_codegen.stages import stronger_tests
from flyteplugins_codegen.stages.asking import open_account
from flyteplugins_codegen.syncing import run_blocking


@launchable
@task(cache=cached_by_code("environment", "sandbox", "source", ignored=()), **own_settings("measure_strength"))
@readable_errors
def measure_strength(state: RunState) -> RunState:
    """Run the tests that a candidate passed against mutants of it, in this pod's sandbox.

    Args:
        state: the run as the stage before left it, as JSON or a file of it
    """
    return state.with_run(measure(state.run))


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
