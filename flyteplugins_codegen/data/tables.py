"""A sample as a stream of Arrow record batches: what every reader returns and every statistic is computed from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from flyteplugins_codegen.data.formats import Content
from flyteplugins_codegen.errors import SampleError

_MOST_LISTED_NAMES = 5


@dataclass(frozen=True)
class SampleFile:
    """One file of a sample and its content.

    `path` is the file to read, which is a temporary file if the original is compressed; `display_path` is the path
    that the caller passed.
    """

    path: Path
    content: Content
    display_path: Path


@dataclass(frozen=True)
class SampleSource:
    """The sample's name, for messages, and its files, which all have the same format. Most samples are one file."""

    name: str
    files: tuple[SampleFile, ...]

    def error(self, problem: str, remedy: str, file: SampleFile | None = None) -> SampleError:
        """Return a SampleError about one file of the sample, by default the first."""
        return SampleError(f"sample {self.name!r}: {(file or self.files[0]).display_path} {problem}; {remedy}")


@dataclass(frozen=True)
class SampleTable:
    """The columns of a sample and its batches, which can be read once.

    `notes` and `skipped_rows` are complete when the batches are exhausted. The metadata of a field may hold
    `shown_type`, a better name for its type than Arrow's, `pandas_dtype`, the pandas type that the file declares, and
    `is_index`.
    """

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    notes: list[str] = field(default_factory=list)
    skipped_rows: list[int] = field(default_factory=list)


def unique_names(names: list[str], notes: list[str]) -> list[str]:
    """Make the names unique as `pandas.read_csv` does: `a`, `a.1`, `Unnamed: 2`. Adds a note on what was changed."""
    filled = [name or f"Unnamed: {position}" for position, name in enumerate(names)]
    taken, unique = set(filled), []
    counts: dict[str, int] = {}
    for name in filled:
        count = counts.get(name, 0)
        final = name
        while count and (final := f"{name}.{count}") in taken:
            count += 1
        counts[name] = count + 1
        taken.add(final)
        unique.append(final)
    if len(set(filled)) < len(filled):
        notes.append("several columns have the same name: the later ones are called `name.1`, as pandas does")
    if "" in names:
        notes.append("columns without a name are called `Unnamed: position`, as pandas does")
    return unique


def check_same_columns(source: SampleSource, file: SampleFile, expected: list[str], actual: list[str]) -> None:
    """Check that a file has the columns of the first file. Raises SampleError, which names the differences."""
    if expected == actual:
        return
    missing = [name for name in expected if name not in set(actual)]
    added = [name for name in actual if name not in set(expected)]
    differences = [f"lacks {_join_names(missing)}"] if missing else []
    differences += [f"adds {_join_names(added)}"] if added else []
    first = source.files[0].display_path.name
    raise source.error(
        f"has other columns than {first}: it {' and '.join(differences) or 'has them in another order'}",
        "pass folders of files with the same columns, one sample each",
        file,
    )


def _join_names(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED_NAMES} more" if len(names) > _MOST_LISTED_NAMES else ""
    return ", ".join(map(repr, names[:_MOST_LISTED_NAMES])) + more
