"""What the data looks like."""

from __future__ import annotations

from typing import Literal

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
