"""What a pod, or a run of a solution on this machine, may use."""

from __future__ import annotations

import re
from typing import Any

from pydantic import field_validator

from flyteplugins_codegen.models.base import Value

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


def check_quantity(name: str, value: str) -> str:
    """A Kubernetes quantity of bytes as it is. Raises ValueError, naming the setting, for anything else."""
    if not _QUANTITY.match(value):
        raise ValueError(f"{name}={value!r} is no quantity of memory; write it like '512Mi' or '2Gi'")
    return value


class Resources(Value):
    """What one run may use. Kubernetes quantities, as in `flytekit.Resources`, which is accepted too."""

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
    """`flytekit.Resources` as a mapping; a mapping, our own and None as they are. Raises ValueError for others."""
    if value is None or isinstance(value, dict | Resources):
        return value
    names = ("cpu", "mem", "gpu", "ephemeral_storage")
    if not all(hasattr(value, name) for name in names):
        raise ValueError(f"{value!r} is no Resources; pass flytekit.Resources(cpu='1', mem='2Gi'), or a mapping")
    return {name: getattr(value, name) for name in names if getattr(value, name) is not None}
