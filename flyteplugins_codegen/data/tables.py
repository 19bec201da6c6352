"""A sample as Arrow record batches, read in a stream: what every reader gives and every reading needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from flyteplugins_codegen.data.formats import Content
from flyteplugins_codegen.errors import SampleError


@dataclass(frozen=True)
class Part:
    """A file of a sample, unpacked if it was packed, and what it holds; `shown` is its path as the caller knows it."""

    path: Path
    content: Content
    shown: Path


@dataclass(frozen=True)
class Source:
    """Which sample is read: its name, for messages, and its files, of one format; most samples are one file."""

    name: str
    parts: tuple[Part, ...]

    @property
    def format_name(self) -> str:
        """What the files hold, for a person."""
        return self.parts[0].content.kind

    def error(self, what: str, remedy: str, part: Part | None = None) -> SampleError:
        """A SampleError about this sample, and about one file of it."""
        return SampleError(f"sample {self.name!r}: {(part or self.parts[0]).shown} {what}; {remedy}")


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


def check_same_columns(source: Source, part: Part, expected: list[str], found: list[str]) -> None:
    """Refuse a file whose columns are not those of the first. Raises SampleError, which names the differences."""
    if expected == found:
        return
    missing = [name for name in expected if name not in set(found)]
    added = [name for name in found if name not in set(expected)]
    what = [f"lacks {_listed(missing)}"] if missing else []
    what += [f"adds {_listed(added)}"] if added else []
    raise source.error(
        f"has other columns than {source.parts[0].shown.name}: it {' and '.join(what) or 'has them in another order'}",
        "pass folders of files with the same columns, one sample each",
        part,
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""  # noqa: PLR2004 - as many as a line holds
    return ", ".join(map(repr, names[:5])) + more
