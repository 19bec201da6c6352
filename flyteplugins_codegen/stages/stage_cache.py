"""Finished stages by their content: what was done once is not done again, after a crash too."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.store import ContentStore, digest, remembered

ModelT = TypeVar("ModelT", bound=BaseModel)

_PACKAGE = Path(__file__).parents[1]


@functools.cache
def code_version(*rooms: str) -> str:
    """A digest of the source of these rooms, the values and the stages: what other code made is not reused.

    Data that lies beside the code counts as code.
    """
    return digest([_room_version(room) for room in ("models", "stages", *rooms)])[:32]


@functools.cache
def _room_version(room: str) -> str:
    """Read once for all the stages whose versions it is a part of, of which `import` works out a dozen."""
    folder = _PACKAGE / room
    files = sorted(path for kind in ("*.py", "*.json") for path in folder.rglob(kind))
    return digest(*(part for path in files for part in (str(path.relative_to(folder)), path.read_bytes())))


@dataclass(frozen=True)
class Shelf:
    """Where a stage keeps its values, and the rooms whose code makes them."""

    kind: str
    rooms: tuple[str, ...]


def remember(settings: Settings, shelf: Shelf, key: Any, model: type[ModelT], compute: Callable[[], ModelT]) -> ModelT:
    """The value of a stage, computed at most once per content; the agent's `cache` setting decides about reuse."""
    if settings.cache == "disable":
        return compute()
    whole_key = digest(code_version(*shelf.rooms), sys.version_info[:2], key)
    return remembered(ContentStore(), shelf.kind, whole_key, model, compute, reread=settings.cache == "auto")
