"""Packed files: unpacked into a private folder first, since most readings need more than one look."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flyteplugins_codegen.data.files import check_readable
from flyteplugins_codegen.errors import SampleError

_CHUNK_BYTES = 4 << 20
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
            while chunk := _bytes(stream.read(_CHUNK_BYTES)):
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
