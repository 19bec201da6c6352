"""The job that a caller asks for, a model's proposals for it, and the finished solution.

Types of inputs and outputs are given as Python types or by name; on the wire, in the CLI and in recordings they are
names.
"""

from __future__ import annotations

import datetime as dt
import keyword
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import Field, JsonValue

from flyteplugins_codegen.errors import InterfaceError
from flyteplugins_codegen.models.base import Extended, Value
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
# Options of the launcher and of `pyflyte run`, and arguments and fields of flytekit's own.
_RESERVED = frozenset(
    {
        *("help", "h", "inputs_file"),
        *("self", "ctx", "entity", "overridden_interface", "add_node_to_compilation_state", "node_id"),
        *("with_overrides", "runs_before", "ref"),
    }
)


def type_name(declared: Any) -> TypeName | None:
    """The name of a Python type, a flytekit type (also `FlyteFile["csv"]`) or a type name; None for anything else."""
    if isinstance(declared, str):
        name = _ALIASES.get(declared.strip(), declared.strip())
        return name if name in OUTPUT_TYPES else None
    if not isinstance(declared, type):
        return None
    if declared in _BY_PYTHON_TYPE:
        return _BY_PYTHON_TYPE[declared]
    # Compared by name, so that flytekit is not imported.
    for base in declared.__mro__:
        if base.__module__.partition(".")[0] == "flytekit" and base.__name__ in _BY_FLYTEKIT_CLASS:
            return _BY_FLYTEKIT_CLASS[base.__name__]
    return None


def input_types(declared: Mapping[str, Any]) -> dict[str, TypeName]:
    """The type names of declared inputs. Raises InterfaceError for a name or a type that is not allowed."""
    return {name: _checked("input", name, declared_type, INPUT_TYPES) for name, declared_type in declared.items()}


def output_types(declared: Mapping[str, Any]) -> dict[str, TypeName]:
    """The type names of declared outputs. Raises InterfaceError for a name or a type that is not allowed."""
    return {name: _checked("output", name, declared_type, OUTPUT_TYPES) for name, declared_type in declared.items()}


def _checked(role: str, name: str, declared: Any, supported: tuple[TypeName, ...]) -> TypeName:
    check_name(role, name)
    kind = type_name(declared)
    if kind not in supported:
        unsupported = getattr(declared, "__name__", declared)
        known = f"supported are {', '.join(supported)}"
        remedy = f"; a value is passed with its type, (str, {declared!r})" if _may_be_value(role, declared) else ""
        raise InterfaceError(f"{role} {name!r}: unsupported type {unsupported!r}; {known}{remedy}")
    return kind


def _may_be_value(role: str, declared: Any) -> bool:
    return role == "input" and isinstance(declared, str) and type_name(declared) is None


def check_name(role: str, name: Any) -> None:
    """Raise InterfaceError for a name that cannot be a file name, a Python keyword argument and a Flyte variable."""
    if not isinstance(name, str) or not _NAME.match(name):
        raise InterfaceError(
            f"{role} name {name!r} is not possible: use letters, digits and underscores, "
            "a letter first, at most 63 characters"
        )
    if keyword.iskeyword(name) or name in _RESERVED:
        raise InterfaceError(f"{role} name {name!r} is reserved; choose another, such as {name + '_value'!r}")


class Sample(Value):
    """One sample file. `digest` is the SHA-256 of its content, which keys cached stages instead of the path."""

    name: str
    file_name: str
    size_bytes: int
    digest: str


class Example(Value):
    """A case that the solution must satisfy. Missing inputs are the samples; missing outputs are not compared."""

    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    outputs: dict[str, JsonValue]


class Request(Extended):
    """The whole job. `inputs` are all inputs in declared order, including the samples as `file`.

    `schemas` are those that the user gave for samples and output files, by name. `values` are those that the user gave
    for inputs of simple types, for the runs that judge a solution.
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
    values: dict[str, JsonValue] = Field(default_factory=dict)

    later_fields: ClassVar[frozenset[str]] = frozenset({"values"})


class CodePlan(Extended):
    """What a solution is to do, and how. `assumptions` are decisions that the description leaves open."""

    description: str
    approach: str
    assumptions: tuple[str, ...] = ()

    later_fields: ClassVar[frozenset[str]] = frozenset({"assumptions"})


class CodeSolution(Value):
    """A script and its requirements: `packages` are Python distributions, `system_packages` Debian packages."""

    language: str = "python"
    code: str = ""
    packages: tuple[str, ...] = ()
    system_packages: tuple[str, ...] = ()


class TestCase(Value):
    """One case that a model worked out before it wrote tests, in its words."""

    __test__ = False

    input: str
    expected: str
    why: str = ""


class Candidate(Extended):
    """One solution, with the tests that a model wrote for the job.

    `cases` are those that the tests were written from. `arguments` are values that a model proposed for inputs which
    have neither a sample nor a value of the user; all candidates of a run have the same ones, so that their outputs
    can be compared. `reference` is a second script for the same outputs, by the author of the tests; it is compared
    with the solution and never shipped.
    """

    plan: CodePlan
    solution: CodeSolution
    tests: str | None = None
    cases: tuple[TestCase, ...] = ()
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    reference: str | None = None

    later_fields: ClassVar[frozenset[str]] = frozenset({"cases", "arguments", "reference"})


class SolutionBundle(Value):
    """A finished solution: all that is needed to run it. `image` is the content-addressed name of its container image.

    `schemas` are those of input and output files, by name.
    """

    name: str
    code: str
    lock: EnvironmentLock
    inputs: dict[str, TypeName]
    outputs: dict[str, TypeName]
    image: str
    schemas: dict[str, TableSchema] = Field(default_factory=dict)
