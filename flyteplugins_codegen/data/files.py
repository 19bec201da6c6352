"""Sample files as they come in: described by their content, and data frames written out as files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from flyteplugins_codegen.errors import SampleError
from flyteplugins_codegen.models.request import Sample
from flyteplugins_codegen.store import write_atomically

_CHUNK_BYTES = 1 << 20


def describe_sample(name: str, path: Path) -> Sample:
    """The sample's file name, size in bytes and SHA-256, read in a stream.

    Raises:
        SampleError: the file is missing, a folder or another thing that is no regular file, empty, or unreadable.
    """
    check_readable(name, path)
    sha, size_bytes = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                sha.update(chunk)
                size_bytes += len(chunk)
    except OSError as error:
        raise unreadable(name, path, error) from error
    return Sample(name=name, file_name=path.name, size_bytes=size_bytes, digest=sha.hexdigest())


def check_readable(name: str, path: Path) -> None:
    """Refuse a path that is no file with content. Raises SampleError, which names sample, path and remedy."""
    try:
        if path.is_dir():
            raise SampleError(f"sample {name!r}: {path} is a folder; pass one file, such as {path / 'data.csv'}")
        if not path.exists():
            raise SampleError(f"sample {name!r}: there is no file {path}; check the path (relative to {Path.cwd()})")
        if not path.is_file():
            raise SampleError(f"sample {name!r}: {path} is no regular file; copy its content to a file and pass that")
        if path.stat().st_size == 0:
            raise SampleError(f"sample {name!r}: {path} is empty (0 bytes); pass a file that holds some data")
    except OSError as error:
        raise unreadable(name, path, error) from error


def unreadable(name: str, path: Path, error: OSError) -> SampleError:
    """The error for a file that the operating system does not let us read."""
    return SampleError(f"sample {name!r}: {path} cannot be read ({error.strerror or error}); check its permissions")


def is_data_frame(value: Any) -> bool:
    """Whether the value is a pandas DataFrame; told by its type's name, so that pandas is not imported for it."""
    return any(
        base.__name__ == "DataFrame" and base.__module__.partition(".")[0] == "pandas" for base in type(value).__mro__
    )


def frame_to_file(name: str, frame: Any, folder: Path) -> Path:
    """Write a pandas DataFrame as CSV, index left out, to a file in the folder named by its content.

    The frame is not changed. The same content gives the same file, which is then not written again.

    Raises:
        SampleError: it is no DataFrame, holds no column, or CSV cannot hold its columns (several levels, equal names).
    """
    _check_frame(name, frame)
    return content_file(name, frame.to_csv(index=False, lineterminator="\n").encode(), folder)


def content_file(name: str, data: bytes, folder: Path) -> Path:
    """A CSV file in the folder, named by the sample and its content; not written again if it is there."""
    path = folder / f"{name}-{hashlib.sha256(data).hexdigest()[:16]}.csv"
    if not path.exists():
        write_atomically(path, data)
    return path


def _check_frame(name: str, frame: Any) -> None:
    if not is_data_frame(frame):
        raise SampleError(f"sample {name!r}: {type(frame).__name__} is no pandas DataFrame; pass one, or a path")
    columns = frame.columns
    if len(columns) == 0:
        raise SampleError(f"sample {name!r}: the DataFrame has no columns; pass one that holds some data")
    if columns.nlevels > 1:
        raise SampleError(
            f"sample {name!r}: the DataFrame's columns have {columns.nlevels} levels, which CSV cannot hold; "
            "flatten them first: frame.columns = ['_'.join(map(str, column)) for column in frame.columns]"
        )
    if any(level is not None for level in frame.index.names) or frame.index.dtype.kind not in "iu":
        raise SampleError(
            f"sample {name!r}: the DataFrame's index would be lost in a CSV file; pass frame.reset_index(), with "
            "drop=True if the index says nothing"
        )
    repeated = sorted({str(column) for column in columns[columns.duplicated()]})
    if repeated:
        raise SampleError(
            f"sample {name!r}: the DataFrame holds several columns named {', '.join(map(repr, repeated[:5]))}; "
            "give each its own name"
        )
