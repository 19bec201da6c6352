"""Describe a job, give sample data, get back tested code that runs as a reusable Flyte task."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flyteplugins_codegen.agent import AutoCoderAgent
    from flyteplugins_codegen.models.candidate import CodePlan, CodeSolution
    from flyteplugins_codegen.models.settings import ImageConfig
    from flyteplugins_codegen.result import CodeGenEvalResult

__all__ = ["AutoCoderAgent", "CodeGenEvalResult", "CodePlan", "CodeSolution", "ImageConfig"]

# Nothing heavy is imported until a name is used (PEP 562).
_ROOMS = {
    "AutoCoderAgent": "agent",
    "CodeGenEvalResult": "result",
    "CodePlan": "models.candidate",
    "CodeSolution": "models.candidate",
    "ImageConfig": "models.settings",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
