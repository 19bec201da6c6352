"""Copies a folder and then executes a program in the copy: `lay_out.py SOURCE TARGET COMMAND...`, in the sandbox.

This file is sent to the sandbox as it is, so it uses only the standard library. One NUL byte on standard error reports
that the copy is complete; no other program has run until then that could write it.
"""

from __future__ import annotations

import os
import sys

_CHUNK_BYTES = 1 << 20


def copy_tree(source: str, target: str) -> None:
    """Copy the content of a folder, which has only files and folders, into another folder."""
    waiting = [(source, target)]
    while waiting:
        folder, copy = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                new = os.path.join(copy, entry.name)  # noqa: PTH118 - importing pathlib would take a third of the start-up time
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
            rest = memoryview(chunk)
            while rest:
                rest = rest[writing.write(rest) :]


def main(source: str, target: str, *command: str) -> None:
    """Copy the folder, then execute the command in the copy, in this process."""
    copy_tree(source, target)
    os.chdir(target)
    os.write(2, b"\0")
    try:
        os.execvp(command[0], command)  # noqa: S606 - the command is ours
    except OSError as error:
        sys.exit(f"{command[0]} cannot be run: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
