"""Lines that the judged process writes and the judge reads, in memory that both of them have.

A part of the program that judges by values: standard library only, it runs inside the sandbox, in both processes.

What is written costs neither of them a call of the system, and stays when the one who wrote it is gone. The judged
process can write here what it likes, whenever it likes: the judge reads each line once, and then looks at its copy.
"""

from __future__ import annotations

from mmap import mmap

SIZE_BYTES = 1 << 20
_EMPTY = b"\0"  # no text of plain data holds one


class Slate:
    """Empty at first. Each process has its own view of how far it has come."""

    def __init__(self) -> None:
        self._memory = mmap(-1, SIZE_BYTES)
        self._write = self._memory.write
        self._read_to = 0

    def begin(self) -> None:
        """Write from the beginning, where the judge has wiped it."""
        self._memory.seek(0)

    def add(self, text: bytes) -> bool:
        """Write a line, if there is room for it, and this process may."""
        try:
            self._write(text + b"\n")
        except ValueError:
            return False
        return True

    def take(self) -> list[bytes]:
        """The lines that have been written, as a whole, since the last that were taken."""
        # A line that is being written ends here at the first byte of it that is not there yet, and so is left.
        end = self._memory.find(_EMPTY, self._read_to)
        *lines, _ = self._memory[self._read_to : end if end >= 0 else SIZE_BYTES].split(b"\n")
        self._read_to += sum(map(len, lines)) + len(lines)
        return lines

    def wipe(self) -> None:
        """Make room: nothing that is written is taken any more."""
        end = self._memory.find(_EMPTY)
        used = end if end >= 0 else SIZE_BYTES
        self._memory[:used] = bytes(used)
        self._read_to = 0

    def close(self) -> None:
        """Let go of the memory in this process."""
        self._memory.close()
