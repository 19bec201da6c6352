"""Pods: the JSON of a Kubernetes PodSpec inside a task's template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from google.protobuf import json_format

from flyte_admin.quantities import check_resources
from flyte_admin.refusals import invalid, missing
from flyte_admin.runner_image import check_start

PRIMARY = "primary_container_name"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")
# Kubernetes' names of what Flyte calls ephemeral_storage and gpu.
_NAMES = {"ephemeral-storage": "ephemeral_storage", "nvidia.com/gpu": "gpu"}

_POD = frozenset(
    {
        "activeDeadlineSeconds",
        "affinity",
        "automountServiceAccountToken",
        "containers",
        "dnsConfig",
        "dnsPolicy",
        "enableServiceLinks",
        "ephemeralContainers",
        "hostAliases",
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "hostUsers",
        "hostname",
        "imagePullSecrets",
        "initContainers",
        "nodeName",
        "nodeSelector",
        "os",
        "overhead",
        "preemptionPolicy",
        "priority",
        "priorityClassName",
        "readinessGates",
        "resourceClaims",
        "resources",
        "restartPolicy",
        "runtimeClassName",
        "schedulerName",
        "schedulingGates",
        "securityContext",
        "serviceAccount",
        "serviceAccountName",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "subdomain",
        "terminationGracePeriodSeconds",
        "tolerations",
        "topologySpreadConstraints",
        "volumes",
    }
)
_CONTAINER = frozenset(
    {
        "args",
        "command",
        "env",
        "envFrom",
        "image",
        "imagePullPolicy",
        "lifecycle",
        "livenessProbe",
        "name",
        "ports",
        "readinessProbe",
        "resizePolicy",
        "resources",
        "restartPolicy",
        "securityContext",
        "startupProbe",
        "stdin",
        "stdinOnce",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "tty",
        "volumeDevices",
        "volumeMounts",
        "workingDir",
    }
)
_POD_SECURITY = frozenset(
    {
        "appArmorProfile",
        "fsGroup",
        "fsGroupChangePolicy",
        "runAsGroup",
        "runAsNonRoot",
        "runAsUser",
        "seLinuxChangePolicy",
        "seLinuxOptions",
        "seccompProfile",
        "supplementalGroups",
        "supplementalGroupsPolicy",
        "sysctls",
        "windowsOptions",
    }
)
_CONTAINER_SECURITY = frozenset(
    {
        "allowPrivilegeEscalation",
        "appArmorProfile",
        "capabilities",
        "privileged",
        "procMount",
        "readOnlyRootFilesystem",
        "runAsGroup",
        "runAsNonRoot",
        "runAsUser",
        "seLinuxOptions",
        "seccompProfile",
        "windowsOptions",
    }
)


def check_pod(pod: Any, config: Mapping[str, str], platform: Mapping[str, str]) -> None:
    """Refuse a pod that Kubernetes would, and one whose primary container is not among its containers."""
    if not pod.HasField("pod_spec"):
        raise missing("pod spec")
    spec = json_format.MessageToDict(pod.pod_spec)
    _check_fields("pod spec", spec, _POD)
    _check_fields("pod spec securityContext", spec.get("securityContext", {}), _POD_SECURITY)
    containers = spec.get("containers", [])
    names = [container.get("name", "") for container in containers]
    primary = pod.primary_container_name or config.get(PRIMARY, "")
    if names.count(primary) != 1:
        raise invalid(f"primary container [{primary}] is not exactly one of the pod's containers {names}")
    if len(set(names)) != len(names):
        raise invalid(f"pod spec has two containers of one name: {names}")
    volumes = {volume.get("name") for volume in spec.get("volumes", [])}
    for container in containers:
        _check_container(container, primary, volumes, platform)


def _check_container(
    container: Mapping[str, Any], primary: str, volumes: AbstractSet[Any], platform: Mapping[str, str]
) -> None:
    name = container.get("name", "")
    if not _NAME.match(name):
        raise invalid(f"container name [{name}] is no DNS label")
    _check_fields(f"container [{name}]", container, _CONTAINER)
    _check_fields(f"container [{name}] securityContext", container.get("securityContext", {}), _CONTAINER_SECURITY)
    if name == primary and not container.get("image"):
        raise missing("image")
    if name == primary:
        check_start(container["image"], [*container.get("command", []), *container.get("args", [])])
    for mount in container.get("volumeMounts", []):
        if mount.get("name") not in volumes:
            raise invalid(f"container [{name}] mounts volume [{mount.get('name')}], which the pod does not have")
    resources = container.get("resources", {})
    requests, limits = (
        {_NAMES.get(key, key): str(text) for key, text in resources.get(part, {}).items()}
        for part in ("requests", "limits")
    )
    check_resources(requests, limits, platform)


def _check_fields(where: str, given: Mapping[str, Any], known: AbstractSet[str]) -> None:
    unknown = sorted(set(given) - known)
    if unknown:
        raise invalid(f"unknown field [{unknown[0]}] in {where}")
