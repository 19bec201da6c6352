"""Results of finished stages, stored by content: a stage that finished once is not run again, even after a crash."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.store import ContentStore, digest, remembered

ModelT = TypeVar("ModelT", bound=BaseModel)

_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class StageCache(Generic[ModelT]):
    """The cache of one stage. `rooms` are the packages whose code computes the results."""

    kind: str
    model: type[ModelT]
    rooms: tuple[str, ...]

    def get_or_compute(self, settings: Settings, key: Any, compute: Callable[[], ModelT]) -> ModelT:
        """Return the stored result for `key`, or compute and store it. The agent's `cache` setting decides on reuse."""
        if settings.cache == "disable":
            return compute()
        whole_key = digest(code_version(*self.rooms), sys.version_info[:2], key)
        return remembered(ContentStore(), self.kind, whole_key, self.model, compute, reread=settings.cache == "auto")


@functools.cache
def code_version(*rooms: str) -> str:
    """A digest of the source of these packages, of `models`, `stages` and `text`: results of other code are not reused.

    Data files beside the code count as code.
    """
    return digest([_room_version(room) for room in ("models", "stages", "text", *rooms)])[:32]


@functools.cache
def _room_version(room: str) -> str:
    # Cached for itself: importing `flyte` asks for a dozen versions that share most of their packages.
    folder = _PACKAGE / room
    files = sorted(path for kind in ("*.py", "*.json") for path in folder.rglob(kind)) or [folder.with_suffix(".py")]
    return digest(*(part for path in files for part in (str(path.relative_to(_PACKAGE)), path.read_bytes())))
