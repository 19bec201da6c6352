"""A finished solution: all that is needed to run it, and nothing of how it came about."""

from __future__ import annotations

from pydantic import Field

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.interface import TypeName
from flyteplugins_codegen.models.rules import TableSchema


class SolutionBundle(Value):
    """A script, its environment and its interface. `image` is the content-addressed name of its container image.

    `schemas` are those that input and output files are held against, by name.
    """

    name: str
    code: str
    lock: EnvironmentLock
    inputs: dict[str, TypeName]
    outputs: dict[str, TypeName]
    image: str
    schemas: dict[str, TableSchema] = Field(default_factory=dict)
