"""Describe a job, give sample data, get back tested code that runs as a reusable Flyte task."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flyteplugins_codegen.agent import AutoCoderAgent
    from flyteplugins_codegen.models.candidate import CodePlan, CodeSolution
    from flyteplugins_codegen.models.settings import ImageConfig
    from flyteplugins_codegen.result import CodeGenEvalResult
    from flyteplugins_codegen.source.blocks import extract_blocks, extract_code
    from flyteplugins_codegen.source.code_block import CodeBlock
    from flyteplugins_codegen.source.content import content_str
    from flyteplugins_codegen.source.infer_lang import infer_lang

__all__ = [
    "AutoCoderAgent",
    "CodeBlock",
    "CodeGenEvalResult",
    "CodePlan",
    "CodeSolution",
    "ImageConfig",
    "content_str",
    "extract_blocks",
    "extract_code",
    "infer_lang",
]

# Nothing heavy is imported until a name is used (PEP 562).
_ROOMS = {
    "AutoCoderAgent": "agent",
    "CodeBlock": "source.code_block",
    "CodeGenEvalResult": "result",
    "CodePlan": "models.candidate",
    "CodeSolution": "models.candidate",
    "ImageConfig": "models.settings",
    "content_str": "source.content",
    "extract_blocks": "source.blocks",
    "extract_code": "source.blocks",
    "infer_lang": "source.infer_lang",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
