"""Collecting a job's outputs from what its container sends, by the same rules as from a folder.

Process 1 of the container has applied the rules before, so as to send no more than is collected. Here they are applied
to what it says, and this is what counts. An honest container names nothing twice and nothing that it did not announce;
a message that does either ends the session.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from flyteplugins_codegen.sandbox.collect import (
    CollectedOutputs,
    CopiedEntry,
    ExceededError,
    Outcome,
    OutputCopies,
    RefusedError,
    check_depth,
    check_kind,
    check_name,
    gather,
    make_output,
    refuse_all,
)
from flyteplugins_codegen.sandbox.container.session import Frame, SessionEndedError
from flyteplugins_codegen.sandbox.contract import Everything, Job

_MAX_DIGITS = 18  # of a number that a kernel counts in 64 bits


def collect_sent(frames: Iterator[Frame], job: Job, folder: Path) -> CollectedOutputs:
    """Copy a job's outputs from these frames, the `L`, `N` and `B` of its container, into `folder`.

    Raises SessionEndedError for frames that do not describe a folder, OSError if this machine's disk does not take the
    copies.
    """
    collector = _FrameCollector(frames, job, folder)
    try:
        collector.read_count_of_all()
    except ExceededError as error:
        return refuse_all(error)
    return gather(job, collector.collect_all())


class _FrameCollector:
    """Collects outputs from frames. `_announced` is how many entries may still come."""

    def __init__(self, frames: Iterator[Frame], job: Job, folder: Path) -> None:
        self._frames = frames
        self._next = next(frames, None)
        self._declared = None if isinstance(job.outputs, Everything) else frozenset(job.outputs)
        self._announced = 0 if self._declared is None else len(self._declared)
        self._copies = OutputCopies(job.limits, folder)

    def read_count_of_all(self) -> None:
        """If all outputs are wanted, read how many there are. Raises ExceededError for too many."""
        if self._declared is None:
            self._read_count()

    def collect_all(self) -> dict[str, Outcome]:
        """The outcome of each name."""
        outcomes = dict[str, Outcome]()
        while self._next is not None:
            name = _path_of(self._next)[0]
            if name in outcomes or not (self._declared is None or name in self._declared):
                raise SessionEndedError("the container named an output that it may not")
            outcomes[name] = self._collect(name)
        return outcomes

    def _collect(self, name: str) -> Outcome:
        try:
            return make_output(self._walk(name), self._copies)
        except RefusedError as error:
            while self._is_about(name):
                self._advance()
            return error

    def _walk(self, name: str) -> Iterator[CopiedEntry]:
        entry = self._copy_entry()
        yield entry
        while entry.copy is None and self._is_about(name):
            if self._next and self._next.kind == b"L":
                self._read_count()
            else:
                yield self._copy_entry(is_inside=True)

    def _read_count(self) -> None:
        (count,), _ = _parse(self._advance(), b"L", 1)
        self._copies.count_entries(count)
        self._announced += count

    def _copy_entry(self, *, is_inside: bool = False) -> CopiedEntry:
        (mode, links, size_bytes), parts = _parse(self._advance(), b"N", 3)
        self._announced -= 1
        if self._announced < 0:
            raise SessionEndedError("the container named more outputs than it has")
        for part in parts:
            check_name(part)
        check_depth(parts)
        check_kind(parts[-1], mode, links)
        if is_inside and len(parts) == 1:
            raise SessionEndedError("the container named an output twice")
        if stat.S_ISDIR(mode):
            return CopiedEntry(parts, mode)
        path, missing_bytes = self._copies.add(size_bytes, self._contents())
        if missing_bytes:
            raise RefusedError(f"holds {parts[-1]!a}, which the container did not hand out")
        return CopiedEntry(parts, mode, size_bytes, path)

    def _contents(self) -> Iterator[bytes]:
        while self._next and self._next.kind == b"B":
            yield self._advance().payload

    def _is_about(self, name: str) -> bool:
        """Whether the next frame is about that output."""
        return self._next is not None and (self._next.kind == b"B" or _path_of(self._next)[0] == name)

    def _advance(self) -> Frame:
        frame, self._next = self._next, next(self._frames, None)
        if frame is None:
            raise SessionEndedError("the container handed out less than it announced")
        return frame


def _path_of(frame: Frame) -> tuple[str, ...]:
    return _parse(frame, frame.kind, 1 if frame.kind == b"L" else 3)[1]


def _parse(frame: Frame, kind: bytes, count: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The numbers of a frame, and the parts of its path. Raises SessionEndedError for another frame."""
    fields = frame.payload.split(b" ", count)
    numbers = fields[:count]
    if frame.kind != kind or len(fields) <= count or not all(map(_is_number, numbers)):
        raise SessionEndedError("the container said something that does not belong here")
    return tuple(map(int, numbers)), tuple(fields[count].decode(errors="surrogateescape").split("/"))


def _is_number(field: bytes) -> bool:
    return field.isdigit() and len(field) <= _MAX_DIGITS
