"""The settings of a run, and of the resources, pods, privacy and images that it uses."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, JsonValue, ValidationInfo, field_validator

from flyteplugins_codegen.models.base import Extended, Value
from flyteplugins_codegen.models.data import PrivacyMode, ValidateMode
from flyteplugins_codegen.models.spending import DEFAULT_BUDGET, Budget, Price

ApiName = Literal["chat", "responses"]
Backend = Literal["calls", "agent"]
CacheMode = Literal["auto", "override", "disable"]
SandboxKind = Literal["auto", "bubblewrap", "container", "none"]
StageName = Literal[
    "extract_context",
    "infer_schemas",
    "write_solution",
    "write_tests",
    "build_environment",
    "run_tests",
    "repair",
    "draft_anew",
    "work_as_agent",
    "measure_strength",
    "strengthen_tests",
    "finish",
]

SOLUTION_LABEL = ("flyteplugins-codegen", "solution")
"""The label of every solution's pod, which the NetworkPolicy in docs/deploy selects."""

_QUANTITY = re.compile(r"\A([0-9]+(?:\.[0-9]+)?)(|k|M|G|T|Ki|Mi|Gi|Ti)\Z")
_CPU = re.compile(r"\A[0-9]+(?:\.[0-9]{1,3}|m)?\Z")
_BYTES_PER_UNIT = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}
# The syntax of Kubernetes object names, label keys and label values.
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_DNS_NAME = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*"
_LABEL_KEY = re.compile(rf"(?:{_DNS_NAME}/)?{_PART}\Z")
_LABEL_VALUE = re.compile(rf"(?:{_PART})?\Z")
_OBJECT_NAME = re.compile(rf"{_DNS_NAME}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SANDBOX_VARIABLES = frozenset(
    {"HOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "PYTHONHASHSEED", "PYTHONHOME", "PYTHONPATH"}
)


def check_quantity(name: str, value: str) -> str:
    """Return `value` if it is a Kubernetes quantity of bytes. Raises ValueError that names the setting otherwise."""
    if not _QUANTITY.match(value):
        raise ValueError(f"{name}={value!r} is no quantity of memory; write it like '512Mi' or '2Gi'")
    return value


def check_object_name(setting: str, kind: str, name: str) -> str:
    """Return `name` if a cluster's object can be called so. Raises ValueError that names setting and kind otherwise."""
    if not _OBJECT_NAME.match(name):
        raise ValueError(f"{setting}={name!r} is no name of a {kind}; write one in small letters, such as 'gvisor'")
    return name


class Resources(Value):
    """What a pod, or one run of a solution on this machine, may use, in Kubernetes quantities.

    Settings accept `flytekit.Resources` too.
    """

    cpu: str = "1"
    mem: str = "1Gi"
    gpu: str | None = None
    ephemeral_storage: str | None = None

    @field_validator("cpu", "mem", "gpu", "ephemeral_storage", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value

    @field_validator("cpu")
    @classmethod
    def _check_cpu(cls, value: str) -> str:
        if not _CPU.match(value) or not value.strip("0.m"):
            raise ValueError(f"cpu={value!r} is no quantity of processors; write it like '2' or '500m'")
        return value

    @field_validator("gpu")
    @classmethod
    def _check_gpu(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch("[0-9]+", value):
            raise ValueError(f"gpu={value!r} is no number of GPUs; write it like '1'")
        return value

    @field_validator("mem")
    @classmethod
    def _check_memory(cls, value: str) -> str:
        return check_quantity("mem", value)

    @field_validator("ephemeral_storage")
    @classmethod
    def _check_storage(cls, value: str | None) -> str | None:
        return value if value is None else check_quantity("ephemeral_storage", value)

    @property
    def memory_mib(self) -> int:
        """`mem` in MiB."""
        match = _QUANTITY.match(self.mem)
        assert match is not None  # noqa: S101 - validated
        return max(1, int(float(match[1]) * _BYTES_PER_UNIT[match[2]]) // 2**20)


def from_flytekit(value: Any) -> Any:
    """`flytekit.Resources` as a mapping; a mapping, `Resources` and None unchanged. Raises ValueError for others."""
    if value is None or isinstance(value, dict | Resources):
        return value
    names = ("cpu", "mem", "gpu", "ephemeral_storage")
    if not all(hasattr(value, name) for name in names):
        raise ValueError(f"{value!r} is no Resources; pass flytekit.Resources(cpu='1', mem='2Gi'), or a mapping")
    return {name: getattr(value, name) for name in names if getattr(value, name) is not None}


class Privacy(Value):
    """How much of a sample's values a model may see.

    `masked`: personal values are replaced by fakes; `rows`: values as they are; `profile`: statistics only. `columns`
    are those that the user declared private, as `column` or `sample.column`. With `profile`, values that occur in fewer
    than `min_rows` rows are not sent. What looks like a key or a password is replaced in every mode.
    """

    mode: PrivacyMode = "masked"
    columns: tuple[str, ...] = ()
    min_rows: int = Field(default=5, ge=2)

    def names(self, sample: str, column: str) -> bool:
        """Whether `columns` contains this column of this sample."""
        return any(name.casefold() in {column.casefold(), f"{sample}.{column}".casefold()} for name in self.columns)


class PodSettings(Value):
    """The pod that a solution runs in. All such pods are unprivileged and have no token and a read-only root.

    `runtime_class` is one of the cluster's RuntimeClasses, such as gVisor's or Kata's. `labels` are added to
    `SOLUTION_LABEL`. `tmp_size` limits /tmp, the only writable folder besides /var/outputs.
    """

    runtime_class: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    tmp_size: str = "512Mi"

    @field_validator("runtime_class")
    @classmethod
    def _check_runtime_class(cls, value: str | None) -> str | None:
        return value if value is None else check_object_name("runtime_class", "RuntimeClass", value)

    @field_validator("labels")
    @classmethod
    def _check_labels(cls, value: dict[str, str]) -> dict[str, str]:
        for key, text in value.items():
            if not (_LABEL_KEY.match(key) and _LABEL_VALUE.match(text)):
                raise ValueError(f"{key!r}: {text!r} is no label; use letters, digits, '-', '_' and '.', at most 63")
            if key == SOLUTION_LABEL[0]:
                raise ValueError(f"the label {key} is set by the task itself; choose another name")
        return value

    @field_validator("tmp_size")
    @classmethod
    def _check_size(cls, value: str) -> str:
        return check_quantity("tmp_size", value)


class StageSettings(Value):
    """The pod of one stage on a cluster. None keeps the stage's default.

    `resources` are requests and limits, `timeout_s` is wall seconds for one try, `image` another runner image.
    `cache=False` repeats the stage's work every time. `pod_template` is the name of one of the cluster's PodTemplates,
    which replaces the one that stages which run candidates have by themselves; "none" leaves the pod as Flyte makes it.
    Local runs ignore these settings: their stages run in the calling process.
    """

    resources: Resources | None = None
    retries: int | None = Field(default=None, ge=0)
    timeout_s: float | None = Field(default=None, gt=0)
    image: str | None = None
    cache: bool = True
    pod_template: str | None = None

    @field_validator("pod_template")
    @classmethod
    def _check_pod_template(cls, value: str | None) -> str | None:
        return value if value is None else check_object_name("pod_template", "PodTemplate", value)

    @field_validator("resources", mode="before")
    @classmethod
    def _accept_flytekit_resources(cls, value: Any) -> Any:
        return from_flytekit(value)


class SecretReference(Value):
    """A secret by name, never its value. Settings accept `flytekit.Secret` too."""

    key: str
    group: str | None = None


class ImageConfig(Value):
    """How the container image of a solution is named, built and pushed.

    Without a `registry` the image is not pushed, and `register` builds nothing.
    `builder` is `podman`, `buildah`, `docker`, `buildkit` (at `BUILDKIT_HOST`), the address of a buildkitd such as
    `tcp://buildkitd:1234`, a builder registered with flytekit, `auto` for the first one available, or `none` if images
    are built elsewhere. `registry_secret` is the NAME of an environment variable or Flyte secret that holds
    `user:password` or a Docker `config.json`, or the path of such a file.
    With `build_while_generating`, each candidate's environment is built as an image before the candidate runs, so that
    a wrong Debian package is repaired as a wrong distribution is. Otherwise `register` and `build_image` build it.
    """

    registry: str | None = None
    base_image: str | None = None
    python_version: str | None = None
    platform: str | None = None
    builder: str = "auto"
    registry_secret: str | None = None
    build_while_generating: bool = False


class BuiltImage(Value):
    """A container image that was built. Its name contains a digest of its content.

    `digest` is that of the manifest in the registry, None for an image that was not pushed. `was_there` means that
    nothing had to be built, or pushed if that was asked for; `log` is empty then. `log` is the last 256 KiB of the
    builder's output.
    """

    name: str
    digest: str | None = None
    log: str = ""
    was_there: bool = False
    seconds: float = 0.0


class Settings(Extended):
    """All settings of a run, but not its job. `AutoCoderAgent` has these fields and `generate()`."""

    model_config = ConfigDict(protected_namespaces=())

    model: str = Field(description="`openai/NAME`, `anthropic/NAME`, a bare `gpt-*` or `claude-*`, or `replay:FILE`")
    name: str = Field(default="auto-coder", description="Names the task, the image and the log lines")
    system_prompt: str | None = Field(default=None, description="Replaces the opening of the system prompt")
    api_key: str | None = Field(default=None, description="NAME of the environment variable or secret with the key")
    api_base: str | None = Field(default=None, description="Address of an OpenAI- or Anthropic-compatible server")
    api: ApiName = Field(default="chat", description="What is tried first with OpenAI's protocol")
    stream: bool = Field(default=False, description="Whether replies are streamed, for gateways that cut quiet calls")
    max_concurrent_calls: int = Field(default=16, ge=1, description="Calls of this process at one server at once")
    model_params: dict[str, JsonValue] = Field(default_factory=dict, description="Passed on to the provider's call")
    base_packages: tuple[str, ...] = Field(default=(), description="Distributions every candidate may import")
    resources: Resources | None = Field(default=None, description="What one run of a solution may use")
    image_config: ImageConfig | None = Field(default=None, description="How a solution's image is named and built")
    max_iterations: int = Field(
        default=10, ge=1, le=50, description="How many candidates are tried at most, those made at once counted each"
    )
    candidates: int | None = Field(
        default=None,
        ge=1,
        le=10,
        description="Solutions asked for at once, each an iteration; None: one, and three after it and two repairs",
    )
    backend: Backend = Field(
        default="calls", description="calls: one question for each step; agent: the model works by tools, in turns"
    )
    max_turns: int = Field(default=20, ge=1, le=200, description="Turns of an agent at most, over all its candidates")
    budget: Budget = Field(default=DEFAULT_BUDGET, description="What the model calls of one run may spend")
    prices: dict[str, Price] = Field(default_factory=dict, description="Your own prices, by the model's name")
    max_sample_rows: int = Field(default=100, ge=0, description="How many rows of a sample the model sees at most")
    privacy: PrivacyMode = Field(default="masked", description="What the model sees of a sample: masked, rows, profile")
    private_columns: tuple[str, ...] = Field(
        default=(), description="Columns to mask, each `column` or `sample.column`"
    )
    private_rows: int = Field(default=5, ge=2, description="By privacy='profile', rows that a value sent occurs in")
    validation: ValidateMode = Field(default="strict", description="Data against its schema: strict, warn or off")
    skip_tests: bool = Field(default=False, description="Whether no tests are generated; yours still run")
    min_test_strength: float = Field(
        default=0.6, ge=0, le=1, description="Share of a solution's mutants below which stronger tests are asked for"
    )
    reference: bool = Field(
        default=True, description="Whether the author of the tests also writes a computation to compare outputs with"
    )
    sandbox_retries: int = Field(default=0, ge=0, description="Retries of a sandbox that failed itself, not of a test")
    timeout_s: float | None = Field(default=None, gt=0, description="Wall seconds that one run of a solution may take")
    env_vars: dict[str, str] = Field(default_factory=dict, description="Environment of the solution")
    secrets: tuple[SecretReference, ...] = Field(default=(), description="Secrets of the solution, on a cluster")
    pod: PodSettings = Field(default=PodSettings(), description="The pod of the solution, on a cluster")
    stage_settings: dict[StageName, StageSettings] = Field(
        default_factory=dict, description="What each stage's pod has, on a cluster"
    )
    cache: CacheMode = Field(
        default="auto", description="auto reuses finished work, override does it anew, disable keeps none"
    )
    sandbox: SandboxKind = Field(default="auto", description="auto, bubblewrap, container, or none for trusted code")
    record: str | None = Field(default=None, description="File that every reply is recorded to, for `replay:FILE`")

    later_fields: ClassVar[frozenset[str]] = frozenset({"reference"})

    @property
    def privacy_rules(self) -> Privacy:
        """The three settings about privacy as one value."""
        return Privacy(mode=self.privacy, columns=self.private_columns, min_rows=self.private_rows)

    @field_validator("resources", mode="before")
    @classmethod
    def _accept_flytekit_resources(cls, value: Any) -> Any:
        return from_flytekit(value)

    @field_validator("backend")
    @classmethod
    def _check_backend(cls, value: Backend, info: ValidationInfo) -> Backend:
        candidates = info.data.get("candidates")
        if value == "agent" and candidates is not None:
            raise ValueError(
                f"an agent works on one solution, and candidates={candidates} asks for several at once; leave one out"
            )
        return value

    @field_validator("env_vars")
    @classmethod
    def _check_variables(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if not _VARIABLE.match(name) or "\0" in text:
                raise ValueError(f"{name!r} is no environment variable; use letters, digits and underscores")
            if name in _SANDBOX_VARIABLES:
                raise ValueError(f"{name} is set by the sandbox itself; choose another name")
        return value

    @field_validator("secrets", mode="before")
    @classmethod
    def _accept_flytekit_secrets(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [
            item
            if isinstance(item, dict | SecretReference)
            else {"key": getattr(item, "key", None), "group": getattr(item, "group", None)}
            for item in value
        ]
