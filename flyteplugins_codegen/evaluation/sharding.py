"""Splits an evaluation into independent parts, and merges their results in the order of the samples.

A part has whole problems, dealt out in turn: so each canonical solution is judged once, and a change to the samples of
one problem changes one part. The samples of a part are a file named by its content.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from typing_extensions import Self

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.evaluation import Evaluation, read_results, summarize
from flyteplugins_codegen.evaluation.samples import Samples
from flyteplugins_codegen.evaluation.scores import ProblemFlaw
from flyteplugins_codegen.evaluation.values import Problem, Sample, SampleResult
from flyteplugins_codegen.models.base import Value


class Part(Value):
    """Some problems of an evaluation; `content` is the digest of the part's samples."""

    task_ids: tuple[str, ...]
    content: str


def deal(samples: Samples, count: int) -> list[tuple[str, ...]]:
    """Deal the ids of the problems with samples into at most `count` parts. Raises RequestError for a count below 1."""
    if count < 1:
        raise RequestError(f"shards={count}: an evaluation has one part or more; give 1, or leave it out")
    task_ids = list(samples.counts)
    return [tuple(task_ids[start::count]) for start in range(min(count, len(task_ids)))]


def write_parts(samples: Samples, dealt: Sequence[tuple[str, ...]], folder: Path) -> list[tuple[Part, Path]]:
    """Write the samples of each part into a file, in one pass over all samples. Raises OSError, RequestError."""
    folder.mkdir(parents=True, exist_ok=True)
    part_of = {task: number for number, tasks in enumerate(dealt) for task in tasks}
    with tempfile.TemporaryDirectory(dir=folder) as aside, ExitStack() as stack:
        files = [stack.enter_context(_Digested(Path(aside, str(number)))) for number in range(len(dealt))]
        for sample in samples:
            files[part_of[sample.task_id]].write(_line(sample))
        stack.close()
        parts = [Part(task_ids=tasks, content=file.digest) for tasks, file in zip(dealt, files, strict=True)]
        return [(part, file.keep(folder)) for part, file in zip(parts, files, strict=True)]


class _Digested:
    """A file that is named by the digest of its content once it is written."""

    def __init__(self, path: Path) -> None:
        self._path, self._sha = path, hashlib.sha256()
        self._file: BinaryIO = path.open("wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        self._sha.update(data)
        self._file.write(data)

    @property
    def digest(self) -> str:
        return self._sha.hexdigest()

    def keep(self, folder: Path) -> Path:
        return self._path.replace(folder / f"{self.digest}.jsonl")


def _line(sample: Sample) -> bytes:
    fields = {
        "task_id": sample.task_id,
        "solution": sample.solution,
        "completion": sample.completion,
        "sample_id": sample.sample_id or None,
    }
    return json.dumps({name: value for name, value in fields.items() if value is not None}).encode() + b"\n"


def gather(
    samples: Samples,
    judged: Sequence[tuple[Part, Path | None]],
    k: Sequence[int],
    *,
    problems: Sequence[Problem],
    flaws: Mapping[str, str],
) -> Evaluation:
    """The evaluation of all samples, in their order, out of the results of the parts; `flaws` are reasons by task id.

    The samples of a part without results are `infrastructure`: they were not judged, and are not counted. Raises
    RequestError for results that are not of these samples.
    """
    results: dict[str, Iterator[SampleResult] | None] = {}
    for part, path in judged:
        # One iterator for all problems of a part: its results are in the order of its samples.
        results |= dict.fromkeys(part.task_ids, None if path is None else read_results(path))
    return summarize(
        [_next_result(results[sample.task_id], sample, index) for index, sample in enumerate(samples)],
        k,
        categories={problem.task_id: problem.category for problem in problems},
        flaws=[ProblemFlaw(task, flaws[task]) for problem in problems if (task := problem.task_id) in flaws],
        unanswered=samples.unanswered,
        skipped=samples.skipped,
    )


def _next_result(results: Iterator[SampleResult] | None, sample: Sample, index: int) -> SampleResult:
    if results is None:
        return SampleResult(
            task_id=sample.task_id,
            index=index,
            sample_id=sample.sample_id,
            outcome="infrastructure",
            reason="the task that was to judge it failed",
        )
    result = next(results, None)
    if result is None or result.task_id != sample.task_id:
        raise RequestError(f"{sample.place}: the results of its part are of other samples; evaluate them again")
    return replace(result, index=index)
