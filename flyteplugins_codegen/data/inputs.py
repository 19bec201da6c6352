"""The values that a caller may pass as a sample: a file, a folder of files, a data frame, a StructuredDataset."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flyteplugins_codegen.data.files import (
    check_readable,
    frame_to_file,
    is_data_frame,
    unpacked_file,
    unreadable_error,
    write_csv_file,
)
from flyteplugins_codegen.data.formats import identify
from flyteplugins_codegen.errors import SampleError

if TYPE_CHECKING:
    from flyteplugins_codegen.data.tables import SampleSource, SampleTable

_MOST_FILES = 10_000
_MOST_LISTED_COLUMNS = 5


@dataclass(frozen=True)
class OpenedSample:
    """A sample whose files are ready to be read. `path` is the file or folder that the caller passed."""

    source: SampleSource
    path: Path
    size_bytes: int
    compression: str | None = None
    notes: tuple[str, ...] = ()


def is_frame(value: Any) -> bool:
    """Return whether the value is a data frame that exports its columns to Arrow, or a StructuredDataset."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__") or _is_structured_dataset(value)


def frame_table(value: Any, name: str) -> tuple[SampleTable, int | None]:
    """Return a data frame as a table, and its size in bytes if the frame knows it. Raises SampleError."""
    import pyarrow as pa

    from flyteplugins_codegen.data.readers import typed_table

    try:
        frame = _load_dataset(value, name) if _is_structured_dataset(value) else value
        if hasattr(frame, "__arrow_c_array__") and not hasattr(frame, "__arrow_c_stream__"):
            frame = pa.Table.from_batches([pa.record_batch(frame)])
        reader = pa.RecordBatchReader.from_stream(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SampleError(
            f"sample {name!r}: {type(value).__name__} cannot be read as Arrow ({error}); give every column one type"
        ) from error
    return typed_table(reader.schema, iter(reader)), getattr(frame, "nbytes", None)


def frame_file(value: Any, name: str, folder: Path) -> Path:
    """Write a data frame or a StructuredDataset as a CSV file in the folder, named by its content.

    Raises:
        SampleError: CSV cannot hold its columns, or the dataset cannot be read.
    """
    frame = _load_dataset(value, name) if _is_structured_dataset(value) else value
    return frame_to_file(name, frame, folder) if is_data_frame(frame) else _arrow_file(frame, name, folder)


def _arrow_file(frame: Any, name: str, folder: Path) -> Path:
    import pyarrow as pa
    from pyarrow import csv

    from flyteplugins_codegen.data.arrow import comparable_batch, fits_csv

    table, _ = frame_table(frame, name)
    unfit = [field.name for field in table.schema if not fits_csv(field.type)]
    if unfit or table.notes or not table.schema:
        columns = ", ".join(map(repr, unfit[:_MOST_LISTED_COLUMNS]))
        problem = f"columns {columns}" if unfit else (table.notes or ["no columns"])[0]
        raise SampleError(
            f"sample {name!r}: CSV cannot hold this {type(frame).__name__} ({problem}); "
            "write it to a Parquet file, with a name for each column, and pass its path"
        )
    rows = pa.Table.from_batches(
        [comparable_batch(batch) for batch in table.batches] or [pa.record_batch(table.schema)]
    )
    buffer = pa.BufferOutputStream()
    csv.write_csv(rows, buffer)
    return write_csv_file(name, buffer.getvalue().to_pybytes(), folder)


@contextmanager
def open_sample(value: Any, name: str) -> Iterator[OpenedSample]:
    """Open the files of a path, a FlyteFile or a FlyteDirectory; decompressed copies are removed on exit.

    Raises:
        SampleError: the value is not a path, nothing is there, a file is empty or broken, or a folder holds files of
            several formats.
    """
    from flyteplugins_codegen.data.tables import SampleFile, SampleSource

    path = _local_path(value, name)
    with ExitStack() as stack:
        files, compressions, notes = [], set[str | None](), []
        for original in _list_files(path, name):
            real, compression = stack.enter_context(unpacked_file(name, original))
            files.append(SampleFile(real, identify(name, real, original), original))
            compressions.add(compression)
            if compression and real.name == original.name:
                notes.append(f"packed with {compression}, though its name does not say so")
        _check_one_format(name, path, files)
        size_bytes = sum(file.display_path.stat().st_size for file in files)
        common = compressions.pop() if len(compressions) == 1 else None
        yield OpenedSample(SampleSource(name, tuple(files)), path, size_bytes, common, tuple(dict.fromkeys(notes)))


def _local_path(value: Any, name: str) -> Path:
    if not isinstance(value, str | os.PathLike):
        raise SampleError(
            f"sample {name!r}: {type(value).__name__} is not supported; pass a path, a FlyteFile, a FlyteDirectory, a "
            "StructuredDataset or a data frame of pandas, pyarrow or polars"
        )
    if isinstance(value, str) and "://" in value:
        raise SampleError(f"sample {name!r}: {value!r} is no path on this machine; pass FlyteFile({value!r})")
    # A FlyteFile downloads its file when `os.fspath` is called on it.
    return Path(os.fspath(value)).expanduser().absolute()


def _list_files(path: Path, name: str) -> list[Path]:
    """Return the file, or the non-empty files of a folder without hidden files and markers such as `_SUCCESS`."""
    if not path.is_dir():
        check_readable(name, path)
        return [path]
    try:
        visible = sorted(file for file in path.rglob("*") if file.is_file() and not _is_hidden(file.relative_to(path)))
    except OSError as error:
        raise unreadable_error(name, path, error) from error
    filled = [file for file in visible if file.stat().st_size]
    if not filled:
        raise SampleError(f"sample {name!r}: the folder {path} holds no file with content; pass one that does")
    if len(filled) > _MOST_FILES:
        raise SampleError(f"sample {name!r}: the folder {path} holds {len(filled)} files; pass {_MOST_FILES} at most")
    return filled


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _check_one_format(name: str, path: Path, files: list[Any]) -> None:
    formats = {file.content.format: file.display_path.name for file in reversed(files)}
    if len(formats) > 1:
        listed = ", ".join(f"{file_format} ({file})" for file_format, file in sorted(formats.items()))
        raise SampleError(
            f"sample {name!r}: the folder {path} mixes formats: {listed}; pass one sample for each format"
        )


def _is_structured_dataset(value: Any) -> bool:
    # By name, so that flytekit is not imported.
    return type(value).__name__ == "StructuredDataset" and type(value).__module__.startswith("flytekit.")


def _load_dataset(dataset: Any, name: str) -> Any:
    """Return the frame that a StructuredDataset was created from, or the data stored at its URI."""
    import pyarrow as pa

    if dataset.dataframe is not None:
        return dataset.dataframe
    try:
        return dataset.open(pa.Table).all()
    except Exception as error:  # each kind of storage raises errors of its own
        raise SampleError(
            f"sample {name!r}: the StructuredDataset at {dataset.uri!r} cannot be read ({error}); check its address"
        ) from error
