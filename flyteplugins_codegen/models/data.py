"""Data as values: profiles of samples, the drift between two profiles, and the schemas that tables must satisfy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import Field, JsonValue

from flyteplugins_codegen.models.base import Extended, Value

SampleFormat = Literal["csv", "parquet", "arrow", "orc", "json", "jsonl", "excel", "text", "binary"]
PrivacyMode = Literal["masked", "rows", "profile"]
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
ColumnType = Literal["any", "integer", "number", "boolean", "text", "time"]
RuleKind = Literal["type", "range", "one_of", "none_of", "matches", "length", "not_null", "unique", "order"]
ComparisonSign = Literal["<", "<=", ">", ">=", "==", "!="]
ValidateMode = Literal["strict", "warn", "off"]
Bound: TypeAlias = int | float | str


# --- profiles ---------------------------------------------------------------------------------------------------------


class TextProfile(Value):
    """The texts of one column. Lengths are in characters.

    `shapes` are the most common shapes with their counts: `A` stands for a capital, `a` for another letter, `9` for a
    digit, any other character for itself; more than four of a kind in a row are written `a+`.
    `kinds` says what the texts can be read as (`whole number`, `number`, `date`, `time stamp`, `true or false`,
    `text`), with counts; several kinds mean a column of mixed types. `formats` are the date formats in `strptime`'s
    syntax; `date_range` is the first and the last day (ISO 8601) by the most common format, None if another format fits
    as well. `padded_count` texts begin or end with a blank, `empty_count` are empty or blank.
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
        """Whether the texts are of several kinds, whole numbers with numbers and dates with time stamps aside."""
        kinds = {kind for kind, _ in self.kinds}
        return len(kinds) > 1 and not (kinds <= {"whole number", "number"} or kinds <= {"date", "time stamp"})


class ColumnProfile(Value):
    """One column over the whole sample. `arrow_type` is the name of its Arrow type.

    `approximate` names the statistics that are estimates; all others are exact, over every row.
    `distinct_count` excludes nulls and is None for values that cannot be compared. `deviation` is the sample standard
    deviation (n - 1). `quartiles` are the 25 %, 50 % and 75 % quantiles. `outlier_count` values lie more than three
    times the distance of the quartiles outside of them. `time_zone` is that of a time stamp.
    `pandas_dtype` is the pandas type that the file declares, and `is_index` says that pandas reads it as the index.
    NaN counts as null; infinities are the texts `inf` and `-inf` and are left out of averages. Mean and deviation of a
    sample too large for memory are rounded to ten digits, because the rest depends on the order of summation.
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
    """One sample. `row_count` counts all its rows; `sample_rows` are selected rows, the same ones in every run.

    `skipped_row_count` rows were not as long as the header; no other number includes them. `compression` is that of the
    file, `part_count` the number of files in a folder. `candidate_keys` are columns, or pairs of columns, whose values
    identify every row. `mirrors` are pairs of columns whose values correspond one to one. `duplicate_row_count` rows
    repeat an earlier one. `approximate` names the statistics of the sample that are estimates. `line_shapes` are the
    shapes of a text file's lines.
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
    """`column` of `sample` may refer to `key_column` of `key_sample`, which contains all its values."""

    sample: str
    column: str
    key_sample: str
    key_column: str


class MaskingReport(Value):
    """The values of one sample that were replaced before a model saw them: for each column, the count of each kind.

    The column "" is for values in the excerpt of a text file.
    """

    mode: PrivacyMode = "masked"
    replaced: dict[str, dict[str, int]] = Field(default_factory=dict)


class DataContext(Value):
    """The profiles of all samples and their text in a prompt; `digest` identifies the content."""

    samples: dict[str, SampleProfile] = Field(default_factory=dict)
    foreign_keys: tuple[ForeignKey, ...] = ()
    masking: dict[str, MaskingReport] = Field(default_factory=dict)
    text: str = ""
    digest: str = ""


# --- drift ------------------------------------------------------------------------------------------------------------


class Drift(Value):
    """One difference between two profiles of a sample. A `major` one may break a solution or change its results.

    `old` and `new` are the values in the two profiles; `psi` is the population stability index of a distribution.
    """

    kind: DriftKind
    column: str = ""
    severity: Severity
    old: str = ""
    new: str = ""
    psi: float | None = None

    @property
    def text(self) -> str:
        """The difference on one line: kind, column, old and new."""
        where = f" {self.column!r}" if self.column else ""
        change = f": {self.old} -> {self.new}" if self.old and self.new else f": {self.old or self.new}"
        index = f" (PSI {self.psi:.2f})" if self.psi is not None else ""
        return f"{self.kind}{where}{change if self.old or self.new else ''}{index}"


class DriftReport(Value):
    """All differences between two profiles of a sample, the major ones first."""

    sample: str
    drifts: tuple[Drift, ...] = ()

    @property
    def has_drifted(self) -> bool:
        """Whether there is a major difference."""
        return any(drift.severity == "major" for drift in self.drifts)

    @property
    def text(self) -> str:
        """A summary line, then a line for each difference."""
        major = sum(drift.severity == "major" for drift in self.drifts)
        lines = [f"- {drift.severity}: {drift.text}" for drift in self.drifts]
        return "\n".join([f"{self.sample}: {major} major and {len(self.drifts) - major} minor differences", *lines])

    def __str__(self) -> str:
        return self.text


# --- schemas and constraints ------------------------------------------------------------------------------------------


class Rule(Extended):
    """One condition on the cells of a column. A null satisfies all conditions except `not_null`.

    - `type`: every cell can be read as `type`.
    - `range`: from `minimum` to `maximum`, either of them open (None) or excluded; a str is an ISO 8601 date or time.
      `length` uses the same fields for the number of characters.
    - `one_of`, `none_of`: the texts in `values`; numbers are compared as numbers.
    - `matches`: the whole text matches the regular expression `pattern`.
    - `order`: `column` `comparison` `other_column` holds in every row that has both.

    `notation` says how the cells of `column` are written, `other_notation` those of `other_column`: the decimal mark
    `.` or `,` of numbers such as `$1,200.50`, `5%` and `1.200,50`, or the format of dates and times in `strptime`'s
    syntax. It is empty for plain numbers and for ISO 8601.
    """

    later_fields: ClassVar[frozenset[str]] = frozenset({"notation", "other_notation"})

    column: str
    kind: RuleKind
    type: ColumnType = "any"
    minimum: Bound | None = None
    maximum: Bound | None = None
    excludes_minimum: bool = False
    excludes_maximum: bool = False
    values: tuple[str, ...] = ()
    pattern: str = ""
    comparison: ComparisonSign = "=="
    other_column: str = ""
    notation: str = ""
    other_notation: str = ""

    @property
    def text(self) -> str:
        """The condition in words, without its column: `between 0 and 10`."""
        return _TEXTS[self.kind](self)


class ColumnSchema(Value):
    """One column. `pandas_dtype` is Python source for the type that pandas reads it as, None if that is uncertain.

    A column that `is_required` must exist. Columns that are not in the schema are allowed.
    """

    name: str
    type: ColumnType = "any"
    is_nullable: bool = True
    is_unique: bool = False
    is_required: bool = True
    pandas_dtype: str | None = None


class TableSchema(Value):
    """What must hold for a file of any format: its columns, and further `rules`."""

    columns: tuple[ColumnSchema, ...] = ()
    rules: tuple[Rule, ...] = ()

    def for_validator(self) -> dict[str, Any]:
        """The schema in the JSON form that `portable.validator` reads, every rule with its text."""
        rules = [{**rule.model_dump(mode="json"), "text": rule.text} for rule in self.rules]
        return {"columns": [column.model_dump(mode="json") for column in self.columns], "rules": rules}

    @classmethod
    def from_validator(cls, schema: Mapping[str, Any]) -> TableSchema:
        """The inverse of `for_validator`. Raises ValueError for anything else."""
        rules = schema.get("rules", ())
        plain = [{name: value for name, value in rule.items() if name != "text"} for rule in rules]
        return cls.model_validate({**schema, "rules": plain})


class AppliedConstraint(Extended):
    """A constraint in words, with the rules that it was translated to.

    `table` is the sample or output that the `rules` apply to, `read_by` what translated it. If there are no rules,
    `reason` says why; the constraint is still in the model's prompt. With rules, `reason` says what of the constraint
    is not checked. `on_sample` says in how many rows of the sample the rules are broken.
    """

    later_fields: ClassVar[frozenset[str]] = frozenset({"on_sample"})

    text: str
    table: str = ""
    rules: tuple[Rule, ...] = ()
    read_by: Literal["grammar", "model", "nobody"] = "nobody"
    reason: str = ""
    on_sample: str = ""


def _range(rule: Rule) -> str:
    low, high = rule.minimum, rule.maximum
    if low is not None and high is not None:
        closed = not (rule.excludes_minimum or rule.excludes_maximum)
        return f"between {low} and {high}" + ("" if closed else _excluded(rule))
    if low is not None:
        return f"{'more than' if rule.excludes_minimum else 'at least'} {low}"
    return f"{'less than' if rule.excludes_maximum else 'at most'} {high}"


def _excluded(rule: Rule) -> str:
    bounds = ((rule.minimum, rule.excludes_minimum), (rule.maximum, rule.excludes_maximum))
    ends = [end for end, is_excluded in bounds if is_excluded]
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
