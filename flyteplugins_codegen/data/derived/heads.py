"""The beginning of a large sample as a file of its own: files are derived from it, so that they cost little time."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from flyteplugins_codegen.data.formats import identify
from flyteplugins_codegen.errors import SampleError

MOST_BYTES = 1 << 20
"""A larger sample is cut."""
_MOST_ROWS = 20_000
_CUT_BY_LINES = frozenset({"csv", "jsonl"})


def take_head(path: Path, folder: Path) -> Path | None:
    """The file itself if it is small, else a new one in `folder` with its first rows; None if it cannot be cut.

    A record that the cut breaks is noticed by who reads the head: it has another length than the header.
    """
    try:
        if path.stat().st_size <= MOST_BYTES:
            return path
        kind = identify(path.name, path).format
        if kind == "parquet":
            return _head_of_parquet(path, folder)
        return _head_of_lines(path, folder) if kind in _CUT_BY_LINES else None
    except (SampleError, OSError, ValueError):  # ArrowInvalid is a ValueError
        return None


def _head_of_lines(path: Path, folder: Path) -> Path:
    with path.open("rb") as file:
        content = file.read(MOST_BYTES)
    head = folder / path.name
    head.write_bytes(content[: content.rfind(b"\n") + 1])
    return head


def _head_of_parquet(path: Path, folder: Path) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        batches = islice(file.iter_batches(batch_size=_MOST_ROWS), 1)
        table = pa.Table.from_batches(list(batches), schema=file.schema_arrow)
    head = folder / path.name
    parquet.write_table(table, head)
    return head
