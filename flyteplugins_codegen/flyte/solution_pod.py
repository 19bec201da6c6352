"""The pod of a solution as Kubernetes has it: no privilege, a read-only root, no token of the cluster.

It is written as the mapping that `flytekit.PodTemplate` comes to: that class needs the `kubernetes` package wherever a
task is registered. What holds the main container to its place stands on that container and not on the pod, because
co-pilot's two containers share the pod and run as root.
"""

from __future__ import annotations

from typing import Any, Final

from flytekit.models.task import Container, Resources

from flyteplugins_codegen.models.pods import SOLUTION_LABEL, PodSettings

CONTAINER_NAME: Final = "solution"
_USER: Final = 1000
_TMP: Final = "tmp"
_SECURITY: Final = {
    "runAsNonRoot": True,
    "runAsUser": _USER,
    "runAsGroup": _USER,
    "readOnlyRootFilesystem": True,
    "allowPrivilegeEscalation": False,
    "privileged": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
# For `gpu` a cluster puts its own name.
_RESOURCE_NAMES: Final = {
    Resources.ResourceName.CPU: "cpu",
    Resources.ResourceName.GPU: "gpu",
    Resources.ResourceName.MEMORY: "memory",
    Resources.ResourceName.EPHEMERAL_STORAGE: "ephemeral-storage",
}


def pod_labels(settings: PodSettings) -> dict[str, str]:
    """The labels of a solution's pod: the user's, and the one by which a NetworkPolicy chooses it."""
    key, value = SOLUTION_LABEL
    return {**settings.labels, key: value}


def render_pod_spec(container: Container, settings: PodSettings) -> dict[str, Any]:
    """The pod's `spec`. To it, a cluster adds co-pilot's containers and the volumes of /var/inputs and /var/outputs."""
    spec: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "containers": [_main_container(container)],
        "volumes": [{"name": _TMP, "emptyDir": {"sizeLimit": settings.tmp_size}}],
    }
    return spec if settings.runtime_class is None else {**spec, "runtimeClassName": settings.runtime_class}


def _main_container(container: Container) -> dict[str, Any]:
    return {
        "name": CONTAINER_NAME,
        "image": container.image,
        "command": list(container.command),
        "env": [{"name": name, "value": value} for name, value in container.env.items()],
        "resources": {
            "requests": _quantities(container.resources.requests),
            "limits": _quantities(container.resources.limits),
        },
        "securityContext": _SECURITY,
        # So that the end of stderr, where the launcher says what is wrong, is what the task's error shows.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": _TMP, "mountPath": "/tmp"}],  # noqa: S108 - in the pod
    }


def _quantities(entries: list[Resources.ResourceEntry]) -> dict[str, str]:
    return {_RESOURCE_NAMES[entry.name]: entry.value for entry in entries}
