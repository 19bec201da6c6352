"""What an evaluation is to whoever asked for it: its findings, and what can be made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.json_lines import Record, read_records
from flyteplugins_codegen.evaluation.scores import (
    Findings,
    Flaw,
    by_category,
    check_k,
    mean,
    mean_pass_at_k,
    pass_at_k,
    pass_hat_k,
    score_problems,
)
from flyteplugins_codegen.evaluation.statistics import bootstrap_interval
from flyteplugins_codegen.evaluation.values import JudgedBy, Outcome, Sample, SampleResult

if TYPE_CHECKING:
    from flyteplugins_codegen.evaluation.scores import Pairing


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Findings):
    """The scores of samples on problems, and each sample's end; `Findings` says which there are."""

    def compare(self, other: Findings) -> Pairing:
        """What the other evaluation of the same problems says beside this one; its difference is other less this.

        Raises RequestError where they have no problem, or no k, in common.
        """
        from flyteplugins_codegen.evaluation.scores import pair

        return pair(self, other)

    def to_parquet(self, path: str | Path) -> Path:
        """Write a row for each sample, in order, and the scores as the file's metadata. Raises OSError."""
        from flyteplugins_codegen.evaluation.results import write_parquet

        return write_parquet(self, Path(path))

    def to_json_lines(self, path: str | Path) -> Path:
        """Write a line for each sample, in order; `read_evaluation` reads them again. Raises OSError."""
        from flyteplugins_codegen.evaluation.results import write_lines

        return write_lines(self, Path(path))

    def report(
        self,
        path: str | Path = "report.html",
        *,
        samples: Iterable[Sample] | None = None,
        before: Findings | None = None,
        title: str = "Evaluation",
    ) -> Path:
        """Write one HTML page that needs no network: scores, problems, failures, the slowest, every sample.

        `samples`, the ones that were evaluated, show their code; `before` is an earlier run to hold this one against.
        Raises RequestError where these are of other problems, OSError where the file cannot be written.
        """
        from flyteplugins_codegen.evaluation.report import write_report

        return write_report(self, Path(path), samples=samples, before=before, title=title)

    def _repr_html_(self) -> str:
        from flyteplugins_codegen.evaluation.report import render_summary

        return render_summary(self)


def summarize(
    samples: Iterable[SampleResult],
    k: Sequence[int],
    *,
    categories: Mapping[str, str] | None = None,
    flaws: Iterable[Flaw] = (),
    unanswered: Iterable[str] = (),
    skipped: Iterable[str] = (),
) -> Evaluation:
    """The evaluation that these ends of samples make. `categories` are by task id. Raises RequestError for a bad k."""
    check_k(k)
    ends, categories = tuple(samples), categories or {}
    scores = score_problems(ends)
    groups = by_category(scores, categories)
    return Evaluation(
        samples=ends,
        pass_at_k={each: mean_pass_at_k(scores.values(), each) for each in k},
        intervals={each: bootstrap_interval([pass_at_k(score, each) for score in scores.values()]) for each in k},
        pass_hat_k={each: mean([pass_hat_k(score, each) for score in scores.values()]) for each in k},
        by_category={name: {each: mean_pass_at_k(group, each) for each in k} for name, group in groups.items()},
        scores=scores,
        categories={task: categories[task] for task in scores if categories.get(task)},
        flaws=tuple(flaws),
        unanswered=tuple(unanswered),
        skipped=tuple(skipped),
    )


# Results read back, for a report or to be held against another run.

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
