"""What a job writes to its standard streams: the first bytes are kept, the rest is drained and counted."""

from __future__ import annotations

import os

_CHUNK_BYTES = 1 << 16


class Stream:
    """One pipe that a job writes to. `cut` counts the bytes that came after `keep_bytes` and were dropped."""

    def __init__(self, descriptor: int, keep_bytes: int) -> None:
        self.descriptor = descriptor
        self.cut = 0
        self._room = keep_bytes
        self._kept = bytearray()

    @property
    def kept(self) -> bytes:
        """The bytes that came first."""
        return bytes(self._kept)

    def take(self) -> bool:
        """Read what is there now; False at the end of the stream."""
        chunk = os.read(self.descriptor, _CHUNK_BYTES)
        fitting = chunk[: self._room - len(self._kept)]
        self._kept += fitting
        self.cut += len(chunk) - len(fitting)
        return bool(chunk)
