"""What is registered: immutable once it is, listed by filters, in pages."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

from flyte_admin.refusals import already_exists, invalid, not_found

_FILTER = re.compile(r"(eq|ne|contains|value_in|gt|gte|lt|lte)\(([\w.]+),(.*)\)\Z")


class Registry:
    """The entities of one kind by id, oldest first; `kind` is the word that messages have for it."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._entities: dict[str, Any] = {}
        self._digests: dict[str, bytes] = {}

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._entities.values()))

    def add(self, identifier: Any, spec: Any, make: Callable[[], Any]) -> None:
        """Keep what `make` makes under this id. Refuses an id that is taken, by the same or by something else."""
        key, digest = key_of(identifier), spec.SerializeToString(deterministic=True)
        with self._lock:
            if self._digests.get(key) == digest:
                raise already_exists(f"{self._kind} with identical structure already exists")
            if key in self._digests:
                raise invalid(
                    f"{identifier.name} {self._kind} with different structure already exists. "
                    f"(Please register a new version of the {self._kind})"
                )
        entity = make()
        with self._lock:
            self._digests[key] = digest
            self._entities[key] = entity

    def get(self, identifier: Any) -> Any:
        """The entity of this id."""
        key = key_of(identifier)
        if key not in self._entities:
            raise not_found(f"{self._kind} with identifier {key}")
        return self._entities[key]

    def find(self, request: Any) -> tuple[list[Any], str]:
        """One page of a list request, and the token of the next one."""
        found = [entity for entity in self if _is_within(entity.id, request.id) and _passes(entity, request.filters)]
        # Admin's own order is by creation, the newest first.
        if not request.HasField("sort_by") or request.sort_by.direction == 0:
            found.reverse()
        return page(found, request)


def page(found: list[Any], request: Any) -> tuple[list[Any], str]:
    """One page of what was found, and the token of the next one."""
    if not request.limit:
        raise invalid("invalid value for limit")
    start = int(request.token or 0)
    end = start + request.limit
    return found[start:end], str(end) if end < len(found) else ""


def key_of(identifier: Any) -> str:
    """An id as text."""
    parts = (identifier.project, identifier.domain, identifier.name, getattr(identifier, "version", ""))
    return ":".join(parts)


def _is_within(identifier: Any, named: Any) -> bool:
    wanted = ((part, getattr(named, part)) for part in ("project", "domain", "name"))
    return all(not value or getattr(identifier, part) == value for part, value in wanted)


def _passes(entity: Any, filters: str) -> bool:
    return all(_holds(entity, text) for text in filters.split("+") if text)


def _holds(entity: Any, text: str) -> bool:
    match = _FILTER.match(text)
    if not match:
        raise invalid(f"unrecognized filter function: {text}")
    function, field, value = match.groups()
    actual = _field(entity, field.rpartition(".")[2])
    if function == "eq":
        return actual == value
    if function == "ne":
        return actual != value
    if function == "contains":
        return value in actual
    if function == "value_in":
        return actual in value.split(";")
    raise invalid(f"unsupported filter expression: {text}")


def _field(entity: Any, field: str) -> str:
    if field in {"project", "domain", "name", "version"}:
        return str(getattr(entity.id, field))
    if field == "type":
        return str(entity.closure.compiled_task.template.type)
    if field == "state":
        return str(entity.closure.state)
    raise invalid(f"unknown field in a filter: {field}")
