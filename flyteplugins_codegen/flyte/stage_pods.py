"""What each stage's pod has: by itself, and by the agent's `stage_settings`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from flytekit import Resources as FlyteResources

from flyteplugins_codegen.flyte.caching import runs_locally
from flyteplugins_codegen.models.pods import StageName, StageSettings
from flyteplugins_codegen.models.resources import Resources

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
