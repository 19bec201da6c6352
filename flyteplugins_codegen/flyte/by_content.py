"""A solution whose outputs are reused on a cluster: for the same content of its inputs, wherever they lie."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Annotated, Final

from flytekit import Workflow, task
from flytekit.core.base_task import TaskMetadata
from flytekit.core.context_manager import FlyteContextManager
from flytekit.core.hash import HashMethod
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.flyte.pods import PLANNING_POD
from flyteplugins_codegen.solution.execute import content_digest
from flyteplugins_codegen.solution.flytekit import readable_errors
from flyteplugins_codegen.solution.task import PYTHON_TYPES, SandboxTask

_SUFFIX: Final = "-by-content"
_VERSION_LENGTH: Final = 32


def _digest(value: FlyteFile | FlyteDirectory) -> str:
    return content_digest(Path(value.path))


# A copy: if the address itself were passed on, what is read there later might not be what was hashed.
@task(**PLANNING_POD)
@readable_errors
def copy_file(file: FlyteFile) -> Annotated[FlyteFile, HashMethod(_digest)]:
    """A copy of the file, which Flyte's cache identifies by its content."""
    return FlyteFile(os.fspath(file))


@task(**PLANNING_POD)
@readable_errors
def copy_folder(folder: FlyteDirectory) -> Annotated[FlyteDirectory, HashMethod(_digest)]:
    """A copy of the folder, which Flyte's cache identifies by the relative names and the contents of its files."""
    return FlyteDirectory(os.fspath(folder))


class CachedSolution(SandboxTask):
    """A solution that Flyte caches by its code and its inputs. Its files must come with a hash of their content."""

    @property
    def metadata(self) -> TaskMetadata:
        """With a cache version that is the digest of the solution."""
        return dataclasses.replace(super().metadata, cache=True, cache_version=self.digest[:_VERSION_LENGTH])


def cached_by_content(solution: SandboxTask) -> Workflow:
    """The solution as a workflow that runs it once for each content of its inputs, and then reuses its outputs.

    Call it in a workflow of yours, or launch it; it has the inputs and outputs of `solution`, without its defaults.
    Every file and folder is copied and hashed by a task before it, which runs in the image that your own tasks are
    registered with: one that has this package. In local execution everything is as with `solution` itself.

        rainy_days = cached_by_content(load_solution("rainy-days").as_task("rainy-days"))

        @workflow
        def report(weather: FlyteFile) -> FlyteFile:
            return draw(days=rainy_days(weather=weather).rainy_days)

    """
    bundle = solution.bundle.model_copy(update={"name": f"{solution.name}{_SUFFIX}"})
    cached = CachedSolution(bundle, options=solution.options, secrets=solution.secrets, cache=solution.cache)
    workflow = Workflow(name=cached.name)
    context = FlyteContextManager.current_context()
    with FlyteContextManager.with_context(context.with_compilation_state(None)):  # also inside another workflow
        given = {name: workflow.add_workflow_input(name, PYTHON_TYPES[kind]) for name, kind in bundle.inputs.items()}
        for name, kind in bundle.inputs.items():
            if kind == "file":
                given[name] = workflow.add_entity(copy_file, file=given[name]).outputs["o0"]
            elif kind == "directory":
                given[name] = workflow.add_entity(copy_folder, folder=given[name]).outputs["o0"]
        node = workflow.add_entity(cached, **given)
        for name in bundle.outputs:
            workflow.add_workflow_output(name, node.outputs[name])
    return workflow
