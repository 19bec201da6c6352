"""Sample files: described by their content, decompressed, and written from data frames."""

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

_READ_BYTES = 1 << 20
_UNPACKED_BYTES = 4 << 20
_SIGNATURES = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh", "bz2"))
_SUFFIXES = {"gzip": (".gz", ".gzip"), "zstd": (".zst", ".zstd"), "bz2": (".bz2", ".bz")}
# Tables compress ten to fifty times. A file beyond this ratio is taken for a decompression bomb.
_MOST_TIMES_LARGER = 200
_NEVER_A_BOMB_BYTES = 256 << 20


def describe_sample(name: str, path: Path) -> Sample:
    """Return the sample's file name, size in bytes and SHA-256. The file is read in chunks.

    Raises:
        SampleError: the file is missing, a folder or otherwise not a regular file, empty, or unreadable.
    """
    check_readable(name, path)
    sha, size_bytes = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(_READ_BYTES):
                sha.update(chunk)
                size_bytes += len(chunk)
    except OSError as error:
        raise unreadable_error(name, path, error) from error
    return Sample(name=name, file_name=path.name, size_bytes=size_bytes, digest=sha.hexdigest())


def check_readable(name: str, path: Path) -> None:
    """Check that the path is a regular file with content. Raises SampleError, which names sample, path and remedy."""
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
        raise unreadable_error(name, path, error) from error


def unreadable_error(name: str, path: Path, error: OSError) -> SampleError:
    """Return the error for a file that the operating system refuses to read."""
    return SampleError(f"sample {name!r}: {path} cannot be read ({error.strerror or error}); check its permissions")


def is_data_frame(value: Any) -> bool:
    """Return whether the value is a pandas DataFrame, by the name of its type, so that pandas is not imported."""
    return any(
        base.__name__ == "DataFrame" and base.__module__.partition(".")[0] == "pandas" for base in type(value).__mro__
    )


def frame_to_file(name: str, frame: Any, folder: Path) -> Path:
    """Write a pandas DataFrame as CSV, without its index, to a file in the folder named by its content.

    The frame is not changed. Equal content gives the same file, which is not written again.

    Raises:
        SampleError: it is not a DataFrame, has no columns, or CSV cannot hold its columns (several levels, equal
            names).
    """
    _check_frame(name, frame)
    return write_csv_file(name, frame.to_csv(index=False, lineterminator="\n").encode(), folder)


def write_csv_file(name: str, data: bytes, folder: Path) -> Path:
    """Write a CSV file in the folder, named by the sample and its content, unless it exists; return its path."""
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


@contextmanager
def unpacked_file(name: str, path: Path) -> Iterator[tuple[Path, str | None]]:
    """Yield the path of the file's decompressed content and its compression; the file itself if it has none.

    The decompressed content is a temporary file, because most readers read a file more than once.

    Raises:
        SampleError: the file is broken or cut off, decompresses to far more than its size, or does not have the
            compression that its name says.
    """
    compression = _compression_of(name, path)
    _check_suffix(name, path, compression)
    if compression is None:
        yield path, None
        return
    with tempfile.TemporaryDirectory(prefix="codegen-unpacked-") as folder:
        target = Path(folder) / (path.stem if path.suffix.lower() in _SUFFIXES[compression] else path.name)
        with target.open("wb") as file:
            for chunk in _unpacked_chunks(name, path, compression):
                file.write(chunk)
        yield target, compression


def check_growth(name: str, path: Path, unpacked_bytes: int) -> None:
    """Check that a file does not decompress to far more than its size. Raises SampleError."""
    packed_bytes = path.stat().st_size
    if unpacked_bytes > max(_NEVER_A_BOMB_BYTES, _MOST_TIMES_LARGER * packed_bytes):
        raise SampleError(
            f"sample {name!r}: {path} holds {packed_bytes} bytes that unpack to more than {_MOST_TIMES_LARGER} times "
            "as many; unpack it yourself if you trust it, and pass the content"
        )


def _compression_of(name: str, path: Path) -> str | None:
    """Return the file's compression, by its first bytes. Raises SampleError for an unreadable or empty file."""
    check_readable(name, path)
    with path.open("rb") as file:
        head = file.read(8)
    return next((compression for mark, compression in _SIGNATURES if head.startswith(mark)), None)


def _check_suffix(name: str, path: Path, compression: str | None) -> None:
    suffix = path.suffix.lower()
    claimed = next((packed for packed, suffixes in _SUFFIXES.items() if suffix in suffixes), compression)
    if claimed != compression:
        actual = f"packed with {compression}" if compression else "not packed"
        raise SampleError(
            f"sample {name!r}: {path} is called {path.suffix}, but it is {actual}; "
            "give it the right extension, or pass the right file"
        )


def _unpacked_chunks(name: str, path: Path, compression: str) -> Iterator[bytes]:
    import pyarrow as pa

    unpacked_bytes = 0
    try:
        with pa.CompressedInputStream(pa.OSFile(str(path)), compression) as stream:
            while chunk := bytes(stream.read(_UNPACKED_BYTES)):
                unpacked_bytes += len(chunk)
                check_growth(name, path, unpacked_bytes)
                yield chunk
    except (OSError, ValueError) as error:
        if isinstance(error, SampleError):
            raise
        raise SampleError(
            f"sample {name!r}: {path} cannot be unpacked as {compression} ({error}); it may have been cut off while it "
            "was copied; copy it again"
        ) from error
