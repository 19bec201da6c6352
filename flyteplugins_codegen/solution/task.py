"""A finished solution as a Flyte task: a raw-container pod on a cluster, the sandbox in local execution."""

from __future__ import annotations

import datetime as dt
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, get_args

from flytekit import Resources as FlyteResources
from flytekit import Secret
from flytekit.configuration import SerializationSettings
from flytekit.core.base_task import TaskMetadata
from flytekit.core.container_task import ContainerTask
from flytekit.core.context_manager import FlyteContext
from flytekit.core.promise import Promise, VoidPromise, create_task_output, translate_inputs_to_literals
from flytekit.models.literals import LiteralMap
from flytekit.models.task import Container, K8sObjectMetadata, K8sPod
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile
from typing_extensions import Self

from flyteplugins_codegen.errors import SettingsError
from flyteplugins_codegen.models.data import TableSchema
from flyteplugins_codegen.models.job import SolutionBundle, TypeName, input_types, output_types
from flyteplugins_codegen.models.settings import SOLUTION_LABEL, CacheMode, PodSettings, Resources, SecretReference
from flyteplugins_codegen.packages.resolve import read_lock
from flyteplugins_codegen.portable.launcher import FAILURE_STATUS, FAILURE_VARIABLE, SCHEMAS_FILE, command_line
from flyteplugins_codegen.sandbox.contract import INPUTS, OUTPUTS
from flyteplugins_codegen.solution.execute import ExecutionOptions, execute_remembered
from flyteplugins_codegen.solution.flytekit import readable_errors, render_container
from flyteplugins_codegen.solution.validate import schemas_text
from flyteplugins_codegen.store import digest

_STORAGE: Final = "2Gi"

PYTHON_TYPES: Final[Mapping[TypeName, type]] = MappingProxyType(
    {
        "str": str,
        "int": int,
        "float": float,
        "bool": bool,
        "datetime": dt.datetime,
        "timedelta": dt.timedelta,
        "file": FlyteFile,
        "directory": FlyteDirectory,
    }
)
"""The types of a Flyte interface by their names in JSON."""

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


class SandboxTask(ContainerTask):
    """A solution as a task: call it, compose it in a `@workflow`, package it, register it.

    On a cluster it is a raw-container pod in the solution's own image (`render_pod_spec`). In local execution the same
    command runs in the sandbox.
    `defaults` are values by input name; a file's is a path or a FlyteFile.

    `cache` is for runs on this machine: `"auto"` reuses the outputs of the same solution on the same content;
    `"override"` and `"disable"` run it each time, and `"disable"` caches nothing. A cluster runs it each time, because
    Flyte's cache identifies a file by its address, whatever it holds; `cached_by_content(task)` reuses outputs there.

    Raises SettingsError for another `cache`. Calling it raises what `execute_solution` raises.
    """

    def __init__(
        self,
        bundle: SolutionBundle,
        *,
        defaults: Mapping[str, Any] | None = None,
        options: ExecutionOptions | None = None,
        secrets: Sequence[SecretReference] = (),
        cache: CacheMode = "auto",
    ) -> None:
        if cache not in get_args(CacheMode):
            raise SettingsError(
                f"cache={cache!r}: write 'auto', 'override' or 'disable', which are for runs on this machine; "
                "to reuse outputs on a cluster, call cached_by_content(task) in a workflow of yours"
            )
        self.bundle = bundle
        self.options = options or ExecutionOptions()
        self.secrets = tuple(secrets)
        self.cache: CacheMode = cache
        self.defaults = {name: _native(bundle.inputs[name], value) for name, value in (defaults or {}).items()}
        # `pyflyte run task.py NAME --help` shows it.
        self.__doc__ = f"The solution {bundle.name!r}. Its outputs: {_listed(bundle.outputs)}."
        resources = _flyte_resources(self.options.resources or Resources())
        validate = self.options.validation if bundle.schemas else "off"
        super().__init__(
            name=bundle.name,
            image=bundle.image,
            command=list(command_line(bundle.inputs, bundle.outputs, validate=validate)),
            inputs=OrderedDict((name, self._input(name, kind)) for name, kind in bundle.inputs.items()),
            outputs={name: PYTHON_TYPES[kind] for name, kind in bundle.outputs.items()},
            input_data_dir=INPUTS,
            output_data_dir=OUTPUTS,
            requests=resources,
            limits=resources,
            secret_requests=[_flyte_secret(secret) for secret in secrets],
            environment={**self.options.env_vars, FAILURE_VARIABLE: str(FAILURE_STATUS)},
            metadata=_metadata(self.options),
        )

    def get_container(self, _: SerializationSettings) -> None:
        """None: a task is registered with either a container or a pod, and this one has a pod."""

    def get_k8s_pod(self, settings: SerializationSettings) -> K8sPod:
        """The pod that the task is registered with."""
        return K8sPod(
            metadata=K8sObjectMetadata(labels=pod_labels(self.options.pod)),
            pod_spec=render_pod_spec(self._get_container(settings), self.options.pod),
            data_config=self._get_data_loading_config(),
            primary_container_name=CONTAINER_NAME,
        )

    def get_config(self, _: SerializationSettings) -> dict[str, str]:
        """The name of our container in the pod; the others are co-pilot's."""
        return {"primary_container_name": CONTAINER_NAME}

    @property
    def digest(self) -> str:
        """The digest of everything besides its inputs that its outputs depend on."""
        bundle, options = self.bundle, self.options
        return digest(
            *(bundle.code, bundle.lock.digest, bundle.inputs, bundle.outputs, options.env_vars),
            *((options.validation, schemas_text(bundle.schemas)) if bundle.schemas else ()),
        )

    @classmethod
    def from_folder(
        cls,
        folder: str | Path,
        *,
        name: str,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any],
        image: str,
        python: str | None = None,
        **task: Any,
    ) -> Self:
        """The task of a solution folder, called by its `task.py`; reads `solution.py` and `requirements.txt` there.

        `inputs` and `outputs` map names to types or names of types, `python` is the version that the requirements were
        locked for, and `task` are the other arguments of the class.

        Raises:
            OSError: a file of the folder is missing.
            InterfaceError: a name or a type is not possible.
        """
        bundle = SolutionBundle(
            name=name,
            code=(Path(folder) / "solution.py").read_text(),
            lock=read_lock((Path(folder) / "requirements.txt").read_text(), python=python),
            inputs=input_types(inputs),
            outputs=output_types(outputs),
            image=image,
            schemas=_read_schemas(Path(folder)),
        )
        return cls(bundle, **task)

    @readable_errors
    def local_execute(self, ctx: FlyteContext, **kwargs: Any) -> Any:
        """As flytekit does, without its local cache, which identifies a file by its path instead of its content."""
        literals = translate_inputs_to_literals(
            ctx,
            incoming_values={**self.defaults, **kwargs},
            flyte_interface_types=self.interface.inputs,
            native_types=self.get_input_types(),
        )
        outputs = self.sandbox_execute(ctx, LiteralMap(literals=literals)).literals
        if not outputs:
            return VoidPromise(self.name)
        return create_task_output([Promise(name, outputs[name]) for name in self.bundle.outputs], self.python_interface)

    @readable_errors
    def execute(self, **kwargs: Any) -> Any:
        """Run the solution in the sandbox. Returns a single output, or several as a tuple in declared order."""
        outputs = execute_remembered(self.bundle, kwargs, self.options, self.cache)
        values = tuple(_native(kind, outputs[name]) for name, kind in self.bundle.outputs.items())
        return values[0] if len(values) == 1 else values

    def _input(self, name: str, kind: TypeName) -> Any:
        python_type = PYTHON_TYPES[kind]
        return (python_type, self.defaults[name]) if name in self.defaults else python_type


def _native(kind: TypeName, value: Any) -> Any:
    """A path as a FlyteFile or FlyteDirectory; any other value unchanged."""
    if kind in {"file", "directory"} and isinstance(value, str | Path):
        return PYTHON_TYPES[kind](str(value))
    return value


def _read_schemas(folder: Path) -> dict[str, TableSchema]:
    """The schemas of a solution folder; none where it has no file of them."""
    path = folder / SCHEMAS_FILE
    schemas = json.loads(path.read_text()) if path.exists() else {}
    return {name: TableSchema.from_validator(schema) for name, schema in schemas.items()}


def _listed(declared: Mapping[str, TypeName]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in declared.items()) or "none"


def _metadata(options: ExecutionOptions) -> TaskMetadata:
    """Never cached: two contents of one address would be one."""
    timeout = None if options.timeout_s is None else dt.timedelta(seconds=options.timeout_s)
    return TaskMetadata(retries=options.retries, timeout=timeout)


def _flyte_resources(resources: Resources) -> FlyteResources:
    """With a default limit for disk space: a pod without one may fill its node's disk."""
    return FlyteResources(**{"ephemeral_storage": _STORAGE, **resources.model_dump(exclude_none=True)})


def _flyte_secret(secret: SecretReference) -> Secret:
    return Secret(key=secret.key, group=secret.group, mount_requirement=Secret.MountType.ENV_VAR)


# --- the pod: no privileges, a read-only root, no token of the cluster ---


def pod_labels(settings: PodSettings) -> dict[str, str]:
    """The labels of a solution's pod: the user's, and the one that a NetworkPolicy selects."""
    key, value = SOLUTION_LABEL
    return {**settings.labels, key: value}


def render_pod_spec(container: Container, settings: PodSettings) -> dict[str, Any]:
    """The pod's `spec`. A cluster adds co-pilot's containers and the volumes of /var/inputs and /var/outputs."""
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
        **render_container(container, CONTAINER_NAME),
        "securityContext": _SECURITY,
        "volumeMounts": [{"name": _TMP, "mountPath": "/tmp"}],  # noqa: S108 - in the pod
    }
