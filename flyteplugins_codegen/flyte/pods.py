"""What each stage's pod has: by itself, and by the agent's `stage_settings`."""

from __future__ import annotations

import datetime as dt
import functools
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, ParamSpec, TypeVar

from flytekit import Resources as FlyteResources
from flytekit import current_context
from flytekit.core.checkpointer import Checkpoint

from flyteplugins_codegen.llm.replay import REPLIES
from flyteplugins_codegen.models.settings import Resources, StageName, StageSettings
from flyteplugins_codegen.solution.flytekit import logger, runs_locally
from flyteplugins_codegen.store import ContentStore, watching_writes

NodeT = TypeVar("NodeT")

# No more than a cluster's own limits are as it is installed, by which a task would not be registered at all.
_LIGHT, _WORKING = Resources(cpu="500m", mem="512Mi"), Resources(cpu="2", mem="1Gi")
_ASKING = StageSettings(resources=_LIGHT, retries=2, timeout_s=3600)
_RUNNING = StageSettings(resources=_WORKING, retries=1, timeout_s=7200)

OWN: Final[Mapping[StageName, StageSettings]] = MappingProxyType(
    {
        "extract_context": _RUNNING,
        "infer_schemas": StageSettings(resources=_WORKING, retries=2, timeout_s=3600),
        "write_solution": _ASKING,
        "write_tests": _ASKING,
        "build_environment": StageSettings(resources=_WORKING, retries=2, timeout_s=1800),
        "run_tests": _RUNNING,
        "repair": _ASKING,
        "draft_anew": _ASKING,
        "work_as_agent": StageSettings(resources=_WORKING, retries=1, timeout_s=7200),
        "measure_strength": _RUNNING,
        "strengthen_tests": _ASKING,
        "finish": StageSettings(resources=_LIGHT, retries=1, timeout_s=900),
    }
)
"""Retries are for what another try can help: a server, an index or a sandbox that failed, a node that went away."""


BESIDE: Final[Mapping[str, Any]] = MappingProxyType(
    {"requests": FlyteResources(cpu="2", mem="1Gi"), "limits": FlyteResources(cpu="2", mem="1Gi"), "retries": 1}
)
"""What tasks that are no stage of a run are declared with: room for what they run, as long as it takes."""


def own_settings(stage: StageName) -> dict[str, Any]:
    """What a stage's `@task` is declared with."""
    settings = OWN[stage]
    resources = _flyte_resources(settings.resources or Resources())
    return {"requests": resources, "limits": resources, "retries": settings.retries, "timeout": _timeout(settings)}


def with_settings(settings: Mapping[StageName, StageSettings], stage: StageName, node: NodeT) -> NodeT:
    """A stage's node of a dynamic, with what the agent's settings say of the stage.

    On this machine every stage runs in this process, and the node is its outputs.
    """
    if stage in settings and not runs_locally():
        node.with_overrides(**_overrides(settings[stage]))  # type: ignore[attr-defined]  # a promise
    return node


def _overrides(settings: StageSettings) -> dict[str, Any]:
    changed: dict[str, Any] = {"retries": settings.retries, "container_image": settings.image}
    if settings.resources is not None:
        resources = _flyte_resources(settings.resources)
        changed |= {"requests": resources, "limits": resources}
    if settings.timeout_s is not None:
        changed["timeout"] = _timeout(settings)
    return changed if settings.cache else {**changed, "cache": False}


def _flyte_resources(resources: Resources) -> FlyteResources:
    return FlyteResources(**resources.model_dump(exclude_none=True))


def _timeout(settings: StageSettings) -> dt.timedelta | None:
    return None if settings.timeout_s is None else dt.timedelta(seconds=settings.timeout_s)


# Paid replies that outlive the pod that asked: Flyte's checkpoints hand them to the next try of its task.

P = ParamSpec("P")
T = TypeVar("T")


def keeping_replies(function: Callable[P, T]) -> Callable[P, T]:
    """Let a task that asks a model find what its earlier try was answered, and leave what it is answered for the next.

    A checkpoint that fails costs what it would have saved, and nothing else.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        _rich_traceback_omit = True
        checkpoint = _checkpoint()
        if checkpoint is None:
            return function(*args, **kwargs)
        if checkpoint.prev_exists():
            _take_over(checkpoint)
        with watching_writes(functools.partial(_leave, checkpoint)):
            return function(*args, **kwargs)

    return call


def _checkpoint() -> Checkpoint | None:
    try:
        return None if runs_locally() else current_context().checkpoint
    except NotImplementedError:  # a platform without them
        return None


def _take_over(checkpoint: Checkpoint) -> None:
    """The earlier try's replies into our store, and into this try's own checkpoint: the next one sees no other."""
    store = ContentStore()
    with tempfile.TemporaryDirectory() as folder:
        try:
            left = sorted((checkpoint.restore(folder) or Path(folder)).glob("*.json"))
        except Exception:  # noqa: BLE001 - of whichever store; most have no folder where nothing was left
            logger.debug("the earlier try left no checkpoint", exc_info=True)
            return
        for reply in left:
            place = store.path(REPLIES, reply.stem)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(reply, place)
            _leave(checkpoint, REPLIES, place)


def _leave(checkpoint: Checkpoint, kind: str, path: Path) -> None:
    if kind != REPLIES:
        return
    try:
        checkpoint.save(path)
    except Exception:  # noqa: BLE001 - of whichever store; the reply itself is here
        logger.warning("a reply could not be kept for another try of this task", exc_info=True)
