"""The types of a solution's inputs and outputs, by name, and the rules for their names.

On the wire, in the CLI and in recordings a type is its name; a caller may give the Python type or the name.
"""

from __future__ import annotations

import datetime as dt
import keyword
import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from pydantic import Field, JsonValue

from flyteplugins_codegen.errors import InterfaceError
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.data import TableSchema
from flyteplugins_codegen.models.environment import EnvironmentLock

TypeName: TypeAlias = Literal["str", "int", "float", "bool", "datetime", "timedelta", "file", "directory"]

INPUT_TYPES: tuple[TypeName, ...] = ("str", "int", "float", "bool", "file", "directory")
OUTPUT_TYPES: tuple[TypeName, ...] = (*INPUT_TYPES, "datetime", "timedelta")

_BY_PYTHON_TYPE: dict[type, TypeName] = {
    str: "str",
    int: "int",
    float: "float",
    bool: "bool",
    dt.datetime: "datetime",
    dt.timedelta: "timedelta",
}
_BY_FLYTEKIT_CLASS: dict[str, TypeName] = {"FlyteFile": "file", "FlyteDirectory": "directory"}
_ALIASES: dict[str, TypeName] = {"FlyteFile": "file", "FlyteDirectory": "directory", "string": "str", "integer": "int"}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}\Z")
# Options of the launcher and of `pyflyte run`, and the arguments and fields that flytekit passes beside ours.
_RESERVED = frozenset(
    {
        *("help", "h", "inputs_file"),
        *("self", "ctx", "entity", "overridden_interface", "add_node_to_compilation_state", "node_id"),
        *("with_overrides", "runs_before", "ref"),
    }
)


def type_name(declared: Any) -> TypeName | None:
    """The wire name of a Python type, a flytekit type (`FlyteFile["csv"]` too) or a name; None for anything else."""
    if isinstance(declared, str):
        wanted = _ALIASES.get(declared.strip(), declared.strip())
        return wanted if wanted in OUTPUT_TYPES else None
    if not isinstance(declared, type):
        return None
    if declared in _BY_PYTHON_TYPE:
        return _BY_PYTHON_TYPE[declared]
    # Told by name, so that flytekit is not imported to answer for `int`.
    for base in declared.__mro__:
        if base.__module__.partition(".")[0] == "flytekit" and base.__name__ in _BY_FLYTEKIT_CLASS:
            return _BY_FLYTEKIT_CLASS[base.__name__]
    return None


def input_types(declared: Mapping[str, Any]) -> dict[str, TypeName]:
    """The wire names of declared inputs. Raises InterfaceError for a name or a type that is not possible."""
    return {name: _checked("input", name, declared_type, INPUT_TYPES) for name, declared_type in declared.items()}


def output_types(declared: Mapping[str, Any]) -> dict[str, TypeName]:
    """The wire names of declared outputs. Raises InterfaceError for a name or a type that is not possible."""
    return {name: _checked("output", name, declared_type, OUTPUT_TYPES) for name, declared_type in declared.items()}


def _checked(role: str, name: str, declared: Any, supported: tuple[TypeName, ...]) -> TypeName:
    check_name(role, name)
    found = type_name(declared)
    if found not in supported:
        shown = getattr(declared, "__name__", declared)
        raise InterfaceError(f"{role} {name!r}: unsupported type {shown!r}; supported are {', '.join(supported)}")
    return found


def check_name(role: str, name: Any) -> None:
    """Refuse a name that cannot be a file under /var, a Python keyword argument and a Flyte variable at once.

    Raises InterfaceError.
    """
    if not isinstance(name, str) or not _NAME.match(name):
        raise InterfaceError(
            f"{role} name {name!r} is not possible: use letters, digits and underscores, "
            "a letter first, at most 63 characters"
        )
    if keyword.iskeyword(name) or name in _RESERVED:
        raise InterfaceError(f"{role} name {name!r} is reserved; choose another, such as {name + '_value'!r}")


# A finished solution: all that is needed to run it, and nothing of how it came about.


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


# What a model proposed: a plan, a solution, tests.


class CodePlan(Value):
    """What a solution does and how."""

    description: str
    approach: str


class CodeSolution(Value):
    """A script and what it needs installed. `packages` are distributions, `system_packages` Debian packages."""

    language: str = "python"
    code: str = ""
    packages: tuple[str, ...] = ()
    system_packages: tuple[str, ...] = ()


class Candidate(Value):
    """One solution with the tests that a model wrote for the job."""

    plan: CodePlan
    solution: CodeSolution
    tests: str | None = None


# The job: what the caller asked for, with every sample told by its content.


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
