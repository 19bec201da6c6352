"""The types of replies: portable models only, without dicts, `Any`, tuples or discriminated unions.

Class docstrings, field names and descriptions go into the JSON schema that is sent to a model. Recordings depend on the
names.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator


class Reply(BaseModel):
    """The base of all replies: unknown fields are ignored, null means absent."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, data: Any) -> Any:
        # Strict schemas require every field, so a model writes null for one that it leaves out.
        return {name: value for name, value in data.items() if value is not None} if isinstance(data, dict) else data


# What only accompanies the code is never a reason to ask again: anything but a text is taken as JSON, and what is no
# list of the right kind is left out.


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _objects_in(value: Any) -> list[Any]:
    return [item for item in value if isinstance(item, dict | Reply)] if isinstance(value, list) else []


def _texts_in(value: Any) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [text for item in items if (text := _as_text(item).strip())]


_Text = Annotated[str, BeforeValidator(_as_text)]


class ArgumentReply(Reply):
    """As on the command line."""

    name: _Text = ""
    value: _Text = ""


class SolutionReply(Reply):
    """A plan and the script that carries it out."""

    description: str = Field(description="What the script does, in one or two sentences")
    approach: str = Field(description="How, in one or two sentences")
    assumptions: Annotated[list[str], BeforeValidator(_texts_in)] = Field(
        default=[], description="Short; empty if nothing is open"
    )
    code: str = Field(min_length=1, description="The whole of solution.py")
    arguments: Annotated[list[ArgumentReply], BeforeValidator(_objects_in)] = Field(
        default=[], description="For inputs without a sample"
    )
    packages: list[str] = Field(default=[], description="PyPI distributions that it needs")
    system_packages: list[str] = Field(default=[], description="Debian packages that it needs")


class CaseReply(Reply):
    """In a few words."""

    input: _Text = ""
    expected: _Text = ""
    why: _Text = ""


class TestsReply(Reply):
    """A test module."""

    __test__ = False

    cases: Annotated[list[CaseReply], BeforeValidator(_objects_in)] = Field(default=[], description="What to test")
    test_code: str = Field(min_length=1, description="The whole of test_solution.py")
    reference: str | None = Field(default=None, description="The whole of reference.py, or null")


class StrongerTestsReply(Reply):
    """Tests more, for a suite that too many mistakes pass."""

    test_code: str = Field(min_length=1, description="A test module with the new tests only")


class Edit(Reply):
    """One change of a file."""

    search: str = Field(description="Text that occurs exactly once in the file, copied exactly")
    replace: str = Field(default="", description="What stands in its place")


class RepairReply(Reply):
    """The cause of a failure and its repair: edits, or a whole file."""

    cause: str = Field(description="Why it failed, in one or two sentences")
    error_type: Literal["logic", "environment", "test_error", "reference_error"] = Field(
        description="Where the cause lies; reference_error only where reference.py is shown"
    )
    edits: list[Edit] = Field(default=[], description="Changes of the file that is wrong; empty when it is given whole")
    code: str | None = Field(default=None, description="The whole of solution.py, or null")
    test_code: str | None = Field(default=None, description="The whole of test_solution.py, or null")
    reference: str | None = Field(default=None, description="The whole of reference.py if that is changed, or null")
    packages: list[str] = Field(default=[], description="PyPI distributions to add, or to pin anew")
    system_packages: list[str] = Field(default=[], description="Debian packages to add")


class RuleReply(Reply):
    """One condition on the cells of a column."""

    constraint: int = Field(description="The number of the constraint that this is (a part of)")
    table: str = Field(description="The table, exactly as it is listed")
    column: str = Field(description="The column, exactly as it is listed")
    kind: Literal["range", "one_of", "none_of", "matches", "length", "not_null", "unique", "order", "type"] = Field(
        description="length: of a text, in characters, with minimum and maximum; order: column against other_column"
    )
    minimum: str | None = Field(default=None, description="A number, or a date as 2024-01-31; null where it is open")
    maximum: str | None = Field(default=None, description="As minimum; null where it is open")
    excludes_minimum: bool = Field(default=False, description="Whether the minimum itself is not allowed")
    excludes_maximum: bool = Field(default=False, description="Whether the maximum itself is not allowed")
    values: list[str] = Field(default=[], description="For one_of and none_of")
    pattern: str | None = Field(default=None, description="For matches: a Python regular expression for the whole text")
    comparison: Literal["<", "<=", ">", ">=", "==", "!="] | None = Field(default=None, description="For order")
    other_column: str | None = Field(default=None, description="For order")
    type: Literal["integer", "number", "boolean", "text", "time"] | None = Field(default=None, description="For type")


class ConstraintsReply(Reply):
    """What of the constraints can be checked on the rows of one table."""

    rules: list[RuleReply] = Field(description="Empty where nothing can be checked so; never a guess")
