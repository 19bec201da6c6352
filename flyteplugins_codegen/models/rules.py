"""What must be true of a table, as plain data: it can be shown, kept, sent, and checked where nothing is installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from flyteplugins_codegen.models.base import Value

ColumnType = Literal["any", "integer", "number", "boolean", "text", "time"]
RuleKind = Literal["type", "range", "one_of", "none_of", "matches", "length", "not_null", "unique", "order"]
Comparison = Literal["<", "<=", ">", ">=", "==", "!="]
ValidateMode = Literal["strict", "warn", "off"]
Bound: TypeAlias = int | float | str


class Rule(Value):
    """One condition on the cells of a column; a null satisfies every one but `not_null`.

    - `type`: every cell reads as `type`.
    - `range`: from `minimum` to `maximum`, either of them open (None) or excluded; a text is a date or time, ISO 8601.
      `length` has the same fields, of a text's characters.
    - `one_of`, `none_of`: the texts in `values`; numbers are compared as numbers.
    - `matches`: the whole text matches the regular expression `pattern`.
    - `order`: `column` stands in `comparison` to `other_column` in every row that has both.
    """

    column: str
    kind: RuleKind
    type: ColumnType = "any"
    minimum: Bound | None = None
    maximum: Bound | None = None
    excludes_minimum: bool = False
    excludes_maximum: bool = False
    values: tuple[str, ...] = ()
    pattern: str = ""
    comparison: Comparison = "=="
    other_column: str = ""

    @property
    def text(self) -> str:
        """The condition in words, without its column: `between 0 and 10`."""
        return _TEXTS[self.kind](self)


class ColumnSchema(Value):
    """One column. `pandas_dtype` is Python source of the type that pandas reads it as; None where that is not certain.

    A column that `is_required` must be there; other columns than those of a schema may be there too.
    """

    name: str
    type: ColumnType = "any"
    is_nullable: bool = True
    is_unique: bool = False
    is_required: bool = True
    pandas_dtype: str | None = None


class TableSchema(Value):
    """What must be true of a file, whatever its format: `rules` come on top of what its columns say."""

    columns: tuple[ColumnSchema, ...] = ()
    rules: tuple[Rule, ...] = ()

    def for_validator(self) -> dict[str, Any]:
        """The schema as `sandbox.validator` reads it: JSON, with every rule's words."""
        rules = [{**rule.model_dump(mode="json"), "text": rule.text} for rule in self.rules]
        return {"columns": [column.model_dump(mode="json") for column in self.columns], "rules": rules}

    @classmethod
    def from_validator(cls, schema: Mapping[str, Any]) -> TableSchema:
        """The inverse of `for_validator`. Raises ValueError for anything else."""
        rules = schema.get("rules", ())
        plain = [{name: value for name, value in rule.items() if name != "text"} for rule in rules]
        return cls.model_validate({**schema, "rules": plain})


class AppliedConstraint(Value):
    """What became of one constraint in words.

    `table` is the sample or output that its `rules` hold for, `read_by` who understood it; without rules, `reason`
    says why it is not applied. It is told to the model all the same.
    """

    text: str
    table: str = ""
    rules: tuple[Rule, ...] = ()
    read_by: Literal["grammar", "model", "nobody"] = "nobody"
    reason: str = ""


def _range(rule: Rule) -> str:
    low, high = rule.minimum, rule.maximum
    if low is not None and high is not None:
        closed = not (rule.excludes_minimum or rule.excludes_maximum)
        return f"between {low} and {high}" + ("" if closed else f"{_excluded(rule)}")
    if low is not None:
        return f"{'more than' if rule.excludes_minimum else 'at least'} {low}"
    return f"{'less than' if rule.excludes_maximum else 'at most'} {high}"


def _excluded(rule: Rule) -> str:
    ends = [
        end for end, is_out in ((rule.minimum, rule.excludes_minimum), (rule.maximum, rule.excludes_maximum)) if is_out
    ]
    return f", {' and '.join(map(str, ends))} excluded"


_TEXTS: dict[RuleKind, Callable[[Rule], str]] = {
    "type": lambda rule: f"of type {rule.type}",
    "range": _range,
    "length": lambda rule: f"{_range(rule)} characters long",
    "one_of": lambda rule: f"one of {', '.join(rule.values)}",
    "none_of": lambda rule: f"none of {', '.join(rule.values)}",
    "matches": lambda rule: f"matches {rule.pattern}",
    "not_null": lambda _: "not null",
    "unique": lambda _: "unique",
    "order": lambda rule: f"{rule.comparison} {rule.other_column}",
}
