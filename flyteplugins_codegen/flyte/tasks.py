"""Every stage as a Flyte task of its own.

A stage's outcome is kept in Flyte's cache under the content that it was made from and the code that made it. Only the
tasks that talk to a model ask for a secret: `FLYTE_CODEGEN_SECRET=group/key`, set where the tasks are registered, names
it, and its pod gets it as the environment variable KEY. In local execution the key is read from the environment.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from flytekit import Deck, Secret, task
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.errors import CodegenError, NotSuccessfulError, SettingsError
from flyteplugins_codegen.flyte.caching import cached_by_code
from flyteplugins_codegen.flyte.checkpoints import keeping_replies
from flyteplugins_codegen.flyte.drafting import draft_solution, draft_tests
from flyteplugins_codegen.flyte.imaging import show_image
from flyteplugins_codegen.flyte.judging import judge
from flyteplugins_codegen.flyte.launching import launchable
from flyteplugins_codegen.flyte.leaving import folder_for, tell, upload
from flyteplugins_codegen.flyte.readable import readable_errors
from flyteplugins_codegen.flyte.registering import register_and_tell
from flyteplugins_codegen.flyte.stage_pods import own_settings
from flyteplugins_codegen.flyte.state import RunState, read_calls, sample_paths, write_calls
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.result import CodeGenEvalResult
from flyteplugins_codegen.stages import build, context
from flyteplugins_codegen.stages import repair as repairing
from flyteplugins_codegen.stages.actions import BuildEnvironment, Driven, Finish, RunTests
from flyteplugins_codegen.stages.agentic import work
from flyteplugins_codegen.stages.asking import open_account
from flyteplugins_codegen.stages.attempts import without_messages
from flyteplugins_codegen.stages.draft import SolutionDraft, TestsDraft
from flyteplugins_codegen.stages.loop import next_action
from flyteplugins_codegen.stages.report.page import as_frame
from flyteplugins_codegen.stages.schemas import with_schemas
from flyteplugins_codegen.syncing import run_blocking


def model_secrets(reference: str | None = None) -> list[Secret]:
    """The secret that tasks talking to a model ask for: `group/key`, by default from `FLYTE_CODEGEN_SECRET`.

    Raises SettingsError for anything else.
    """
    text = os.environ.get("FLYTE_CODEGEN_SECRET", "") if reference is None else reference
    if not text:
        return []
    group, slash, key = text.partition("/")
    if not (group and slash and key):
        raise SettingsError(f"FLYTE_CODEGEN_SECRET={text!r}: write it as group/key, such as openai/OPENAI_API_KEY")
    return [Secret(group=group, key=key, mount_requirement=Secret.MountType.ENV_VAR, env_var=key.upper())]


class SchemasInferred(NamedTuple):
    """The run with its schemas, and the file of what was said about its constraints."""

    state: RunState
    conversation: FlyteFile


class SolutionWritten(NamedTuple):
    """A draft without its messages, and the file that has them."""

    solution: SolutionDraft
    conversation: FlyteFile


class TestsWritten(NamedTuple):
    """As `SolutionWritten`, of the tests."""

    tests: TestsDraft
    conversation: FlyteFile


class Repaired(NamedTuple):
    """The run with one candidate more, and the file of what was said about it."""

    state: RunState
    conversation: FlyteFile


class Generated(NamedTuple):
    """What a run leaves."""

    result: CodeGenEvalResult
    folder: FlyteDirectory


@launchable
@task(cache=cached_by_code("data"), **own_settings("extract_context"))
@readable_errors
def extract_context(state: RunState, samples: dict[str, FlyteFile]) -> RunState:
    """Profile every sample.

    Args:
        state: the run as the stage before left it, as JSON or a file of it
        samples: a JSON object of name to path
    """
    run = state.run
    found = context.extract_context(run.settings, run.request, sample_paths(samples))
    return state.with_run(run.model_copy(update={"context": found}))


@launchable
@task(cache=cached_by_code("data", "llm", "sandbox"), secret_requests=model_secrets(), **own_settings("infer_schemas"))
@readable_errors
@keeping_replies
def infer_schemas(state: RunState, samples: dict[str, FlyteFile]) -> SchemasInferred:
    """Infer a schema for every sample that has columns, read the constraints, and hold the samples against them.

    Constraints that our grammar does not know are read by the model.

    Args:
        state: the run as the stage before left it, as JSON or a file of it
        samples: a JSON object of name to path
    """
    inferred = run_blocking(with_schemas(state.run, sample_paths(samples), open_account(state.run)))
    return SchemasInferred(state.with_run(inferred.run), write_calls(inferred.calls))


@launchable
@task(cache=cached_by_code("llm", "source"), secret_requests=model_secrets(), **own_settings("write_solution"))
@readable_errors
@keeping_replies
def write_solution(state: RunState) -> SolutionWritten:
    """Ask the model for plan, script and packages.

    Args:
        state: the run as the stage before left it, as JSON or a file of it
    """
    written = draft_solution(state)
    accounted = written.model_copy(update={"calls": without_messages(written.calls)})
    return SolutionWritten(accounted, write_calls(written.calls))


@launchable
@task(cache=cached_by_code("llm", "source"), secret_requests=model_secrets(), **own_settings("write_tests"))
@readable_errors
@keeping_replies
def write_tests(state: RunState) -> TestsWritten:
    """Ask the model for tests, from the request and the data alone.

    Args:
        state: the run as the stage before left it, as JSON or a file of it
    """
    written = draft_tests(state)
    accounted = written.model_copy(update={"calls": without_messages(written.calls)})
    return TestsWritten(accounted, write_calls(written.calls))


# Not in Flyte's cache: that would keep a build that failed, after the package is there and under another index.
# `resolve` remembers locks by index settings, and never a failure: doing this anew takes milliseconds on this machine.
@launchable
@task(enable_deck=True, deck_fields=(), **own_settings("build_environment"))
@readable_errors
def build_environment(state: RunState) -> RunState:
    """Resolve what the next candidate needs; the Deck has the build log of its image, where one is built.

    Args:
        state: the run as the stage before left it, as JSON or a file of it
    """
    run = state.run
    if not isinstance(next_action(run), BuildEnvironment):
        return state
    return state.with_run(build.build_environment(run, show_image))


@launchable
@task(cache=cached_by_code("data", "environment", "sandbox", "source"), **own_settings("run_tests"))
@readable_errors
def run_tests(state: RunState, samples: dict[str, FlyteFile]) -> RunState:
    """Run the next candidate: examples, the user's tests, the samples, the generated tests.

    Args:
        state: the run as the stage before left it, as JSON or a file of it
        samples: a JSON object of name to path
    """
    if not isinstance(next_action(state.run), RunTests):  # the budget allowed no new candidate
        return state
    return state.with_run(judge(state.run, sample_paths(samples)))


@launchable
@task(cache=cached_by_code("llm", "source"), secret_requests=model_secrets(), **own_settings("repair"))
@readable_errors
@keeping_replies
def repair(state: RunState, samples: dict[str, FlyteFile]) -> Repaired:
    """Ask the model for the cause and the change.

    Args:
        state: the run as the stage before left it, as JSON or a file of it
        samples: a JSON object of name to path
    """
    repaired = run_blocking(repairing.repair(state.run, sample_paths(samples), open_account(state.run)))
    return Repaired(state.with_run(repaired.run), write_calls(repaired.calls))


@launchable
@task(
    cache=cached_by_code("data", "environment", "llm", "sandbox", "source"),
    secret_requests=model_secrets(),
    **own_settings("work_as_agent"),
)
@readable_errors
@keeping_replies
def work_as_agent(state: RunState, samples: dict[str, FlyteFile]) -> Repaired:
    """Have the model work by tools until it submits a candidate; what it runs, it runs in this pod's sandbox.

    Args:
        state: the run as the stage before left it, as JSON or a file of it
        samples: a JSON object of name to path
    """
    worked = run_blocking(work.work_as_agent(state.run, sample_paths(samples), open_account(state.run)))
    return Repaired(state.with_run(worked.run), write_calls(worked.calls))


@launchable
@task(enable_deck=True, deck_fields=(), **own_settings("finish"))
@readable_errors
def finish(
    *,
    state: RunState,
    samples: dict[str, FlyteFile],
    conversation: list[FlyteFile],
    save_to: str = "",
    allow_failure: bool = False,
    register: bool = False,
) -> Generated:
    """Make the result, write the solution folder and the Deck, and register the solution if asked.

    Fails when no candidate passed and `allow_failure` is false; the folder is written all the same.

    Args:
        state: the run as the stage before left it, as JSON or a file of it
        samples: a JSON object of name to path
        conversation: a JSON list of the files of what was said to models
        save_to: where the solution folder goes; on a cluster an address
        allow_failure: return the result of a run without success, too
        register: register the solution as a task
    """
    result = CodeGenEvalResult.from_run(_at_its_end(state.run, conversation), samples)
    folder = result.save(folder_for(result, save_to))
    Deck("Report", as_frame((folder / "report.html").read_text()))
    if not result.success and not allow_failure:
        raise NotSuccessfulError(
            f"{result.error}\nThe best candidate, its tests and the report are in {folder}; allow_failure gives the "
            "result all the same"
        )
    tell(result, folder)
    # Here, and not in a node of its own, which would take a pod for nothing wherever it is not asked for.
    if register and result.success:
        register_and_tell(result)
    return Generated(result, upload(folder, save_to))


def _at_its_end(run: Run, conversation: list[FlyteFile]) -> Driven:
    action = next_action(run)
    if not isinstance(action, Finish):
        raise CodegenError(f"the run is not at its end: next comes {type(action).__name__}")
    return Driven(run=run, finish=action, calls=read_calls(conversation))
