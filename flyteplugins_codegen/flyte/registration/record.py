"""What a registered task's template holds beside how to run it: where the solution comes from, and all of its source.

Kept in the template itself (`custom`), and not as files in the object store: it is as immutable as the task, never
older or newer than it, needs no right but to read the task, and no lifecycle rule of a bucket deletes it. Code and
locked requirements take tens of kilobytes. The control plane is told nothing of samples and conversations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flyteidl.admin import description_entity_pb2
from flyteidl.admin.task_pb2 import TaskSpec

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.flyte.registration.values import Provenance
from flyteplugins_codegen.models.base import Value

_KEY = "flyteplugins_codegen"
# A control plane takes messages of 4 MiB at its default settings, and its answer to a list holds many tasks.
_MAX_BYTES = 2**20
_MAX_SUMMARY_CHARS = 200


class SolutionRecord(Value):
    """The record of one task. `digest` names solution, environment and interface; `source` is the result as JSON."""

    digest: str
    provenance: Provenance
    source: str


def write_record(spec: TaskSpec, record: SolutionRecord) -> TaskSpec:
    """The task's spec with the record, and with the prompt as the description that the console shows.

    Raises RequestError for a record that is too large for a template.
    """
    size_bytes = len(record.model_dump_json().encode())
    if size_bytes > _MAX_BYTES:
        raise RequestError(
            f"the source of the solution takes {size_bytes:,} bytes, and a registered task holds at most "
            f"{_MAX_BYTES:,}; shorten the prompt, or what the solution has as constants"
        )
    recorded = TaskSpec()
    recorded.CopyFrom(spec)
    recorded.template.custom.update({_KEY: record.model_dump(mode="json")})
    recorded.description.CopyFrom(_description(record.provenance.prompt))
    return recorded


def read_record(custom: Mapping[str, Any] | None) -> SolutionRecord | None:
    """The record of a registered task; None for a task that is no solution of ours."""
    found = (custom or {}).get(_KEY)
    try:
        return None if found is None else SolutionRecord.model_validate(found)
    except ValueError:
        # Of a later version of this package, or of somebody else who uses the word.
        return None


def _description(prompt: str) -> description_entity_pb2.DescriptionEntity:
    line = " ".join(prompt.split())
    short = line if len(line) <= _MAX_SUMMARY_CHARS else f"{line[: _MAX_SUMMARY_CHARS - 1]}…"
    return description_entity_pb2.DescriptionEntity(
        short_description=short, long_description=description_entity_pb2.Description(value=prompt)
    )
