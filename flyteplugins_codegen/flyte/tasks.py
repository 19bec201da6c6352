"""Every stage as a Flyte task of its own.

A stage's outcome is kept in Flyte's cache under the content that it was made from and the code that made it. Only the
tasks that talk to a model ask for a secret: `FLYTE_CODEGEN_SECRET=group/key`, set where the tasks are registered, names
it, and its pod gets it as the environment variable KEY. In local execution the key is read from the environment.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import NamedTuple

import flytekit
from flytekit import Deck, Secret, task
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.errors import CodegenError, NotSuccessfulError, SettingsError
from flyteplugins_codegen.flyte.cli import launchable
from flyteplugins_codegen.flyte.drafts import draft_solution, draft_tests
from flyteplugins_codegen.flyte.judging import judge
from flyteplugins_codegen.flyte.pods import keeping_replies, own_settings
from flyteplugins_codegen.flyte.state import RunState, cached_by_code, read_calls, sample_paths, write_calls
from flyteplugins_codegen.html.kit import facts, fitting, folded, log, render_document, seconds
from flyteplugins_codegen.models.job import type_name
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.settings import BuiltImage
from flyteplugins_codegen.result import CodeGenEvalResult
from flyteplugins_codegen.solution.flytekit import logger, readable_errors, runs_locally
from flyteplugins_codegen.solution.folder import task_variable
from flyteplugins_codegen.solution.registration.record import RegisteredSolution
from flyteplugins_codegen.stages import build, context
from flyteplugins_codegen.stages import repair as repairing
from flyteplugins_codegen.stages.agentic import work
from flyteplugins_codegen.stages.attempts import without_messages
from flyteplugins_codegen.stages.context import with_schemas
from flyteplugins_codegen.stages.draft import SolutionDraft, TestsDraft
from flyteplugins_codegen.stages.loop import BuildEnvironment, Driven, Finish, RunTests, next_action
from flyteplugins_codegen.stages.model_calls import open_account
from flyteplugins_codegen.stages.report.page import as_frame
from flyteplugins_codegen.store import cache_dir, digest
from flyteplugins_codegen.sync import run_blocking

# Building the image of a solution as a Flyte task of its own, with what the builder printed in its Deck.

_MOST_LOG_CHARS = 1 << 18


@launchable
@task(enable_deck=True, deck_fields=())
@readable_errors
def build_image(result: CodeGenEvalResult, push: bool = True) -> BuiltImage:  # noqa: FBT001, FBT002 - an option of `pyflyte run`
    """Build a result's image by its image_config; what is there already is not built again.

    Args:
        result: a result that came to success
        push: send it to the registry of image_config
    """
    built = result.build_image(push=push)
    show_image(built)
    return built


def show_image(built: BuiltImage) -> None:
    """Say what was built, and lay its log into the Deck of the task that this runs in."""
    how = "was there" if built.was_there else f"built in {seconds(built.seconds)}"
    logger.info("image %s %s", built.name, how)
    Deck("Image", as_frame(render_image(built, how)))


def render_image(built: BuiltImage, how: str) -> str:
    """The image as a page in the report's style, with all of its build log."""
    name = fitting(built.name, 400)
    about = facts((("Digest", f"<code>{fitting(built.digest, 200)}</code>" if built.digest else ""), ("Image", how)))
    told = folded("What the builder printed", log(built.log, _MOST_LOG_CHARS), is_open=True)
    return render_document(name, f"<header><h1>{name}</h1>{about}</header>", [("Build log", told)])


# Where a run leaves its solution folder, and what it says to whoever started it.


def folder_for(result: CodeGenEvalResult, save_to: str) -> Path:
    """Where to write the folder: as asked; else, on this machine, a lasting place named by the solution's content."""
    name = task_variable(result.settings.name)
    if not runs_locally():
        return Path(flytekit.current_context().working_directory) / name
    if save_to:
        return Path(save_to).absolute()
    content = digest(result.solution, result.tests, result.declared_inputs, result.declared_outputs)
    return cache_dir() / "solutions" / f"{name}-{content[:12]}"


def upload(folder: Path, save_to: str) -> FlyteDirectory:
    """The folder as an output; on a cluster it goes to the address `save_to`, or where Flyte puts it."""
    return FlyteDirectory(str(folder), remote_directory=None if runs_locally() else save_to or None)


def tell(result: CodeGenEvalResult, folder: Path) -> None:
    """Say where the solution is and how to run it."""
    logger.info("solution folder: %s", folder)
    if result.success:
        options = "".join(f" --{name} {_placeholder(kind)}" for name, kind in result.declared_inputs.items())
        task_module = shlex.quote(str(folder / "task.py"))
        logger.info("run it again: pyflyte run %s %s%s", task_module, task_variable(result.settings.name), options)


def _placeholder(kind: type) -> str:
    return (type_name(kind) or kind.__name__).upper()


# Registering as a Flyte task of its own: a node of any workflow after the one that generates.


@launchable
@task(enable_deck=True, deck_fields=())
@readable_errors
def register_solution(result: CodeGenEvalResult, project: str = "", domain: str = "") -> RegisteredSolution:
    """Register a result's task in the control plane of flytekit's configuration; the same again changes nothing.

    Args:
        result: a result that came to success
        project: by default that of the execution
        domain: by default that of the execution
    """
    return register_and_tell(result, project, domain)


def register_and_tell(result: CodeGenEvalResult, project: str = "", domain: str = "") -> RegisteredSolution:
    """Register, and say under which id and where to look at it."""
    registered = result.register(project=project or None, domain=domain or None)
    if registered.built is not None:
        show_image(registered.built)
    logger.info("registered: %s", registered)
    return registered


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
@task(
    cache=cached_by_code("data", "judging", "llm", "portable", "sandbox", "solution"),
    secret_requests=model_secrets(),
    **own_settings("infer_schemas"),
)
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
@task(
    cache=cached_by_code("data", "judging", "packages", "portable", "sandbox", "solution", "source"),
    **own_settings("run_tests"),
)
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
    cache=cached_by_code("data", "judging", "llm", "packages", "portable", "sandbox", "solution", "source"),
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
