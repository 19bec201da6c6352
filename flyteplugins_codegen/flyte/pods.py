"""The pod of each task: resources, retries, time limits, variables, and what the sandbox needs to open in it.

Also replies that outlive a pod in Flyte's checkpoints.
"""

from __future__ import annotations

import contextlib
import copy
import datetime as dt
import functools
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, ParamSpec, TypeVar

from flytekit import PythonFunctionTask, current_context
from flytekit import Resources as FlyteResources
from flytekit.configuration import SerializationSettings
from flytekit.core.array_node_map_task import ArrayNodeMapTask
from flytekit.core.checkpointer import Checkpoint
from flytekit.core.node import Node
from flytekit.exceptions.user import FlyteRecoverableException
from flytekit.extend import TaskPlugins
from flytekit.models.task import Container, K8sObjectMetadata, K8sPod

from flyteplugins_codegen.errors import SettingsError
from flyteplugins_codegen.flyte.task_environment import TEMPLATE_VARIABLE, task_environment
from flyteplugins_codegen.llm.replay import REPLIES
from flyteplugins_codegen.models.settings import Resources, StageName, StageSettings, check_object_name
from flyteplugins_codegen.solution.flytekit import logger, render_container, runs_locally
from flyteplugins_codegen.store import ContentStore, watching_writes

NodeT = TypeVar("NodeT")
P = ParamSpec("P")
T = TypeVar("T")

# --- what a pod has beside its resources ---

NO_TEMPLATE: Final = "none"
"""Used as the name of a pod template: the pod as Flyte makes it."""

SANDBOX_SECURITY: Final[Mapping[str, Any]] = MappingProxyType(
    {
        # User namespaces are made without a capability or a program that gains one; a cluster's usual profiles and its
        # masks over /proc forbid making them, and mounting their /proc.
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "runAsGroup": 1000,
        "allowPrivilegeEscalation": False,
        "privileged": False,
        "capabilities": {"drop": ["ALL"]},
        "procMount": "Unmasked",
        "seccompProfile": {"type": "Unconfined"},
        "appArmorProfile": {"type": "Unconfined"},
    }
)
"""The `securityContext` of a container in which the sandbox opens. Its pod has `hostUsers: false`."""

_CONTAINER = "primary"


@dataclass(frozen=True)
class TaskPod:
    """The `task_config` of all our tasks. With `opens_sandbox` the pod allows what the sandbox needs."""

    opens_sandbox: bool = False


class PodTask(PythonFunctionTask[TaskPod]):
    """A task whose template holds the settings that it was registered with, and the pod in which its sandbox opens.

    Where a PodTemplate of the cluster is named, the task has a container, and Flyte merges that template into its pod.
    """

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the task's container. Raises SettingsError for one that must not be readable."""
        return {**task_environment(), **super().environment}

    def get_container(self, settings: SerializationSettings) -> Container | None:
        """The container, None for a task with a pod."""
        return None if self._has_pod else super().get_container(settings)

    def get_k8s_pod(self, settings: SerializationSettings) -> K8sPod | None:
        """The pod of a task that opens a sandbox, made without flytekit's PodTemplate, which needs `kubernetes`."""
        if not self._has_pod:
            return None
        container = render_container(self._get_container(settings), _CONTAINER)
        spec = {"hostUsers": False, "containers": [{**container, "securityContext": dict(SANDBOX_SECURITY)}]}
        return K8sPod(metadata=K8sObjectMetadata(), pod_spec=spec, primary_container_name=_CONTAINER)

    def get_config(self, settings: SerializationSettings) -> dict[str, str]:
        """The name of our container in the pod."""
        return {"primary_container_name": _CONTAINER} if self._has_pod else super().get_config(settings)

    @property
    def _has_pod(self) -> bool:
        return self.task_config.opens_sandbox and self.metadata.pod_template_name is None

    def changed(self, template: str | None, *, is_cached: bool) -> PodTask:
        """The same task with a PodTemplate of the cluster (or with none at all), and without Flyte's cache."""
        copied = copy.copy(self)
        copied._metadata = copy.copy(self.metadata)  # noqa: SLF001 - of the same class
        if template is not None:
            copied._task_config = TaskPod()  # noqa: SLF001 - the same
            copied.metadata.pod_template_name = None if template == NO_TEMPLATE else template
        if not is_cached:
            copied.metadata.cache, copied.metadata.cache_version = False, ""
        return copied


TaskPlugins.register_pythontask_plugin(TaskPod, PodTask)


def _pod_arguments(*, opens_sandbox: bool) -> dict[str, Any]:
    """Arguments of `@task` for the pod, by the template that is named where the task is registered."""
    name = os.environ.get(TEMPLATE_VARIABLE, "") if opens_sandbox else ""
    if not name:
        return {"task_config": TaskPod(opens_sandbox=opens_sandbox)}
    try:
        check_object_name(TEMPLATE_VARIABLE, "PodTemplate", name)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    return {"task_config": TaskPod(), "pod_template_name": None if name == NO_TEMPLATE else name}


# --- resources, retries and time limits ---


# Within the default limits of a Flyte cluster, which refuses to register a task above them. A pod that plans, or waits
# for a model, takes more than its request only for the second or two in which it starts.
_MOST: Final = FlyteResources(cpu="2", mem="1Gi")
_LIGHT: Final = MappingProxyType({"requests": FlyteResources(cpu="250m", mem="512Mi"), "limits": _MOST})
_WORKING: Final = MappingProxyType({"requests": _MOST, "limits": _MOST})


@dataclass(frozen=True, kw_only=True)
class _StagePod:
    size: Mapping[str, FlyteResources]
    retries: int
    timeout_s: float
    opens_sandbox: bool = False


_ASKING = _StagePod(size=_LIGHT, retries=2, timeout_s=3600)
_RUNNING = _StagePod(size=_WORKING, retries=1, timeout_s=7200, opens_sandbox=True)

# Retries are for failures that may pass: of a server, an index, a sandbox or a node.
_STAGES: Final[Mapping[StageName, _StagePod]] = MappingProxyType(
    {
        "extract_context": _StagePod(size=_WORKING, retries=1, timeout_s=7200),
        "infer_schemas": _StagePod(size=_WORKING, retries=2, timeout_s=3600),
        "write_solution": _ASKING,
        "write_tests": _ASKING,
        "build_environment": _StagePod(size=_WORKING, retries=2, timeout_s=1800),
        "run_tests": _RUNNING,
        "repair": _ASKING,
        "draft_anew": _ASKING,
        "work_as_agent": _RUNNING,
        "measure_strength": _RUNNING,
        "strengthen_tests": _ASKING,
        "finish": _StagePod(size=_LIGHT, retries=1, timeout_s=900),
    }
)


def _task_arguments(
    size: Mapping[str, FlyteResources], *, opens_sandbox: bool = False, **more: Any
) -> Mapping[str, Any]:
    return MappingProxyType({**size, **_pod_arguments(opens_sandbox=opens_sandbox), **more})


PLANNING_POD: Final = _task_arguments(_LIGHT, retries=1)
"""Arguments of `@dynamic`, and of `@task` for tasks that only plan. Without a timeout."""

FIRST_POD: Final = _task_arguments(_LIGHT, opens_sandbox=True, retries=1)
"""Arguments of `@task` for the first task of a run, which checks the sandbox. Without a timeout."""

POD_DEFAULTS: Final = _task_arguments(_WORKING, retries=1)
"""Arguments of `@task` for tasks that are no stage of a run and run no candidate. Without a timeout."""

SANDBOX_POD: Final = _task_arguments(_WORKING, opens_sandbox=True, retries=1)
"""As `POD_DEFAULTS`, for tasks that run candidates."""


def stage_pod(stage: StageName) -> dict[str, Any]:
    """Arguments of a stage's `@task`."""
    pod = _STAGES[stage]
    timeout = dt.timedelta(seconds=pod.timeout_s)
    return {**_task_arguments(pod.size, opens_sandbox=pod.opens_sandbox), "retries": pod.retries, "timeout": timeout}


def deciding_pod() -> dict[str, Any]:
    """Arguments of `@dynamic` for the loop's workflows: they run tests, and decide what comes next.

    Without a timeout, which would include everything that comes after: see `bounded_by`.
    """
    return {name: value for name, value in stage_pod("run_tests").items() if name != "timeout"}


@contextlib.contextmanager
def bounded_by(settings: Mapping[StageName, StageSettings], stage: StageName) -> Iterator[None]:
    """End this try of a task, as its timeout would, if the context takes longer than the stage may.

    For a dynamic workflow, whose own timeout would include all nodes that it makes. Nothing in local execution. Raises
    FlyteRecoverableException, after which Flyte tries again as often as `retries` says.
    """
    if runs_locally():
        yield
        return
    seconds = (settings.get(stage) or StageSettings()).timeout_s or _STAGES[stage].timeout_s

    def end(*_: object) -> None:
        _kill_children()  # threads wait for them, and this process for its threads
        raise FlyteRecoverableException(f"{stage} took longer than its {seconds:g} s")

    earlier = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)


def _kill_children() -> None:
    for thread in Path("/proc/self/task").iterdir():
        for child in (thread / "children").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)


def with_settings(
    settings: Mapping[StageName, StageSettings], stage: StageName, node: NodeT, *, has_timeout: bool = True
) -> NodeT:
    """A stage's node in a dynamic workflow, with the agent's settings for that stage.

    In local execution every stage runs in this process, and the node is the stage's outputs. Without `has_timeout` the
    node is a dynamic workflow, see `bounded_by`.
    """
    if stage in settings and not runs_locally():
        chosen = settings[stage] if has_timeout else settings[stage].model_copy(update={"timeout_s": None})
        node.with_overrides(**_overrides(chosen))  # type: ignore[attr-defined]  # a promise
        if chosen.pod_template is not None or not chosen.cache:
            promise: Any = node[0] if isinstance(node, tuple) else node
            _change_task(promise.ref.node, chosen.pod_template, is_cached=chosen.cache)
    return node


def _change_task(node: Node, template: str | None, *, is_cached: bool) -> None:
    """Give the node a changed copy of its task.

    `with_overrides` cannot: it takes a whole pod, which needs the package `kubernetes`, and no name. A cluster reads in
    the task alone whether it is cached.
    """
    task = node.flyte_entity
    if isinstance(task, ArrayNodeMapTask):
        mapped = copy.copy(task)
        mapped._run_task = _changed(task.python_function_task, template, is_cached)  # noqa: SLF001 - no setter
        mapped._metadata = mapped.python_function_task.metadata  # noqa: SLF001 - the same
        node._flyte_entity = mapped  # noqa: SLF001 - the same
    else:
        node._flyte_entity = _changed(task, template, is_cached)  # noqa: SLF001 - the same


@functools.cache  # flytekit writes a task once into a dynamic's nodes if it is the same object
def _changed(task: PodTask, template: str | None, is_cached: bool) -> PodTask:  # noqa: FBT001 - a key of the cache
    return task.changed(template, is_cached=is_cached)


def _overrides(settings: StageSettings) -> dict[str, Any]:
    changed: dict[str, Any] = {"retries": settings.retries, "container_image": settings.image}
    if settings.resources is not None:
        resources = _flyte_resources(settings.resources)
        changed |= {"requests": resources, "limits": resources}
    if settings.timeout_s is not None:
        changed["timeout"] = _timeout(settings)
    return changed


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
