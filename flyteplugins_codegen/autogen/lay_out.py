"""Lays out a folder for a program, and becomes that program: `lay_out.py SOURCE TARGET COMMAND...`, in the sandbox.

Alone in its file, standard library only: it is handed to the sandbox as it is. One NUL byte on standard error says that
everything is in its place; nothing else has run by then that could say so.
"""

from __future__ import annotations

import os
import sys

_CHUNK_BYTES = 1 << 20


def copy_tree(source: str, target: str) -> None:
    """Copy what is in a folder into another. There are only files and folders in it."""
    waiting = [(source, target)]
    while waiting:
        folder, place = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                new = os.path.join(place, entry.name)  # noqa: PTH118 - pathlib would take a third of the start-up
                if entry.is_dir():
                    os.mkdir(new)  # noqa: PTH102 - the same
                    waiting.append((entry.path, new))
                else:
                    copy_file(entry.path, new, entry.stat().st_mode & 0o111 | 0o644)


def copy_file(source: str, target: str, mode: int) -> None:
    """Copy a file's content."""
    with (
        open(source, "rb", buffering=0) as reading,  # noqa: PTH123 - the same
        os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb", 0) as writing,
    ):
        while chunk := reading.read(_CHUNK_BYTES):
            left = memoryview(chunk)
            while left:
                left = left[writing.write(left) :]


def main(source: str, target: str, *command: str) -> None:
    """Lay out, then run the command in the target folder, in this process."""
    copy_tree(source, target)
    os.chdir(target)
    os.write(2, b"\0")
    try:
        os.execvp(command[0], command)  # noqa: S606 - the command is ours
    except OSError as error:
        sys.exit(f"{command[0]} cannot be run: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
