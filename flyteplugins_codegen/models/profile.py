"""What the data looks like."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from flyteplugins_codegen.models.base import Value


class ColumnProfile(Value):
    """One column over the whole sample. `arrow_type` is the name of its Arrow type.

    `distinct_count` leaves nulls out; None where there are too many to count, or values that cannot be compared.
    `pandas_dtype` is the pandas type that the file itself declares, `is_index` that pandas reads it as its index.
    """

    name: str
    arrow_type: str
    null_count: int
    distinct_count: int | None = None
    minimum: JsonValue = None
    maximum: JsonValue = None
    mean: float | None = None
    is_unique: bool = False
    top_values: tuple[tuple[JsonValue, int], ...] = ()
    pandas_dtype: str | None = None
    is_index: bool = False


class SampleProfile(Value):
    """One sample. `row_count` counts the whole file; `sample_rows` are chosen rows, the same ones at every run.

    `skipped_row_count` rows were not as long as the header, and are in no other number here.
    """

    name: str
    file_name: str
    format: Literal["csv", "parquet", "arrow", "json", "jsonl", "text", "binary"]
    size_bytes: int
    row_count: int | None = None
    skipped_row_count: int = 0
    columns: tuple[ColumnProfile, ...] = ()
    sample_rows: tuple[dict[str, JsonValue], ...] = ()
    text_excerpt: str | None = None
    notes: tuple[str, ...] = ()


class DataContext(Value):
    """The profiles of all samples and the text that a prompt shows of them."""

    samples: tuple[SampleProfile, ...] = ()
    text: str = ""
