"""An evaluation: findings that can be compared, written to files and shown, and read again from a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.json_lines import Record, read_records
from flyteplugins_codegen.evaluation.scores import (
    Findings,
    ProblemFlaw,
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
    """The scores of samples on problems, and the result of each sample; `Findings` has the fields."""

    def compare(self, other: Findings) -> Pairing:
        """Compare with another evaluation of the same problems; the difference is the other's score minus this one's.

        Raises RequestError if they have no problem, or no k, in common.
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
        """Write one HTML page that needs no network: scores, problems, the slowest samples, every sample.

        With `samples`, the ones that were evaluated, it shows their code; `before` is an earlier run to compare with.
        Raises RequestError if these are for other problems, OSError if the file cannot be written.
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
    flaws: Iterable[ProblemFlaw] = (),
    unanswered: Iterable[str] = (),
    skipped: Iterable[str] = (),
) -> Evaluation:
    """The evaluation that these results make. `categories` are by task id. Raises RequestError for a bad k."""
    check_k(k)
    results, categories = tuple(samples), categories or {}
    scores = score_problems(results)
    groups = by_category(scores, categories)
    return Evaluation(
        samples=results,
        pass_at_k={number: mean_pass_at_k(scores.values(), number) for number in k},
        intervals={number: bootstrap_interval([pass_at_k(score, number) for score in scores.values()]) for number in k},
        pass_hat_k={number: mean([pass_hat_k(score, number) for score in scores.values()]) for number in k},
        by_category={name: {number: mean_pass_at_k(group, number) for number in k} for name, group in groups.items()},
        scores=scores,
        categories={task: categories[task] for task in scores if categories.get(task)},
        flaws=tuple(flaws),
        unanswered=tuple(unanswered),
        skipped=tuple(skipped),
    )


# --- reading ---

_FIELDS = frozenset(field.name for field in fields(SampleResult))


def read_evaluation(path: str | Path, k: Sequence[int] = (1, 10, 100)) -> Evaluation:
    """Read an evaluation from the file that its `to_json_lines` wrote, and score it for these k.

    Raises RequestError, with file and line, for a file that cannot be read, or a line that is not a result.
    """
    samples: list[SampleResult] = []
    categories: dict[str, str] = {}
    for record in read_records(Path(path)):
        sample = _read_result(record)
        samples.append(sample)
        categories[sample.task_id] = str(record.fields.get("category", ""))
    return summarize(samples, k, categories=categories)


def read_results(path: Path) -> Iterator[SampleResult]:
    """Read the results of samples, lazily. Raises RequestError as `read_evaluation` does."""
    return map(_read_result, read_records(path))


def _read_result(record: Record) -> SampleResult:
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
