"""How many calls one server gets at once, from all threads and event loops of this process together."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections import deque


class Gate:
    """Lets so many in at once; the others wait in the order in which they came, each in its own event loop."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()
        self._lock = threading.Lock()

    async def __aenter__(self) -> None:
        """Wait for a place. Who is cancelled meanwhile leaves none taken."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._free:
                self._free -= 1
                return
            place = (loop, loop.create_future())
            self._waiting.append(place)
        try:
            await place[1]
        except asyncio.CancelledError:
            with self._lock:
                is_waiting = place in self._waiting
                if is_waiting:
                    self._waiting.remove(place)
            if not is_waiting:
                self._pass_on()
            raise

    async def __aexit__(self, *_: object) -> None:
        """Give the place to the next one."""
        self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            while self._waiting:
                loop, let_in = self._waiting.popleft()
                try:
                    loop.call_soon_threadsafe(_let_in, let_in)
                except RuntimeError:  # its loop is closed: nobody waits any more
                    continue
                return
            self._free += 1


def _let_in(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


@functools.cache
def gate_of(address: str, limit: int) -> Gate:
    """The one gate of a server."""
    del address
    return Gate(limit)
