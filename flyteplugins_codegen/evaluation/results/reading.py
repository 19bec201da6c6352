"""Results read back, for a report or to be held against another run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import get_args

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.evaluation import Evaluation, summarize
from flyteplugins_codegen.evaluation.json_lines import Record, read_records
from flyteplugins_codegen.evaluation.values import JudgedBy, Outcome, SampleResult

_FIELDS = frozenset(field.name for field in fields(SampleResult))


def read_evaluation(path: str | Path, k: Sequence[int] = (1, 10, 100)) -> Evaluation:
    """The evaluation whose `to_json_lines` wrote this file, scored for these k.

    Raises RequestError for a file that cannot be read, or a line that holds no result; with file and line.
    """
    samples: list[SampleResult] = []
    categories: dict[str, str] = {}
    for record in read_records(Path(path)):
        sample = _sample(record)
        samples.append(sample)
        categories[sample.task_id] = str(record.fields.get("category", ""))
    return summarize(samples, k, categories=categories)


def read_results(path: Path) -> Iterator[SampleResult]:
    """The ends of samples alone, one after the other. Raises RequestError as `read_evaluation` does."""
    return map(_sample, read_records(path))


def _sample(record: Record) -> SampleResult:
    try:
        sample = SampleResult(**{name: value for name, value in record.fields.items() if name in _FIELDS})
    except TypeError as error:
        raise RequestError(f"{record.place}: no result of a sample: {error}") from None
    if sample.outcome not in get_args(Outcome) or sample.judged_by not in get_args(JudgedBy):
        raise RequestError(
            f"{record.place}: outcome={sample.outcome!r}, judged_by={sample.judged_by!r} is no end of a sample; "
            "give a file that to_json_lines wrote"
        )
    return sample
