"""Running untrusted code in isolation: one contract, and the backends bubblewrap, container and none."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flyteplugins_codegen.sandbox.contract import ALL, APP, INPUTS, OUTPUTS, Execution, Job, Limits, Output, Sandbox
    from flyteplugins_codegen.sandbox.opening import open_sandbox

__all__ = ["ALL", "APP", "INPUTS", "OUTPUTS", "Execution", "Job", "Limits", "Output", "Sandbox", "open_sandbox"]

_ELSEWHERE = {"open_sandbox": "opening"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ELSEWHERE.get(name, 'contract')}"), name)
