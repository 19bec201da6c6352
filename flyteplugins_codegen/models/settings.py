"""The settings of a run."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import ConfigDict, Field, JsonValue, ValidationInfo, field_validator

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.budget import DEFAULT_BUDGET, Budget, Price
from flyteplugins_codegen.models.pods import PodSettings, StageName, StageSettings
from flyteplugins_codegen.models.privacy import Privacy
from flyteplugins_codegen.models.profile import PrivacyMode
from flyteplugins_codegen.models.resources import Resources, from_flytekit
from flyteplugins_codegen.models.rules import ValidateMode

ApiName = Literal["chat", "responses"]
Backend = Literal["calls", "agent"]
CacheMode = Literal["auto", "override", "disable"]
SandboxKind = Literal["auto", "bubblewrap", "container", "none"]

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SANDBOX_VARIABLES = frozenset(
    {"HOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "PYTHONHASHSEED", "PYTHONHOME", "PYTHONPATH"}
)


class SecretReference(Value):
    """A secret by name, as in `flytekit.Secret`, which is accepted too. Never its value."""

    key: str
    group: str | None = None


class ImageConfig(Value):
    """How the container image of a solution is named, built and pushed.

    Without a `registry` it stays where it is built, and `register` builds nothing.
    `builder` is `podman`, `buildah`, `docker`, `buildkit` (at `BUILDKIT_HOST`), the address of a buildkitd such as
    `tcp://buildkitd:1234`, a builder registered with flytekit, `auto` for the first that is there, or `none` where
    images are built by others. `registry_secret` is the NAME of an environment variable or Flyte secret that holds
    `user:password` or a Docker `config.json`, or the path of such a file.
    With `build_while_generating` each candidate's environment is built as an image before it is run, so that a wrong
    Debian package is repaired as a wrong distribution is; else `register` and `build_image` build.
    """

    registry: str | None = None
    base_image: str | None = None
    python_version: str | None = None
    platform: str | None = None
    builder: str = "auto"
    registry_secret: str | None = None
    build_while_generating: bool = False


class Settings(Value):
    """Everything about a run but the job itself; `AutoCoderAgent` is these settings with `generate()`."""

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
        return [item if isinstance(item, dict | SecretReference) else _reference(item) for item in value]


def _reference(secret: Any) -> dict[str, Any]:
    return {"key": getattr(secret, "key", None), "group": getattr(secret, "group", None)}
