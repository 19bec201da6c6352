"""What the data looks like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from pydantic import Field, JsonValue

from flyteplugins_codegen.models.base import Value

SampleFormat = Literal["csv", "parquet", "arrow", "orc", "json", "jsonl", "excel", "text", "binary"]
PrivacyMode = Literal["masked", "rows", "profile"]


class TextProfile(Value):
    """The texts of one column. Lengths are in characters.

    `shapes` are the commonest shapes with their counts: `A` stands for a capital, `a` for another letter, `9` for a
    digit, any other character for itself; a run of more than four of a kind is written `a+`.
    `kinds` says what the texts read as (`whole number`, `number`, `date`, `time stamp`, `true or false`, `text`), with
    counts: more than one kind is a column of mixed types. `formats` are the date formats found, as `strptime` takes
    them; `date_range` is the first and the last day (ISO 8601) by the commonest format, None where another fits as
    well. `padded_count` texts begin or end with a blank, `empty_count` hold nothing or only blanks.
    """

    shortest: int
    longest: int
    mean_length: float
    empty_count: int = 0
    padded_count: int = 0
    shapes: tuple[tuple[str, int], ...] = ()
    kinds: tuple[tuple[str, int], ...] = ()
    formats: tuple[tuple[str, int], ...] = ()
    date_range: tuple[str, str] | None = None

    @property
    def is_mixed(self) -> bool:
        """Whether some texts read as numbers, dates or truth values, and some as something else."""
        kinds = {kind for kind, _ in self.kinds}
        return len(kinds) > 1 and not (kinds <= {"whole number", "number"} or kinds <= {"date", "time stamp"})


class ColumnProfile(Value):
    """One column over the whole sample. `arrow_type` is the name of its Arrow type.

    `approximate` names the statistics here that are estimates; all others are exact, over every row.
    `distinct_count` leaves nulls out; None for values that cannot be compared. `deviation` is the sample's standard
    deviation (n - 1). `quartiles` are the values a quarter, half and three quarters up. `outlier_count` values lie more
    than three times the distance of the quartiles outside of them. `time_zone` is that of a time stamp.
    `pandas_dtype` is the pandas type that the file itself declares, `is_index` that pandas reads it as its index.
    NaN counts as null; infinities are the texts `inf` and `-inf`, and nothing is averaged with them. Mean and deviation
    of a sample too large for memory have ten digits: the others depend on which thread summed which rows.
    """

    name: str
    arrow_type: str
    null_count: int
    approximate: tuple[str, ...] = ()
    distinct_count: int | None = None
    is_unique: bool = False
    is_constant: bool = False
    minimum: JsonValue = None
    maximum: JsonValue = None
    mean: float | None = None
    deviation: float | None = None
    quartiles: tuple[JsonValue, JsonValue, JsonValue] | None = None
    outlier_count: int | None = None
    top_values: tuple[tuple[JsonValue, int], ...] = ()
    text: TextProfile | None = None
    time_zone: str | None = None
    pandas_dtype: str | None = None
    is_index: bool = False


class SampleProfile(Value):
    """One sample. `row_count` counts the whole of it; `sample_rows` are chosen rows, the same ones at every run.

    `skipped_row_count` rows were not as long as the header, and are in no other number here. `compression` is that of
    the file, `part_count` the number of files of a folder. `candidate_keys` are columns, or pairs of them, that tell
    every row from all others. `mirrors` are pairs of columns of which each value of one goes with one value of the
    other. `duplicate_row_count` rows repeat an earlier one. `approximate` names the statistics of this level that are
    estimates. `line_shapes` are those of a text's lines.
    """

    name: str
    file_name: str
    format: SampleFormat
    size_bytes: int
    row_count: int | None = None
    skipped_row_count: int = 0
    compression: str | None = None
    part_count: int = 1
    columns: dict[str, ColumnProfile] = Field(default_factory=dict)
    candidate_keys: tuple[tuple[str, ...], ...] = ()
    mirrors: tuple[tuple[str, str], ...] = ()
    duplicate_row_count: int | None = None
    approximate: tuple[str, ...] = ()
    sample_rows: tuple[dict[str, JsonValue], ...] = ()
    text_excerpt: str | None = None
    line_shapes: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()


class ForeignKey(Value):
    """`column` of sample `sample` may refer to `key_column` of sample `key_sample`: all values seen of it are there."""

    sample: str
    column: str
    key_sample: str
    key_column: str


class MaskingReport(Value):
    """What of one sample's shown values was replaced: the kinds by column, with how many values of each.

    A value outside of any column, in a text's excerpt, counts for the column "".
    """

    mode: PrivacyMode = "masked"
    replaced: dict[str, dict[str, int]] = Field(default_factory=dict)


class DataContext(Value):
    """The profiles of all samples and the text that a prompt shows of them; `digest` tells it by its content."""

    samples: dict[str, SampleProfile] = Field(default_factory=dict)
    foreign_keys: tuple[ForeignKey, ...] = ()
    masking: dict[str, MaskingReport] = Field(default_factory=dict)
    text: str = ""
    digest: str = ""


# How two profiles of the same sample differ.

DriftKind = Literal[
    "column added",
    "column removed",
    "order of columns",
    "type",
    "nulls",
    "range",
    "categories",
    "distribution",
    "row count",
    "format",
]
Severity = Literal["minor", "major"]


class Drift(Value):
    """One difference. `major` is what is likely to break a solution or to change what it finds out.

    `old` and `new` are what the two profiles say; `psi` is the population stability index, for a distribution.
    """

    kind: DriftKind
    column: str = ""
    severity: Severity
    old: str = ""
    new: str = ""
    psi: float | None = None

    @property
    def text(self) -> str:
        """One line: what, where, from what to what."""
        where = f" {self.column!r}" if self.column else ""
        change = f": {self.old} -> {self.new}" if self.old and self.new else f": {self.old or self.new}"
        index = f" (PSI {self.psi:.2f})" if self.psi is not None else ""
        return f"{self.kind}{where}{change if self.old or self.new else ''}{index}"


class DriftReport(Value):
    """All differences, the major ones first."""

    sample: str
    drifts: tuple[Drift, ...] = ()

    @property
    def has_drifted(self) -> bool:
        """Whether anything major changed."""
        return any(drift.severity == "major" for drift in self.drifts)

    @property
    def text(self) -> str:
        """A line for each difference, below one that sums them up."""
        major = sum(drift.severity == "major" for drift in self.drifts)
        lines = [f"- {drift.severity}: {drift.text}" for drift in self.drifts]
        return "\n".join([f"{self.sample}: {major} major and {len(self.drifts) - major} minor differences", *lines])

    def __str__(self) -> str:
        return self.text


# What must be true of a table, as plain data: it can be shown, kept, sent, and checked where nothing is installed.

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
