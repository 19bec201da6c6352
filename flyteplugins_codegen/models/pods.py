"""How the pods of solutions and of stages stand in a cluster."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field, field_validator

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.resources import Resources, check_quantity, from_flytekit

SOLUTION_LABEL = ("flyteplugins-codegen", "solution")
"""The label that every solution's pod carries, by which the NetworkPolicy in docs/deploy chooses it."""

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

# Kubernetes: names of objects, labels and their values.
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_DNS_NAME = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*"
_LABEL_KEY = re.compile(rf"(?:{_DNS_NAME}/)?{_PART}\Z")
_LABEL_VALUE = re.compile(rf"(?:{_PART})?\Z")
_OBJECT_NAME = re.compile(rf"{_DNS_NAME}\Z")


class PodSettings(Value):
    """The pod that a solution runs in, beside what every such pod has: no privilege, no token, a read-only root.

    `runtime_class` names one of the cluster's RuntimeClasses, such as gVisor's or Kata's. `labels` come beside the one
    by which docs/deploy chooses the pod. `tmp_size` bounds /tmp, the one writable place beside /var/outputs.
    """

    runtime_class: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    tmp_size: str = "512Mi"

    @field_validator("runtime_class")
    @classmethod
    def _check_runtime_class(cls, value: str | None) -> str | None:
        if value is not None and not _OBJECT_NAME.match(value):
            raise ValueError(f"runtime_class={value!r} is no name of a RuntimeClass; write one such as 'gvisor'")
        return value

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
    """What one stage's pod has on a cluster; what is not given stays as the stage has it by itself.

    `resources` are requests and limits alike, `timeout_s` wall seconds of one try, `image` another runner image.
    `cache=False` does the stage's work anew each time. On this machine, stages run in the process that calls them.
    """

    resources: Resources | None = None
    retries: int | None = Field(default=None, ge=0)
    timeout_s: float | None = Field(default=None, gt=0)
    image: str | None = None
    cache: bool = True

    @field_validator("resources", mode="before")
    @classmethod
    def _accept_flytekit_resources(cls, value: Any) -> Any:
        return from_flytekit(value)
