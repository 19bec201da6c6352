"""Every stage as a Flyte task, and tasks that build the image of a result or register it.

Flyte caches a stage by its input and the code that it runs. Only tasks that call a model request a secret: the variable
`FLYTE_CODEGEN_SECRET=group/key`, set where the tasks are registered, names it, and the pod gets it as the environment
variable KEY. In local execution the key is read from the environment.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import NamedTuple, TypeVar

import flytekit
from flytekit import Deck, Secret, task
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.errors import CodegenError, NotSuccessfulError, SettingsError
from flyteplugins_codegen.flyte.cli import launchable
from flyteplugins_codegen.flyte.drafts import draft_solution, draft_tests
from flyteplugins_codegen.flyte.judging import judge
from flyteplugins_codegen.flyte.pods import PLANNING_POD, keeping_replies, stage_pod
from flyteplugins_codegen.flyte.state import (
    BESIDE_STATE,
    JUDGING_CODE,
    MODEL_CODE,
    RunState,
    cached_by_code,
    join_timings,
    read_calls,
    sample_paths,
    write_calls,
)
from flyteplugins_codegen.flyte.task_environment import SECRET_VARIABLE
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
from flyteplugins_codegen.stages.actions import BuildEnvironment, Driven, Finish, RunTests
from flyteplugins_codegen.stages.agentic import work
from flyteplugins_codegen.stages.attempts import without_messages
from flyteplugins_codegen.stages.context import with_schemas
from flyteplugins_codegen.stages.draft import Drafts, SolutionDraft, TestsDraft, with_drafts
from flyteplugins_codegen.stages.loop import next_action
from flyteplugins_codegen.stages.model_calls import open_account
from flyteplugins_codegen.stages.report.page import as_frame
from flyteplugins_codegen.store import cache_dir, digest
from flyteplugins_codegen.sync import run_blocking

DraftT = TypeVar("DraftT", SolutionDraft, TestsDraft)

_MAX_LOG_CHARS = 1 << 18

# --- image, folder and registration of a result ---


@launchable
@task(enable_deck=True, deck_fields=(), **PLANNING_POD)
@readable_errors
def build_image(result: CodeGenEvalResult, push: bool = True) -> BuiltImage:  # noqa: FBT001, FBT002 - an option of `pyflyte run`
    """Build a result's image by its image_config. An image that exists is not built again.

    Args:
        result: a successful result
        push: send it to the registry of image_config
    """
    built = result.build_image(push=push)
    show_image(built)
    return built


def show_image(built: BuiltImage) -> None:
    """Log what was built, and write the build log to the current task's Deck."""
    how = "was there" if built.was_there else f"built in {seconds(built.seconds)}"
    logger.info("image %s %s", built.name, how)
    Deck("Image", as_frame(render_image(built, how)))


def render_image(built: BuiltImage, how: str) -> str:
    """An HTML page about the image in the report's style, with its build log."""
    name = fitting(built.name, 400)
    about = facts((("Digest", f"<code>{fitting(built.digest, 200)}</code>" if built.digest else ""), ("Image", how)))
    build_log = folded("What the builder printed", log(built.log, _MAX_LOG_CHARS), is_open=True)
    return render_document(name, f"<header><h1>{name}</h1>{about}</header>", [("Build log", build_log)])


def folder_for(result: CodeGenEvalResult, save_to: str) -> Path:
    """Where to write the folder: `save_to`, else a folder of our cache that is named by the solution's content.

    In a pod, the task's working directory.
    """
    name = task_variable(result.settings.name)
    if not runs_locally():
        return Path(flytekit.current_context().working_directory) / name
    if save_to:
        return Path(save_to).absolute()
    content = digest(result.solution, result.tests, result.declared_inputs, result.declared_outputs)
    return cache_dir() / "solutions" / f"{name}-{content[:12]}"


def upload(folder: Path, save_to: str) -> FlyteDirectory:
    """The folder as a task's output; on a cluster it is uploaded to `save_to`, by default where Flyte puts outputs."""
    return FlyteDirectory(str(folder), remote_directory=None if runs_locally() else save_to or None)


def log_folder(result: CodeGenEvalResult, folder: Path) -> None:
    """Log where the solution is and how to run it."""
    logger.info("solution folder: %s", folder)
    if result.success:
        inputs = result.declared_inputs.items()
        options = "".join(f" --{name} {(type_name(kind) or kind.__name__).upper()}" for name, kind in inputs)
        task_module = shlex.quote(str(folder / "task.py"))
        logger.info("run it again: pyflyte run %s %s%s", task_module, task_variable(result.settings.name), options)


@launchable
@task(enable_deck=True, deck_fields=(), **PLANNING_POD)
@readable_errors
def register_solution(result: CodeGenEvalResult, project: str = "", domain: str = "") -> RegisteredSolution:
    """Register a result's task in the control plane of flytekit's configuration. A second call changes nothing.

    Args:
        result: a successful result
        project: by default that of the execution
        domain: by default that of the execution
    """
    return register_and_log(result, project, domain)


def register_and_log(result: CodeGenEvalResult, project: str = "", domain: str = "") -> RegisteredSolution:
    """Register, and log the id and the console's address."""
    registered = result.register(project=project or None, domain=domain or None)
    if registered.built is not None:
        show_image(registered.built)
    logger.info("registered: %s", registered)
    return registered


# --- stages ---


def model_secrets(reference: str | None = None) -> list[Secret]:
    """The secret that tasks which call a model request: `group/key`, by default from `FLYTE_CODEGEN_SECRET`.

    Raises SettingsError for anything else.
    """
    text = os.environ.get(SECRET_VARIABLE, "") if reference is None else reference
    if not text:
        return []
    group, slash, key = text.partition("/")
    if not (group and slash and key):
        raise SettingsError(f"FLYTE_CODEGEN_SECRET={text!r}: write it as group/key, such as openai/OPENAI_API_KEY")
    return [Secret(group=group, key=key, mount_requirement=Secret.MountType.ENV_VAR, env_var=key.upper())]


def split_messages(draft: DraftT) -> tuple[DraftT, FlyteFile]:
    """The draft without the messages of its calls, and the file with them."""
    return draft.model_copy(update={"calls": without_messages(draft.calls)}), write_calls(draft.calls)


class SchemasInferred(NamedTuple):
    """The run with its schemas, and the file of the model calls about its constraints."""

    state: RunState
    conversation: FlyteFile


class SolutionWritten(NamedTuple):
    """A draft without its messages, and the file with them."""

    solution: SolutionDraft
    conversation: FlyteFile


class TestsWritten(NamedTuple):
    """As `SolutionWritten`, for the tests."""

    tests: TestsDraft
    conversation: FlyteFile


class Repaired(NamedTuple):
    """The run with one more candidate, and the file of the model calls about it."""

    state: RunState
    conversation: FlyteFile


class Generated(NamedTuple):
    """The result of a run, and its solution folder."""

    result: CodeGenEvalResult
    folder: FlyteDirectory


@launchable
@task(cache=cached_by_code("data"), **stage_pod("extract_context"))
@readable_errors
def extract_context(state: RunState, samples: dict[str, FlyteFile]) -> RunState:
    """Profile every sample.

    Args:
        state: the run after the previous stage, as JSON or a file with it
        samples: a JSON object of name to path
    """
    run = state.run
    extracted = context.extract_context(run.settings, run.request, sample_paths(samples))
    return state.with_run(run.model_copy(update={"context": extracted}))


@launchable
@task(
    cache=cached_by_code("data", "judging", "llm", "portable", "sandbox", "solution"),
    secret_requests=model_secrets(),
    **stage_pod("infer_schemas"),
)
@readable_errors
@keeping_replies
def infer_schemas(state: RunState, samples: dict[str, FlyteFile]) -> SchemasInferred:
    """Infer a schema for every sample that has columns, read the constraints, and hold the samples against them.

    Constraints that our grammar does not know are read by the model.

    Args:
        state: the run after the previous stage, as JSON or a file with it
        samples: a JSON object of name to path
    """
    inferred = run_blocking(with_schemas(state.run, sample_paths(samples), open_account(state.run)))
    return SchemasInferred(state.with_run(inferred.run), write_calls(inferred.calls))


@launchable
@task(cache=cached_by_code(*MODEL_CODE), secret_requests=model_secrets(), **stage_pod("write_solution"))
@readable_errors
@keeping_replies
def write_solution(state: RunState) -> SolutionWritten:
    """Ask the model for plan, script and packages.

    Args:
        state: the run after the previous stage, as JSON or a file with it
    """
    return SolutionWritten(*split_messages(draft_solution(state)))


@launchable
@task(cache=cached_by_code(*MODEL_CODE), secret_requests=model_secrets(), **stage_pod("write_tests"))
@readable_errors
@keeping_replies
def write_tests(state: RunState) -> TestsWritten:
    """Ask the model for tests, from the request and the data alone.

    Args:
        state: the run after the previous stage, as JSON or a file with it
    """
    return TestsWritten(*split_messages(draft_tests(state)))


# Not cached by Flyte, which would keep a failure after the package was published, and ignore a change of the index.
# `resolve` caches locks by index settings and never a failure: running this again takes milliseconds on this machine.
@launchable
@task(enable_deck=True, deck_fields=(), **stage_pod("build_environment"))
@readable_errors
def build_environment(state: RunState) -> RunState:
    """Resolve what the next candidate needs; the Deck has the build log of its image, where one is built.

    Args:
        state: the run after the previous stage, as JSON or a file with it
    """
    return _with_environment(state)


@launchable
@task(enable_deck=True, deck_fields=(), **stage_pod("build_environment"))
@readable_errors
def build_first_environment(state: RunState, solution: SolutionDraft, tests: TestsDraft) -> RunState:
    """Combine the two drafts as the first candidate, and resolve what it needs.

    Args:
        state: the run before the drafts, as JSON or a file with it
        solution: what `write_solution` made, as JSON or a file with it
        tests: what `write_tests` made, as JSON or a file with it
    """
    drafts = Drafts(solutions=(solution,), tests=tests)
    return _with_environment(state.with_run(with_drafts(state.run, drafts)))


def _with_environment(state: RunState) -> RunState:
    """The state with the next candidate's environment, if that comes next.

    In a pod it is not installed: the pod that runs the tests has a disk of its own.
    """
    if not isinstance(next_action(state.run), BuildEnvironment):  # the budget allowed no new candidate
        return state
    return state.with_run(build.build_environment(state.run, show_image, installs=runs_locally()))


@launchable
@task(
    cache=cached_by_code("data", *JUDGING_CODE),
    **stage_pod("run_tests"),
)
@readable_errors
def run_tests(state: RunState, samples: dict[str, FlyteFile]) -> RunState:
    """Run the next candidate: examples, the user's tests, the samples, the generated tests.

    Args:
        state: the run after the previous stage, as JSON or a file with it
        samples: a JSON object of name to path
    """
    if not isinstance(next_action(state.run), RunTests):  # the budget allowed no new candidate
        return state
    return state.with_run(judge(state.run, sample_paths(samples)))


@launchable
@task(cache=cached_by_code(*MODEL_CODE, ignored=BESIDE_STATE), secret_requests=model_secrets(), **stage_pod("repair"))
@readable_errors
@keeping_replies
def repair(state: RunState, samples: dict[str, FlyteFile], timings: list[float] = []) -> Repaired:  # noqa: B006 - as above
    """Ask the model for the cause and the change.

    Args:
        state: the run after the previous stage, as JSON or a file with it
        samples: a JSON object of name to path
        timings: those of the state, where it has none itself
    """
    run = join_timings(state.run, timings)
    repaired = run_blocking(repairing.repair(run, sample_paths(samples), open_account(run)))
    return Repaired(state.with_run(repaired.run), write_calls(repaired.calls))


@launchable
@task(
    cache=cached_by_code("data", "llm", *JUDGING_CODE, ignored=BESIDE_STATE),
    secret_requests=model_secrets(),
    **stage_pod("work_as_agent"),
)
@readable_errors
@keeping_replies
def work_as_agent(state: RunState, samples: dict[str, FlyteFile], timings: list[float] = []) -> Repaired:  # noqa: B006 - as above
    """Have the model work by tools until it submits a candidate; what it runs, it runs in this pod's sandbox.

    Args:
        state: the run after the previous stage, as JSON or a file with it
        samples: a JSON object of name to path
        timings: those of the state, where it has none itself
    """
    run = join_timings(state.run, timings)
    worked = run_blocking(work.work_as_agent(run, sample_paths(samples), open_account(run)))
    return Repaired(state.with_run(worked.run), write_calls(worked.calls))


@launchable
@task(enable_deck=True, deck_fields=(), **stage_pod("finish"))
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
        state: the run after the previous stage, as JSON or a file with it
        samples: a JSON object of name to path
        conversation: a JSON list of the files with model calls
        save_to: where the solution folder goes; on a cluster an address
        allow_failure: return the result of a run without success, too
        register: register the solution as a task
    """
    result = CodeGenEvalResult.from_run(_finished_run(state.run, conversation), samples)
    folder = result.save(folder_for(result, save_to))
    Deck("Report", as_frame((folder / "report.html").read_text()))
    if not result.success and not allow_failure:
        raise NotSuccessfulError(
            f"{result.error}\nThe best candidate, its tests and the report are in {folder}; allow_failure gives the "
            "result all the same"
        )
    log_folder(result, folder)
    # Not in a node of its own, which would take a pod even where nothing is to be registered.
    if register and result.success:
        register_and_log(result)
    return Generated(result, upload(folder, save_to))


def _finished_run(run: Run, conversation: list[FlyteFile]) -> Driven:
    action = next_action(run)
    if not isinstance(action, Finish):
        raise CodegenError(f"the run is not at its end: next comes {type(action).__name__}")
    return Driven(run=run, finish=action, calls=read_calls(conversation))
