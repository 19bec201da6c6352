"""Talking with process 1 of a container: the frames that come out of it, and what it is told.

Its standard output passes through the engine, and nothing that comes out is trusted: a frame is bounded, and what is no
frame ends the talk.
"""

from __future__ import annotations

import os
import selectors
import time
from contextlib import suppress
from dataclasses import dataclass
from subprocess import Popen, TimeoutExpired
from typing import IO

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.sandbox.container_engine import errors_in
from flyteplugins_codegen.sandbox.streams import Stream

_HEAD_BYTES = 5
_LONGEST_BYTES = 1 << 20
_READ_BYTES = 1 << 18
_WRITE_BYTES = 1 << 16
_ERRORS_BYTES = 1 << 16
_LAST_WORDS_S = 10.0
_LONGEST_WAIT_S = 3600.0  # what a system takes as a time-out is bounded


@dataclass(frozen=True, slots=True)
class Frame:
    """One message; `container_reaper` says which kinds there are."""

    kind: bytes
    payload: bytes


class TalkEndedError(SandboxError):
    """The container ended, or said something that is no frame, before it had said all."""


class Talk:
    """One container's end of a conversation; its process is what `podman run` or `docker run` was started as."""

    def __init__(self, process: Popen[bytes], opening: bytes) -> None:
        """`opening` is what the container is told first, as soon as it listens."""
        self._process = process
        self._untold = memoryview(opening)
        self._input, self._output, errors = _pipes(process)
        self._errors = Stream(errors.fileno(), _ERRORS_BYTES)
        self._read = bytearray()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output.fileno(), selectors.EVENT_READ)
        self._selector.register(self._errors.descriptor, selectors.EVENT_READ)
        os.set_blocking(self._input.fileno(), False)
        self._selector.register(self._input.fileno(), selectors.EVENT_WRITE)

    @property
    def exit_status(self) -> int | None:
        """What the engine ended with: 137 where process 1 was killed; None while it runs."""
        return self._process.poll()

    def next_frame(self, deadline: float) -> Frame | None:
        """The next message; None when the deadline has passed first. Raises TalkEndedError."""
        while True:
            frame = self._parse()
            if frame is not None:
                return frame
            if not self._wait(deadline):
                return None

    def end_job(self) -> None:
        """Have the job ended; what it left is still handed out."""
        with suppress(OSError):  # it is gone
            self._input.write(b"k")

    def let_go(self) -> None:
        """Let the container end; all that runs in it ends with it."""
        with suppress(OSError):
            self._input.close()

    def close(self) -> None:
        """Stop listening. An engine that still has something to say of the job must not wait for a listener."""
        self.let_go()
        self._selector.close()
        self._output.close()

    def _wait(self, deadline: float) -> bool:
        """Read on. False when the deadline has passed; raises TalkEndedError at the end."""
        if self._output.fileno() not in self._selector.get_map():
            raise TalkEndedError(f"the container has ended: {self._last_words()}")
        if time.monotonic() >= deadline:
            return False
        self._step(deadline)
        return True

    def _last_words(self) -> str:
        """What the engine says on its standard error, where nothing of the job's goes, and how it ends."""
        deadline = time.monotonic() + _LAST_WORDS_S
        while self._errors.descriptor in self._selector.get_map() and time.monotonic() < deadline:
            self._step(deadline)
        with suppress(TimeoutExpired):
            self._process.wait(max(0.0, deadline - time.monotonic()))
        return errors_in(self._errors.kept.decode(errors="replace")) or f"exit status {self.exit_status}"

    def _step(self, deadline: float) -> None:
        for key, _ in self._selector.select(min(max(0.0, deadline - time.monotonic()), _LONGEST_WAIT_S)):
            if not self._act_on(key.fd):
                self._selector.unregister(key.fd)

    def _act_on(self, descriptor: int) -> bool:
        """Read or write what is possible now; False when there will be no more."""
        if descriptor == self._output.fileno():
            return self._take()
        if descriptor == self._errors.descriptor:
            return self._errors.take()
        return self._tell()

    def _tell(self) -> bool:
        try:
            self._untold = self._untold[os.write(self._input.fileno(), self._untold[:_WRITE_BYTES]) :]
        except BrokenPipeError:  # the engine has ended, and says why elsewhere
            return False
        return bool(self._untold)

    def _take(self) -> bool:
        chunk = os.read(self._output.fileno(), _READ_BYTES)
        self._read += chunk
        return bool(chunk)

    def _parse(self) -> Frame | None:
        if len(self._read) < _HEAD_BYTES:
            return None
        size = int.from_bytes(self._read[1:_HEAD_BYTES], "big")
        if size > _LONGEST_BYTES:
            raise TalkEndedError("the container said something that is no message")
        end = _HEAD_BYTES + size
        if len(self._read) < end:
            return None
        frame = Frame(bytes(self._read[:1]), bytes(self._read[_HEAD_BYTES:end]))
        del self._read[:end]
        return frame


def _pipes(process: Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise ValueError("the process was started without its pipes")
    return process.stdin, process.stdout, process.stderr
