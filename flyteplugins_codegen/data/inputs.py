"""What a caller passes as a sample: a file, a folder of parts, a data frame, a data set of Flyte's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flyteplugins_codegen.data.files import (
    check_readable,
    content_file,
    frame_to_file,
    is_data_frame,
    unpacked,
    unreadable,
)
from flyteplugins_codegen.data.formats import identify
from flyteplugins_codegen.errors import SampleError

if TYPE_CHECKING:
    from flyteplugins_codegen.data.tables import Source, Table

_MOST_PARTS = 10_000


@dataclass(frozen=True)
class Files:
    """A sample in files, ready to be read. `path` is the file or folder as the caller knows it."""

    source: Source
    path: Path
    size_bytes: int
    compression: str | None = None
    notes: tuple[str, ...] = ()


def is_frame(value: Any) -> bool:
    """Whether the value is a data frame: something that hands its columns out as Arrow has them, or a data set."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__") or _is_data_set(value)


def frame_table(value: Any, name: str) -> tuple[Table, int | None]:
    """A data frame as a table, and its size in bytes where it is known. Raises SampleError."""
    import pyarrow as pa

    from flyteplugins_codegen.data.readers import typed_table

    try:
        frame = _frame_of(value, name) if _is_data_set(value) else value
        if hasattr(frame, "__arrow_c_array__") and not hasattr(frame, "__arrow_c_stream__"):
            frame = pa.Table.from_batches([pa.record_batch(frame)])
        reader = pa.RecordBatchReader.from_stream(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SampleError(
            f"sample {name!r}: {type(value).__name__} cannot be read as Arrow ({error}); give every column one type"
        ) from error
    return typed_table(reader.schema, iter(reader)), getattr(frame, "nbytes", None)


def frame_file(value: Any, name: str, folder: Path) -> Path:
    """A data frame, or a data set, as a CSV file in the folder, named by its content.

    Raises:
        SampleError: CSV cannot hold its columns, or the data set cannot be read.
    """
    frame = _frame_of(value, name) if _is_data_set(value) else value
    return frame_to_file(name, frame, folder) if is_data_frame(frame) else _arrow_file(frame, name, folder)


def _arrow_file(frame: Any, name: str, folder: Path) -> Path:
    import pyarrow as pa
    from pyarrow import csv

    from flyteplugins_codegen.data.arrow import comparable_batch, is_plain

    table, _ = frame_table(frame, name)
    unfit = [field.name for field in table.schema if not is_plain(field.type)]
    if unfit or table.notes or not table.schema:
        what = f"columns {', '.join(map(repr, unfit[:5]))}" if unfit else (table.notes or ["no columns"])[0]
        raise SampleError(
            f"sample {name!r}: CSV cannot hold this {type(frame).__name__} ({what}); "
            "write it to a Parquet file, with a name for each column, and pass its path"
        )
    rows = pa.Table.from_batches(
        [comparable_batch(batch) for batch in table.batches] or [pa.record_batch(table.schema)]
    )
    written = pa.BufferOutputStream()
    csv.write_csv(rows, written)
    return content_file(name, written.getvalue().to_pybytes(), folder)


@contextmanager
def opened_files(value: Any, name: str) -> Iterator[Files]:
    """The files of a path, a FlyteFile or a FlyteDirectory, unpacked as long as this is open.

    Raises:
        SampleError: no path, nothing there, empty, broken, or a folder of files of several formats.
    """
    from flyteplugins_codegen.data.tables import Part, Source

    path = _path(value, name)
    with ExitStack() as stack:
        parts, kinds, notes = [], set[str | None](), []
        for file in _files(path, name):
            real, kind = stack.enter_context(unpacked(name, file))
            parts.append(Part(real, identify(name, real, file), file))
            kinds.add(kind)
            if kind and real.name == file.name:
                notes.append(f"packed with {kind}, though its name does not say so")
        _check_one_format(name, path, parts)
        size_bytes = sum(part.shown.stat().st_size for part in parts)
        compression = kinds.pop() if len(kinds) == 1 else None
        yield Files(Source(name, tuple(parts)), path, size_bytes, compression, tuple(dict.fromkeys(notes)))


def _path(value: Any, name: str) -> Path:
    if not isinstance(value, str | os.PathLike):
        raise SampleError(
            f"sample {name!r}: {type(value).__name__} is not supported; pass a path, a FlyteFile, a FlyteDirectory, a "
            "StructuredDataset or a data frame of pandas, pyarrow or polars"
        )
    if isinstance(value, str) and "://" in value:
        raise SampleError(f"sample {name!r}: {value!r} is no path on this machine; pass FlyteFile({value!r})")
    # A FlyteFile is a path-like that downloads itself when it is asked for its path.
    return Path(os.fspath(value)).expanduser().absolute()


def _files(path: Path, name: str) -> list[Path]:
    """The file, or those of a folder, hidden ones and marks such as `_SUCCESS` left out."""
    if not path.is_dir():
        check_readable(name, path)
        return [path]
    try:
        found = sorted(file for file in path.rglob("*") if file.is_file() and not _is_hidden(file.relative_to(path)))
    except OSError as error:
        raise unreadable(name, path, error) from error
    filled = [file for file in found if file.stat().st_size]
    if not filled:
        raise SampleError(f"sample {name!r}: the folder {path} holds no file with content; pass one that does")
    if len(filled) > _MOST_PARTS:
        raise SampleError(f"sample {name!r}: the folder {path} holds {len(filled)} files; pass {_MOST_PARTS} at most")
    return filled


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _check_one_format(name: str, path: Path, parts: list[Any]) -> None:
    formats = {part.content.format: part.shown.name for part in reversed(parts)}
    if len(formats) > 1:
        told = ", ".join(f"{form} ({file})" for form, file in sorted(formats.items()))
        raise SampleError(f"sample {name!r}: the folder {path} mixes formats: {told}; pass one sample for each format")


def _is_data_set(value: Any) -> bool:
    return type(value).__name__ == "StructuredDataset" and type(value).__module__.startswith("flytekit.")


def _frame_of(data_set: Any, name: str) -> Any:
    """The frame that a StructuredDataset was made of, or what is stored at its address."""
    import pyarrow as pa

    if data_set.dataframe is not None:
        return data_set.dataframe
    try:
        return data_set.open(pa.Table).all()
    except Exception as error:  # every store has errors of its own
        raise SampleError(
            f"sample {name!r}: the StructuredDataset at {data_set.uri!r} cannot be read ({error}); check its address"
        ) from error
