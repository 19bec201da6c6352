"""One question at a time: who asks holds a lock on it, and whoever asks the same meanwhile waits for the answer.

The lock is the kernel's, on an open file (flock), so that it ends with its holder, however that ends. Two tasks of one
process hold off each other as two processes do.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

_LOOK_EVERY_S = 0.02


_NOT_POSSIBLE = -1


@contextlib.asynccontextmanager
async def claimed(path: Path, patience_s: float) -> AsyncIterator[float]:
    """Hold the claim that this file stands for; the seconds that it took, 0 where nobody else held it.

    Without a claim it goes on too, after `patience_s` and where the disk takes no file: a question that is asked twice
    costs its price, and one that is never asked costs the run.
    """
    started, waited_s = time.monotonic(), 0.0
    claim = _try_claim(path)
    while claim is None and waited_s < patience_s:
        # Looked at in turn: a call that waits in the kernel would hold up the event loop.
        await asyncio.sleep(_LOOK_EVERY_S)
        claim, waited_s = _try_claim(path), time.monotonic() - started
    try:
        yield waited_s
    finally:
        if claim is not None and claim != _NOT_POSSIBLE:
            _give_up(path, claim)


def _give_up(path: Path, claim: int) -> None:
    """End the claim, its file first: by that, whoever opened it meanwhile sees that its lock stands for nothing."""
    with contextlib.suppress(OSError):
        path.unlink()
    os.close(claim)


def _try_claim(path: Path) -> int | None:
    """The descriptor that holds the claim, None where another holds it, `_NOT_POSSIBLE` where none can be held."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return _NOT_POSSIBLE
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = os.fstat(descriptor).st_ino == path.stat().st_ino
    except (BlockingIOError, FileNotFoundError):
        is_ours = False
    except OSError:  # a file system without locks
        os.close(descriptor)
        return _NOT_POSSIBLE
    if is_ours:
        return descriptor
    os.close(descriptor)  # the holder before has removed the file that this is the lock of
    return None
