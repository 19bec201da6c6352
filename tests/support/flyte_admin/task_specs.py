"""What a task's template must be before it is registered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flyteidl.core import tasks_pb2

from flyte_admin.pod_specs import check_pod
from flyte_admin.quantities import check_resources
from flyte_admin.refusals import invalid, missing
from flyte_admin.runner_image import check_start

_MAX_BYTES = 4 * 2**20


def check_task(template: Any, platform: Mapping[str, str]) -> None:
    """Refuse a template that no cluster could run. `platform` are the most that a container may ask for, by name."""
    if not template.type:
        raise missing("type")
    if not template.HasField("metadata"):
        raise missing("metadata")
    _check_metadata(template.metadata)
    if not template.HasField("interface"):
        raise missing("typed interface")
    check_interface(template.interface)
    if template.ByteSize() > _MAX_BYTES:
        raise invalid(f"the template has {template.ByteSize()} bytes, over the limit of a message")
    target = template.WhichOneof("target")
    if target == "container":
        _check_container(template.container, platform)
        check_start(template.container.image, [*template.container.command, *template.container.args])
    if target == "k8s_pod":
        check_pod(template.k8s_pod, dict(template.config), platform)


def _check_metadata(metadata: Any) -> None:
    if metadata.HasField("runtime") and not metadata.runtime.version:
        raise missing("runtime version")
    if metadata.discoverable and not metadata.discovery_version:
        raise missing("discovery_version of a discoverable task")


def check_interface(interface: Any) -> None:
    """Refuse a variable without a name or a type."""
    for direction in ("inputs", "outputs"):
        for name, variable in getattr(interface, direction).variables.items():
            if not name or variable.type.WhichOneof("type") is None:
                raise invalid(f"variable [{name}] of the {direction} has no type")


def _check_container(container: Any, platform: Mapping[str, str]) -> None:
    if not container.image:
        raise missing("image")
    requests, limits = (_by_name(entries) for entries in (container.resources.requests, container.resources.limits))
    check_resources(requests, limits, platform)
    for pair in container.env:
        if not pair.key:
            raise missing("key of an environment variable")
    loading = container.data_config
    if loading.enabled and not (loading.input_path.startswith("/") and loading.output_path.startswith("/")):
        raise invalid("data loading needs absolute input and output paths")


def _by_name(entries: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in entries:
        name = tasks_pb2.Resources.ResourceName.Name(entry.name).lower()
        if name in found:
            raise invalid(f"can't specify {name} limit for task multiple times")
        found[name] = entry.value
    return found
