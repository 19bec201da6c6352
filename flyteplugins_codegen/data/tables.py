"""A sample as Arrow record batches, read in a stream: what every reader gives and every reading needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from flyteplugins_codegen.errors import SampleError


@dataclass(frozen=True)
class Source:
    """Which sample is read: its name, for messages, and its file."""

    name: str
    path: Path

    def error(self, what: str, remedy: str) -> SampleError:
        """A SampleError about this sample."""
        return SampleError(f"sample {self.name!r}: {self.path} {what}; {remedy}")


@dataclass(frozen=True)
class Table:
    """A sample's columns and its batches, which can be read once.

    `notes` and `skipped_rows` are complete when the batches have ended. A field's metadata may hold `shown_type`, a
    better name of its type than Arrow's, `pandas_dtype`, the pandas type that the file declares, and `is_index`.
    """

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    notes: list[str] = field(default_factory=list)
    skipped_rows: list[int] = field(default_factory=list)


def unique_names(names: list[str], notes: list[str]) -> list[str]:
    """The names as `pandas.read_csv` makes them unique: `a`, `a.1`, `Unnamed: 2`; adds a note on what was changed."""
    filled = [name or f"Unnamed: {position}" for position, name in enumerate(names)]
    taken, unique = set(filled), []
    seen: dict[str, int] = {}
    for name in filled:
        count = seen.get(name, 0)
        final = name
        while count and (final := f"{name}.{count}") in taken:
            count += 1
        seen[name] = count + 1
        taken.add(final)
        unique.append(final)
    if len(set(filled)) < len(filled):
        notes.append("several columns have the same name: the later ones are called `name.1`, as pandas does")
    if "" in names:
        notes.append("columns without a name are called `Unnamed: position`, as pandas does")
    return unique
