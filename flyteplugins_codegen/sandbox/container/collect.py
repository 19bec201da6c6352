"""Taking a job's outputs as its container hands them out, by the same rules as from a folder.

Process 1 of the container has applied them before, so as to send no more than is taken. Here they are applied to what
it says, and count. An honest one names nothing twice and nothing that was not announced; what does is not listened to.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flyteplugins_codegen.sandbox.collect import (
    Budget,
    Copies,
    ExceededError,
    Harvest,
    RefusedError,
    Taken,
    check_depth,
    check_kind,
    check_name,
    gather,
    refuse_all,
)
from flyteplugins_codegen.sandbox.container.session import Frame, TalkEndedError
from flyteplugins_codegen.sandbox.contract import Everything, Job, Output

_MOST_DIGITS = 18  # of what a kernel counts in 64 bits


@dataclass(frozen=True, slots=True)
class _Entry:
    """What was said of one file or folder."""

    mode: int
    links: int
    size_bytes: int
    parts: tuple[str, ...]

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.mode)


def take_handed(frames: Iterator[Frame], job: Job, folder: Path) -> Harvest:
    """Copy a job's outputs out of these frames, the `L`, `N` and `B` of its container, into `folder`.

    Raises TalkEndedError for frames that are no honest account of a folder, OSError when this machine's disk does not
    take the copies.
    """
    intake = _Intake(frames, job, folder)
    try:
        intake.expect_names()
    except ExceededError as error:
        return refuse_all(error)
    return gather(job, intake.take_all())


class _Intake:
    def __init__(self, frames: Iterator[Frame], job: Job, folder: Path) -> None:
        self._frames = frames
        self._next = next(frames, None)
        self._declared = None if isinstance(job.outputs, Everything) else frozenset(job.outputs)
        self._announced = 0 if self._declared is None else len(self._declared)
        self._budget = Budget(job.limits)
        self._folder = folder
        self._copies: Copies | None = None

    def expect_names(self) -> None:
        """Where all outputs are wanted, hear first how many there are. Raises ExceededError for too many."""
        if self._declared is None:
            self._hear_of_folder()

    def take_all(self) -> dict[str, Taken]:
        """What became of each name."""
        taken = dict[str, Taken]()
        while self._next is not None:
            name = _path_of(self._next)[0]
            if name in taken or not (self._declared is None or name in self._declared):
                raise TalkEndedError("the container named an output that it may not")
            taken[name] = self._try_take(name)
        return taken

    def _try_take(self, name: str) -> Taken:
        try:
            return self._take(name)
        except RefusedError as error:
            while self._is_of(name):
                self._advance()
            return error

    def _take(self, name: str) -> Output:
        entry = self._hear_of_entry()
        if not entry.is_directory:
            return Output(
                name,
                is_directory=False,
                size_bytes=entry.size_bytes,
                files={name: self._copy(entry)},
                executable=frozenset((name,) if entry.mode & stat.S_IXUSR else ()),
                kept=self._copies,
            )
        return self._take_tree(name)

    def _take_tree(self, name: str) -> Output:
        files, executable, folders, size_bytes = dict[str, Path](), set[str](), list[str](), 0
        while self._is_of(name):
            if self._next and self._next.kind == b"L":
                self._hear_of_folder()
                continue
            entry = self._hear_of_entry()
            inner = "/".join(entry.parts[1:])
            if not inner:
                raise TalkEndedError("the container named an output twice")
            if entry.is_directory:
                folders.append(inner)
                continue
            files[inner] = self._copy(entry)
            executable |= {inner} if entry.mode & stat.S_IXUSR else set()
            size_bytes += entry.size_bytes
        return Output(
            name,
            is_directory=True,
            size_bytes=size_bytes,
            files=files,
            executable=frozenset(executable),
            folders=tuple(folders),
            kept=self._copies,
        )

    def _hear_of_folder(self) -> None:
        (count,), _ = _parse(self._advance(), b"L", 1)
        self._budget.count_entries(count)
        self._announced += count

    def _hear_of_entry(self) -> _Entry:
        (mode, links, size_bytes), parts = _parse(self._advance(), b"N", 3)
        self._announced -= 1
        if self._announced < 0:
            raise TalkEndedError("the container named more outputs than it has")
        for part in parts:
            check_name(part)
        check_depth(parts)
        check_kind(parts[-1], mode, links)
        return _Entry(mode, links, size_bytes, parts)

    def _copy(self, entry: _Entry) -> Path:
        self._budget.count_bytes(entry.size_bytes)
        self._copies = self._copies or Copies(self._folder)
        path = self._copies.next_path()
        left = entry.size_bytes
        with path.open("xb") as file:
            while left > 0 and self._next and self._next.kind == b"B":
                content = self._advance().payload
                left -= file.write(content[:left])
        if left > 0:
            raise RefusedError(f"holds {entry.parts[-1]!a}, which the container did not hand out")
        return path

    def _is_of(self, name: str) -> bool:
        """Whether what comes next is about that output."""
        return self._next is not None and (self._next.kind == b"B" or _path_of(self._next)[0] == name)

    def _advance(self) -> Frame:
        frame, self._next = self._next, next(self._frames, None)
        if frame is None:
            raise TalkEndedError("the container handed out less than it announced")
        return frame


def _path_of(frame: Frame) -> tuple[str, ...]:
    return _parse(frame, frame.kind, 1 if frame.kind == b"L" else 3)[1]


def _parse(frame: Frame, kind: bytes, count: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The numbers of a frame, and the parts of its path."""
    fields = frame.payload.split(b" ", count)
    numbers = fields[:count]
    if frame.kind != kind or len(fields) <= count or not all(map(_is_number, numbers)):
        raise TalkEndedError("the container said something that does not belong here")
    return tuple(map(int, numbers)), tuple(fields[count].decode(errors="surrogateescape").split("/"))


def _is_number(field: bytes) -> bool:
    return field.isdigit() and len(field) <= _MOST_DIGITS
