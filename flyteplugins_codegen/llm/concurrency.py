"""How calls wait for each other: a limit of concurrent calls to one server, and a lock for equal requests.

The limit holds for all threads and event loops of a process, the lock for all processes that use one cache folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import functools
import os
import threading
import time
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path

_POLL_S = 0.02
_NOT_POSSIBLE = -1


class ConcurrencyLimit:
    """A semaphore for several event loops: lets `limit` callers in at once, the others in the order of arrival."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()
        self._lock = threading.Lock()

    async def __aenter__(self) -> None:
        """Wait for a free slot. A caller that is cancelled while it waits holds none."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._free:
                self._free -= 1
                return
            waiter = (loop, loop.create_future())
            self._waiting.append(waiter)
        try:
            await waiter[1]
        except asyncio.CancelledError:
            with self._lock:
                is_waiting = waiter in self._waiting
                if is_waiting:
                    self._waiting.remove(waiter)
            if not is_waiting:
                self._release()
            raise

    async def __aexit__(self, *_: object) -> None:
        """Pass the slot on to the next waiter."""
        self._release()

    def _release(self) -> None:
        with self._lock:
            while self._waiting:
                loop, future = self._waiting.popleft()
                try:
                    loop.call_soon_threadsafe(_wake, future)
                except RuntimeError:  # its loop is closed, so nobody waits any more
                    continue
                return
            self._free += 1


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


@functools.cache
def concurrency_limit(address: str, limit: int) -> ConcurrencyLimit:
    """The one limit of this process for a server."""
    del address
    return ConcurrencyLimit(limit)


@contextlib.asynccontextmanager
async def request_lock(path: Path, patience_s: float) -> AsyncIterator[float]:
    """Hold the lock that this file stands for; yields the seconds waited, 0 where no other process or task held it.

    The block also runs without the lock, after `patience_s` or where the disk takes no file: a request that is made
    twice costs its price, and one that is never made costs the run.
    """
    started, waited_s = time.monotonic(), 0.0
    descriptor = _try_lock(path)
    while descriptor is None and waited_s < patience_s:
        # By polling: waiting in the kernel would block the event loop.
        await asyncio.sleep(_POLL_S)
        descriptor, waited_s = _try_lock(path), time.monotonic() - started
    try:
        yield waited_s
    finally:
        if descriptor is not None and descriptor != _NOT_POSSIBLE:
            _unlock(path, descriptor)


def _unlock(path: Path, descriptor: int) -> None:
    """Remove the file, then unlock it, so that whoever opened it meanwhile sees that its lock has no effect."""
    with contextlib.suppress(OSError):
        path.unlink()
    os.close(descriptor)


def _try_lock(path: Path) -> int | None:
    """The descriptor that holds the lock, None where another holds it, `_NOT_POSSIBLE` where nobody can hold one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return _NOT_POSSIBLE
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_current = os.fstat(descriptor).st_ino == path.stat().st_ino
    except (BlockingIOError, FileNotFoundError):
        is_current = False
    except OSError:  # a file system without locks
        os.close(descriptor)
        return _NOT_POSSIBLE
    if is_current:
        return descriptor
    os.close(descriptor)  # another holds the lock, or its last holder has removed this file
    return None
