"""The fields of a record, each asked for by name and type."""

from __future__ import annotations

from typing import Any

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.json_lines import Record


def text_of(record: Record, name: str, default: str | None = None) -> str:
    """The text under this name. Raises RequestError where it is missing without a default, or is no text."""
    value = record.fields.get(name, default)
    if not isinstance(value, str):
        raise _unfit(record, name, "a text")
    return value


def texts_of(record: Record, name: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """The list of texts under this name. Raises RequestError as `text_of` does."""
    values = record.fields.get(name, default)
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise _unfit(record, name, "a list of texts")
    return tuple(values)


def number_of(record: Record, name: str, default: float) -> float:
    """The number under this name. Raises RequestError for one that is below 0, or anything else."""
    value = record.fields.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise _unfit(record, name, "a number, 0 or more")
    return float(value)


def calls_of(record: Record, name: str) -> list[list[Any]]:
    """The arguments of many calls, a list for each call. Raises RequestError for anything else."""
    calls = record.fields.get(name)
    if not isinstance(calls, list) or not all(isinstance(call, list) for call in calls):
        raise _unfit(record, name, "a list with a list of arguments for each call")
    return calls


def task_id_of(record: Record, prefix: str = "") -> str:
    """The problem's id as text; a number gets the prefix. Raises RequestError where it has none."""
    value = record.fields.get("task_id")
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{prefix}{value}"
    if isinstance(value, str) and value.strip():
        return value
    raise _unfit(record, "task_id", "a text or a whole number")


def _unfit(record: Record, name: str, wanted: str) -> RequestError:
    if name not in record.fields:
        return RequestError(f"{record.place}: there is no field {name!r}; it is to hold {wanted}")
    return RequestError(f"{record.place}: {name!r} is {record.fields[name]!r:.80}; it is to hold {wanted}")
