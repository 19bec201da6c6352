"""An evaluation in parts gives the same result as one that was not split."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.evaluation import Evaluation, summarize
from flyteplugins_codegen.evaluation.samples import Samples, load_samples
from flyteplugins_codegen.evaluation.sharding import Part, deal, gather, write_parts
from flyteplugins_codegen.evaluation.values import AssertTests, Problem, SampleResult

PROBLEMS = [
    Problem(
        task_id=f"T/{number}", entry_point="f", prompt="def f():\n", tests=AssertTests(("assert f()",)), category="c"
    )
    for number in range(7)
]
# In no order; squares leave four rests by six.
TASKS = [f"T/{(number * number) % 6}" for number in range(40)]
UNANSWERED = ("T/2", "T/5", "T/6")


@pytest.fixture
def samples(tmp_path: Path) -> Samples:
    path = tmp_path / "samples.jsonl"
    lines = [
        {"task_id": task, "completion": f"    return {number}", "sample_id": f"{number}"}
        if number % 2
        else {"task_id": task, "solution": f"def f(): return '\u00e9{number}'", "other": 1}
        for number, task in enumerate(TASKS)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return load_samples(path, PROBLEMS)


def judged(samples: Samples) -> Evaluation:
    """Ends that depend on the sample alone, as verdicts do."""
    ends = [
        SampleResult(
            task_id=sample.task_id,
            index=index,
            outcome="passed" if len((sample.solution or "") + (sample.completion or "")) % 2 else "exception",
            reason=sample.sample_id,
            sample_id=sample.sample_id,
        )
        for index, sample in enumerate(samples)
    ]
    return summarize(ends, (1, 2), categories={problem.task_id: "c" for problem in PROBLEMS}, unanswered=UNANSWERED)


def parted(samples: Samples, count: int, folder: Path) -> list[tuple[Part, Path | None]]:
    found: list[tuple[Part, Path | None]] = []
    for part, path in write_parts(samples, deal(samples, count), folder / "parts"):
        chosen = [problem for problem in PROBLEMS if problem.task_id in part.task_ids]
        results = folder / f"{part.content}.results.jsonl"
        found.append((part, judged(load_samples(path, chosen)).to_json_lines(results)))
    return found


@pytest.mark.parametrize("count", [1, 2, 5, 100])
def test_parts_make_the_whole_whatever_their_number(samples: Samples, tmp_path: Path, count: int) -> None:
    parts = parted(samples, count, tmp_path)
    assert len(parts) == min(count, 4)
    whole = gather(samples, parts, (1, 2), problems=PROBLEMS, flaws={"T/3": "fails itself"})
    expected = judged(samples)
    assert whole.samples == expected.samples
    assert (whole.pass_at_k, whole.by_category, whole.unanswered) == (
        expected.pass_at_k,
        expected.by_category,
        expected.unanswered,
    )
    assert [flaw.task_id for flaw in whole.flaws] == ["T/3"]


def test_the_same_samples_make_the_same_parts_and_a_change_touches_one(samples: Samples, tmp_path: Path) -> None:
    first = {part.content for part, _ in parted(samples, 4, tmp_path / "first")}
    assert {part.content for part, _ in parted(samples, 4, tmp_path / "again")} == first
    samples.path.write_text(samples.path.read_text().replace("return 39", "return 40"))
    assert len({part.content for part, _ in parted(samples, 4, tmp_path / "other")} & first) == 3
    assert not [path for path in (tmp_path / "first" / "parts").iterdir() if path.suffix != ".jsonl"]


def test_the_samples_of_a_part_that_failed_are_not_counted(samples: Samples, tmp_path: Path) -> None:
    (part, _), *others = parted(samples, 2, tmp_path)
    whole = gather(samples, [(part, None), *others], (1,), problems=PROBLEMS, flaws={})
    lost = [sample for sample in whole.samples if not sample.is_counted]
    assert {sample.task_id for sample in lost} == set(part.task_ids)
    assert whole.samples[1].sample_id == "1"


def test_results_of_other_samples_are_refused(samples: Samples, tmp_path: Path) -> None:
    (first, path), (second, other) = parted(samples, 2, tmp_path)
    with pytest.raises(RequestError, match="are of other samples"):
        gather(samples, [(first, other), (second, path)], (1,), problems=PROBLEMS, flaws={})


def test_no_part_at_all_is_refused(samples: Samples) -> None:
    with pytest.raises(RequestError, match="shards=-1"):
        deal(samples, -1)
