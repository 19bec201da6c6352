"""Results in files: every sample's end, in order, the same bytes for the same findings."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.evaluation import Evaluation, read_evaluation, summarize
from flyteplugins_codegen.evaluation.results import SCORES_KEY
from flyteplugins_codegen.evaluation.scores import Flaw
from flyteplugins_codegen.evaluation.values import SampleResult

ENDS = (
    SampleResult(task_id="T/1", index=0, outcome="passed", cpu_s=0.1 + 0.2, wall_s=1.5),
    SampleResult(task_id="T/1", index=1, outcome="wrong_answer", reason="assert f('\ud800') == 'ä'\n", sample_id="b"),
    SampleResult(task_id="T/2", index=2, outcome="infrastructure", reason="no disk", judged_by="suite", attempts=3),
)


def evaluation() -> Evaluation:
    flaws = [Flaw("T/3", "its own solution fails")]
    return summarize(ENDS, (1, 2), categories={"T/1": "text"}, flaws=flaws, unanswered=("T/4",), skipped=("one",))


def test_lines_are_read_back_as_they_were_and_scored_the_same(tmp_path: Path) -> None:
    path = evaluation().to_json_lines(tmp_path / "results.jsonl")
    read = read_evaluation(path, (1, 2))
    assert read.samples == ENDS
    assert read.by_category == evaluation().by_category
    assert read.intervals[2] == evaluation().intervals[2]
    assert read.to_json_lines(tmp_path / "again.jsonl").read_bytes() == path.read_bytes()
    assert [json.loads(line)["category"] for line in path.read_text().splitlines()] == ["text", "text", ""]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"task_id": "T/1"}', "results.jsonl:2: no result of a sample"),
        ('{"task_id": "T/1", "index": 1, "outcome": "won"}', "results.jsonl:2: outcome='won'"),
    ],
)
def test_a_line_that_holds_no_result_is_told_with_its_place(tmp_path: Path, line: str, told: str) -> None:
    path = evaluation().to_json_lines(tmp_path / "results.jsonl")
    path.write_text(path.read_text().splitlines()[0] + "\n" + line + "\n")
    with pytest.raises(RequestError, match=told):
        read_evaluation(path)


def test_parquet_has_a_row_for_each_sample_and_the_scores_beside_them(tmp_path: Path) -> None:
    table = pq.read_table(evaluation().to_parquet(tmp_path / "results.parquet"))
    rows = table.to_pylist()
    assert [(row["task_id"], row["outcome"], row["attempts"]) for row in rows] == [
        ("T/1", "passed", 1),
        ("T/1", "wrong_answer", 1),
        ("T/2", "infrastructure", 3),
    ]
    assert rows[0]["cpu_s"] == ENDS[0].cpu_s
    assert rows[1]["reason"] == "assert f('\\ud800') == 'ä'\n"
    scores = json.loads(table.schema.metadata[SCORES_KEY])
    assert scores["counts"]["infrastructure"] == 1
    assert scores["flaws"] == {"T/3": "its own solution fails"}
    assert (scores["unanswered"], scores["skipped"]) == (["T/4"], ["one"])
    assert math.isnan(evaluation().pass_at_k[2])
    assert scores["pass_at_k"]["2"] is None


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        evaluation().to_parquet(tmp_path / "file" / "results.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_two_evaluations_are_compared_from_either_side() -> None:
    better = summarize([SampleResult(task_id="T/1", index=0, outcome="passed")], (1,))
    told = evaluation().compare(better)
    assert (told.better, told.difference[1]) == (("T/1",), 0.5)
