"""What the system holds of a process, changed by prctl(2).

A part of the program that judges by values: standard library only, it runs inside the sandbox, in every process.
"""

from __future__ import annotations

import _ctypes  # `ctypes` would cost each start 2 ms
import sys

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from typing import Any

# PR_SET_DUMPABLE: whether /proc/<this>/mem, fd and environ can be read by processes of the same user.
CLOSE_MEMORY, OPEN_MEMORY = (4, 0, 0, 0, 0), (4, 1, 0, 0, 0)
# PR_SET_CHILD_SUBREAPER: whether what those that it started leave running becomes its own.
TAKE_ORPHANS = (36, 1, 0, 0, 0)


def change_process(*changes: tuple[int, ...]) -> None:
    """Make the changes. Raises OSError where the system refuses one; does nothing where it knows none of them."""
    if sys.platform != "linux":
        return
    this_program: Any = None  # its libraries are open, the C library among them
    prctl = _ctypes.dlsym(_ctypes.dlopen(this_program, 0), "prctl")
    for words in changes:
        if _ctypes.call_function(prctl, words) != 0:
            raise OSError(f"the judge cannot be closed to the solution: prctl{words} failed")
