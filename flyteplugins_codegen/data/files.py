"""Sample files as they come in: described by their content, and data frames written out as files."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flyteplugins_codegen.errors import SampleError
from flyteplugins_codegen.models.job import Sample
from flyteplugins_codegen.store import write_file

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
        write_file(path, data, mode=0o600)
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


# Packed files: unpacked into a private folder first, since most readings need more than one look.

_UNPACKED_CHUNK_BYTES = 4 << 20
_SIGNATURES = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh", "bz2"))
_SUFFIXES = {"gzip": (".gz", ".gzip"), "zstd": (".zst", ".zstd"), "bz2": (".bz2", ".bz")}
# Tables shrink to a tenth or a fiftieth. What grows further than this is made to fill disks.
MOST_TIMES_LARGER = 200
_NEVER_A_BOMB_BYTES = 256 << 20


def compression_of(name: str, path: Path) -> str | None:
    """How the file is packed, by its first bytes. Raises SampleError for a file that cannot be read or is empty."""
    check_readable(name, path)
    with path.open("rb") as file:
        head = file.read(8)
    return next((kind for mark, kind in _SIGNATURES if head.startswith(mark)), None)


@contextmanager
def unpacked(name: str, path: Path) -> Iterator[tuple[Path, str | None]]:
    """A path of the file's unpacked content, gone afterwards, and how it was packed; the file itself if it was not.

    Raises:
        SampleError: it is broken or cut off, grows without measure, or is not packed as its name says.
    """
    kind = compression_of(name, path)
    _check_claim(name, path, kind)
    if kind is None:
        yield path, None
        return
    with tempfile.TemporaryDirectory(prefix="codegen-unpacked-") as folder:
        target = Path(folder) / (path.stem if path.suffix.lower() in _SUFFIXES[kind] else path.name)
        with target.open("wb") as file:
            for chunk in _chunks(name, path, kind):
                file.write(chunk)
        yield target, kind


def check_growth(name: str, path: Path, unpacked_bytes: int) -> None:
    """Refuse a file whose content grows without measure. Raises SampleError."""
    packed_bytes = path.stat().st_size
    if unpacked_bytes > max(_NEVER_A_BOMB_BYTES, MOST_TIMES_LARGER * packed_bytes):
        raise SampleError(
            f"sample {name!r}: {path} holds {packed_bytes} bytes that unpack to more than {MOST_TIMES_LARGER} times "
            "as many; unpack it yourself if you trust it, and pass the content"
        )


def _check_claim(name: str, path: Path, kind: str | None) -> None:
    claim = next((packed for packed, suffixes in _SUFFIXES.items() if path.suffix.lower() in suffixes), kind)
    if claim != kind:
        found = f"packed with {kind}" if kind else "not packed"
        raise SampleError(
            f"sample {name!r}: {path} is called {path.suffix}, but it is {found}; "
            "give it the right extension, or pass the right file"
        )


def _chunks(name: str, path: Path, kind: str) -> Iterator[bytes]:
    import pyarrow as pa

    unpacked_bytes = 0
    try:
        with pa.CompressedInputStream(pa.OSFile(str(path)), kind) as stream:
            while chunk := _bytes(stream.read(_UNPACKED_CHUNK_BYTES)):
                unpacked_bytes += len(chunk)
                check_growth(name, path, unpacked_bytes)
                yield chunk
    except (OSError, ValueError) as error:
        if isinstance(error, SampleError):
            raise
        raise SampleError(
            f"sample {name!r}: {path} cannot be unpacked as {kind} ({error}); it may have been cut off while it was "
            "copied; copy it again"
        ) from error


def _bytes(chunk: Any) -> bytes:
    return bytes(chunk)
