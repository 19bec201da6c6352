"""Resources, retries and time limits of each task's pod, and replies that outlive a pod in Flyte's checkpoints."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
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
P = ParamSpec("P")
T = TypeVar("T")

# Within the default limits of a Flyte cluster, which refuses to register a task above them.
_LIGHT, _WORKING = Resources(cpu="500m", mem="512Mi"), Resources(cpu="2", mem="1Gi")
_ASKING = StageSettings(resources=_LIGHT, retries=2, timeout_s=3600)
_RUNNING = StageSettings(resources=_WORKING, retries=1, timeout_s=7200)

STAGE_DEFAULTS: Final[Mapping[StageName, StageSettings]] = MappingProxyType(
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
"""Retries are for failures that may pass: of a server, an index, a sandbox or a node."""

POD_DEFAULTS: Final[Mapping[str, Any]] = MappingProxyType(
    {"requests": FlyteResources(cpu="2", mem="1Gi"), "limits": FlyteResources(cpu="2", mem="1Gi"), "retries": 1}
)
"""Arguments of `@task` for tasks that are no stage of a run. Without a timeout."""


def stage_pod(stage: StageName) -> dict[str, Any]:
    """Arguments of a stage's `@task`."""
    settings = STAGE_DEFAULTS[stage]
    resources = _flyte_resources(settings.resources or Resources())
    return {"requests": resources, "limits": resources, "retries": settings.retries, "timeout": _timeout(settings)}


def deciding_pod() -> dict[str, Any]:
    """Arguments of `@dynamic` for the loop's workflows: they run tests, and decide what comes next.

    Without a timeout, which would include everything that comes after: see `bounded_by`.
    """
    return {name: value for name, value in stage_pod("run_tests").items() if name != "timeout"}


@contextlib.contextmanager
def bounded_by(settings: Mapping[StageName, StageSettings], stage: StageName) -> Iterator[None]:
    """End this pod, as a timeout of its task would, if the context takes longer than the stage may.

    For a dynamic workflow, whose own timeout would include all nodes that it makes. Nothing in local execution.
    """
    if runs_locally():
        yield
        return
    seconds = (settings.get(stage) or StageSettings()).timeout_s or STAGE_DEFAULTS[stage].timeout_s or 0
    signal.setitimer(signal.ITIMER_REAL, seconds)  # SIGALRM ends the process: the pod counts as lost
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def with_settings(
    settings: Mapping[StageName, StageSettings], stage: StageName, node: NodeT, *, has_timeout: bool = True
) -> NodeT:
    """A stage's node in a dynamic workflow, with the agent's settings for that stage.

    In local execution every stage runs in this process, and the node is the stage's outputs. Without `has_timeout` the
    node is a dynamic workflow, see `bounded_by`.
    """
    if stage in settings and not runs_locally():
        changed = settings[stage] if has_timeout else settings[stage].model_copy(update={"timeout_s": None})
        node.with_overrides(**_overrides(changed))  # type: ignore[attr-defined]  # a promise
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


# --- replies in checkpoints ---


def keeping_replies(function: Callable[P, T]) -> Callable[P, T]:
    """Decorates a task that asks a model: a retry finds the replies that were paid for by the tries before it.

    A checkpoint that cannot be read or written is ignored.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        _rich_traceback_omit = True
        checkpoint = _checkpoint()
        if checkpoint is None:
            return function(*args, **kwargs)
        if checkpoint.prev_exists():
            _restore_replies(checkpoint)
        with watching_writes(functools.partial(_save_reply, checkpoint)):
            return function(*args, **kwargs)

    return call


def _checkpoint() -> Checkpoint | None:
    try:
        return None if runs_locally() else current_context().checkpoint
    except NotImplementedError:  # a platform without them
        return None


def _restore_replies(checkpoint: Checkpoint) -> None:
    """Copy the last try's replies into our store and into this try's checkpoint, which alone the next try sees."""
    store = ContentStore()
    with tempfile.TemporaryDirectory() as folder:
        try:
            replies = sorted((checkpoint.restore(folder) or Path(folder)).glob("*.json"))
        except Exception:  # noqa: BLE001 - depends on the store; most raise when nothing was saved
            logger.debug("the earlier try left no checkpoint", exc_info=True)
            return
        for reply in replies:
            path = store.path(REPLIES, reply.stem)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(reply, path)
            _save_reply(checkpoint, REPLIES, path)


def _save_reply(checkpoint: Checkpoint, kind: str, path: Path) -> None:
    if kind != REPLIES:
        return
    try:
        checkpoint.save(path)
    except Exception:  # noqa: BLE001 - depends on the store; the reply itself is in ours
        logger.warning("a reply could not be kept for another try of this task", exc_info=True)
