"""What the data looks like."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from flyteplugins_codegen.models.base import Value


class ColumnProfile(Value):
    """One column over the whole sample. `arrow_type` is the name of its Arrow type."""

    name: str
    arrow_type: str
    null_count: int
    distinct_count: int | None = None
    minimum: JsonValue = None
    maximum: JsonValue = None
    mean: float | None = None
    is_unique: bool = False
    top_values: tuple[tuple[JsonValue, int], ...] = ()


class SampleProfile(Value):
    """One sample. `row_count` counts the whole file; `sample_rows` are chosen rows, the same ones at every run."""

    name: str
    file_name: str
    format: Literal["csv", "parquet", "arrow", "json", "jsonl", "text", "binary"]
    size_bytes: int
    row_count: int | None = None
    columns: tuple[ColumnProfile, ...] = ()
    sample_rows: tuple[dict[str, JsonValue], ...] = ()
    text_excerpt: str | None = None
    notes: tuple[str, ...] = ()


class DataContext(Value):
    """The profiles of all samples and the text that a prompt shows of them."""

    samples: tuple[SampleProfile, ...] = ()
    text: str = ""
