"""The job: what the caller asked for, with every sample told by its content."""

from __future__ import annotations

from pydantic import Field, JsonValue

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.interface import TypeName
from flyteplugins_codegen.models.rules import TableSchema


class Sample(Value):
    """One sample file. `digest` is the SHA-256 of its content: cached stages are keyed by it, never by a path."""

    name: str
    file_name: str
    size_bytes: int
    digest: str


class Example(Value):
    """A case that the solution must satisfy. Inputs left out take the samples; outputs left out are not compared."""

    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    outputs: dict[str, JsonValue]


class Request(Value):
    """The whole job. `inputs` holds every input in declared order, the samples' included as `file`.

    `schemas` are the user's own, of samples and of output files, by name.
    """

    prompt: str
    schema_text: str | None = None
    constraints: tuple[str, ...] = ()
    schemas: dict[str, TableSchema] = Field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    inputs: dict[str, TypeName] = Field(default_factory=dict)
    outputs: dict[str, TypeName] = Field(default_factory=dict)
    examples: tuple[Example, ...] = ()
    tests: str | None = None
