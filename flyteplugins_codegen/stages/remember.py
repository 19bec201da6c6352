"""Finished stages by their content: what was done once is not done again, after a crash too."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel

from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.store import ContentStore, digest, remembered

ModelT = TypeVar("ModelT", bound=BaseModel)

# Raised whenever a stage's own code changes what it makes of the same input.
STAGES_VERSION = 1


def remember(settings: Settings, kind: str, key: Any, model: type[ModelT], compute: Callable[[], ModelT]) -> ModelT:
    """The value of a stage, computed at most once per content; the agent's `cache` setting decides about reuse."""
    if settings.cache == "disable":
        return compute()
    whole_key = digest(STAGES_VERSION, sys.version_info[:2], key)
    return remembered(ContentStore(), kind, whole_key, model, compute, reread=settings.cache == "auto")
