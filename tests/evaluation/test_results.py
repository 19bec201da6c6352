"""Results in files: a row for each sample, in order, and the same bytes for the same findings."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pyarrow.parquet as pq
import pytest

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.evaluation import Evaluation, read_evaluation, summarize
from flyteplugins_codegen.evaluation.results import SCORES_KEY
from flyteplugins_codegen.evaluation.scores import ProblemFlaw
from flyteplugins_codegen.evaluation.values import SampleResult

ENDS = (
    SampleResult(task_id="T/1", index=0, outcome="passed", cpu_s=0.1 + 0.2, wall_s=1.5),
    SampleResult(task_id="T/1", index=1, outcome="wrong_answer", reason="assert f('\ud800') == 'ä'\n", sample_id="b"),
    SampleResult(task_id="T/2", index=2, outcome="infrastructure", reason="no disk", judged_by="suite", attempts=3),
)


def evaluation() -> Evaluation:
    flaws = [ProblemFlaw("T/3", "its own solution fails")]
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
    ("line", "message"),
    [
        ('{"task_id": "T/1"}', "results.jsonl:2: no result of a sample"),
        ('{"task_id": "T/1", "index": 1, "outcome": "won"}', "results.jsonl:2: outcome='won'"),
    ],
)
def test_a_line_that_is_not_a_result_is_refused_with_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = evaluation().to_json_lines(tmp_path / "results.jsonl")
    path.write_text(path.read_text().splitlines()[0] + "\n" + line + "\n")
    with pytest.raises(RequestError, match=message):
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
    message = evaluation().compare(better)
    assert (message.better, message.difference[1]) == (("T/1",), 0.5)


Write = Callable[[Evaluation, Path], Path]
WRITERS: tuple[Write, ...] = (Evaluation.to_json_lines, Evaluation.to_parquet, Evaluation.report)
by_every_method = pytest.mark.parametrize("write", WRITERS, ids=lambda method: method.__name__)


@pytest.fixture
def usual_umask() -> Iterator[None]:
    previous = os.umask(0o022)
    yield
    os.umask(previous)


@pytest.mark.usefixtures("usual_umask")
@by_every_method
def test_a_file_has_the_permissions_that_the_umask_allows(tmp_path: Path, write: Write) -> None:
    path = write(evaluation(), tmp_path / "results")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@by_every_method
def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path, write: Write) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("earlier")
    link.symlink_to(target)
    write(evaluation(), link)
    assert link.is_symlink()
    assert target.read_bytes() == write(evaluation(), tmp_path / "plain").read_bytes()


@by_every_method
def test_a_pipe_gets_the_file(tmp_path: Path, write: Write) -> None:
    pipe, received = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write(evaluation(), pipe)
    reader.join(timeout=30)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert received == [write(evaluation(), tmp_path / "plain").read_bytes()]


@by_every_method
def test_stdout_gets_the_file(tmp_path: Path, write: Write) -> None:
    stdout, (reader, writer) = os.dup(1), os.pipe()
    os.dup2(writer, 1)
    os.close(writer)
    try:
        write(evaluation(), Path("/dev/stdout"))  # less than the 64 KiB that a pipe holds
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)
    with os.fdopen(reader, "rb") as file:
        assert file.read() == write(evaluation(), tmp_path / "plain").read_bytes()
