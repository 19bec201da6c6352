"""Samples are checked from end to end, then loaded from files and folders of every form."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.samples import load_samples
from flyteplugins_codegen.evaluation.values import AssertTests, Problem

PROBLEMS = [
    Problem(task_id=task_id, entry_point="f", tests=AssertTests(("assert f(1) == 2",)))
    for task_id in ("HumanEval/0", "HumanEval/1", "Mbpp/2")
]


def written(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def sample(text: str = "    return 1\n", task_id: Any = "HumanEval/0", **others: Any) -> dict[str, Any]:
    return {"task_id": task_id, "completion": text, **others}


def test_completions_and_solutions_are_read_in_their_order_with_their_places(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", sample(), {"task_id": "HumanEval/1", "solution": "x = 1"}, sample("y"))
    samples = load_samples(path, PROBLEMS)
    found = [(each.task_id, each.completion, each.solution, each.line) for each in samples]
    assert found == [
        ("HumanEval/0", "    return 1\n", None, 1),
        ("HumanEval/1", None, "x = 1", 2),
        ("HumanEval/0", "y", None, 3),
    ]
    assert len(samples) == 3
    assert samples.unanswered == ("Mbpp/2",)
    assert samples.skipped == ()
    assert next(iter(samples)).place == f"{path}:1: the sample for 'HumanEval/0'"
    assert len(list(samples)) == 3, "samples can be gone through again"


@pytest.mark.parametrize(
    "fields",
    [
        {"reply": "Here:\n```python\ndef f(x): ...\n```"},
        {"response": [{"type": "text", "text": "Here:\n```python\ndef f(x): ...\n```"}]},
        {
            "messages": [
                {"role": "user", "content": "Write f."},
                {"role": "assistant", "content": "Here:\n```python\ndef f(x): ...\n```"},
            ]
        },
    ],
)
def test_what_a_chat_model_replied_is_a_sample(tmp_path: Path, fields: dict[str, Any]) -> None:
    (found,) = load_samples(written(tmp_path / "s.jsonl", {"task_id": "HumanEval/0", **fields}), PROBLEMS)
    assert found.completion == "Here:\n```python\ndef f(x): ...\n```"


def test_a_reply_without_content_is_an_empty_sample(tmp_path: Path) -> None:
    (found,) = load_samples(written(tmp_path / "s.jsonl", {"task_id": "HumanEval/0", "reply": None}), PROBLEMS)
    assert found.completion == ""


@pytest.mark.parametrize("name", [2, "2", "Mbpp/2", "Mbpp_2"])
def test_a_problem_is_meant_by_its_id_by_its_number_or_as_a_folder_is_called(tmp_path: Path, name: Any) -> None:
    (found,) = load_samples(written(tmp_path / "s.jsonl", sample(task_id=name)), PROBLEMS)
    assert found.task_id == "Mbpp/2"


def test_a_number_that_two_problems_end_in_means_neither(tmp_path: Path) -> None:
    problems = [*PROBLEMS, Problem(task_id="Other/2", tests=PROBLEMS[0].tests)]
    with pytest.raises(RequestError, match="there is no problem 2 among the 4"):
        load_samples(written(tmp_path / "s.jsonl", sample(task_id=2)), problems)


def test_a_folder_holds_a_file_for_each_sample(tmp_path: Path) -> None:
    for name in ("HumanEval_0/10.py", "HumanEval_0/9.py", "HumanEval/1/0.py", "Mbpp_2/0.js"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"# {name}")
    for name in ("README.md", "HumanEval_0/notes.txt", "HumanEval_0/.hidden.py"):
        (tmp_path / name).write_text("no sample")
    samples = load_samples(tmp_path, PROBLEMS)
    found = [(each.task_id, each.solution) for each in samples]
    assert found == [
        ("HumanEval/1", "# HumanEval/1/0.py"),
        ("HumanEval/0", "# HumanEval_0/9.py"),
        ("HumanEval/0", "# HumanEval_0/10.py"),
        ("Mbpp/2", "# Mbpp_2/0.js"),
    ]
    assert next(iter(samples)).place == f"{tmp_path}/HumanEval/1/0.py: the sample for 'HumanEval/1'"


def test_a_last_line_that_is_cut_off_is_skipped_and_reported(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", sample(), sample())
    path.write_bytes(path.read_bytes()[:-5])
    samples = load_samples(path, PROBLEMS)
    assert len(list(samples)) == len(samples) == 1
    assert samples.skipped == (f"{path}:2: the file ends in the middle of a line, which is left out",)


def test_the_zeros_of_a_lost_disk_block_are_a_line_that_was_cut(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", sample())
    path.write_bytes(path.read_bytes() + b'{"task' + b"\0" * 4096)
    samples = load_samples(path, PROBLEMS)
    assert len(samples) == 1
    assert len(samples.skipped) == 1


def test_a_compressed_file_that_breaks_off_gives_what_came_before(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.gz"
    lines = "".join(json.dumps(sample(f"{number}")) + "\n" for number in range(20_000))
    path.write_bytes(gzip.compress(lines.encode())[:-2000])
    samples = load_samples(path, PROBLEMS)
    assert 10_000 < len(samples) < 20_000
    assert len(list(samples)) == len(samples)
    assert "ends in the middle of a line" in samples.skipped[0]


def test_wherever_a_file_is_cut_whole_samples_are_loaded_and_the_rest_is_reported(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole.jsonl", *(sample(f"é{number}") for number in range(3))).read_bytes()
    path = tmp_path / "cut.jsonl"
    ends = [index + 1 for index, byte in enumerate(whole) if byte == ord("}")]
    for cut in range(ends[0], len(whole) + 1):
        path.write_bytes(whole[:cut])
        samples = load_samples(path, PROBLEMS)
        assert len(list(samples)) == len(samples) == sum(end <= cut for end in ends)
        assert bool(samples.skipped) == (cut not in ends and whole[cut - 1 : cut] != b"\n")


def test_a_pipe_is_refused_as_it_could_not_be_read_twice(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RequestError, match="there is no such file or folder"):
        load_samples(tmp_path / "pipe", PROBLEMS)


def test_a_last_line_without_its_newline_is_whole(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", sample())
    path.write_bytes(path.read_bytes().rstrip() + b"")
    assert len(load_samples(path, PROBLEMS)) == 1


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (sample(task_id="HumanEval/7"), "there is no problem 'HumanEval/7' among the 3; did you mean 'HumanEval/1'?"),
        ({"completion": "x"}, "the sample has no 'task_id'"),
        ({"task_id": "HumanEval/0"}, "has no text; give one of completion, solution, reply"),
        (sample(solution="x"), "has completion and solution; give one of"),
        ({"task_id": "HumanEval/0", "completion": None}, "'completion' is None; it is to hold a text"),
        ({"task_id": "HumanEval/0", "solution": ["a", "b"]}, "'solution' is ['a', 'b']; it is to hold a text"),
        ({"task_id": "HumanEval/0", "reply": [{"type": "video"}]}, "'reply': wrong content format"),
        ({"task_id": "HumanEval/0", "messages": []}, "'messages' is no list of messages"),
        ({"task_id": "HumanEval/0", "messages": [{"role": "user", "content": "?"}]}, "is of the 'user', no reply"),
        ("x", "a record is a JSON object"),
    ],
)
def test_a_malformed_line_is_named_before_any_sample_is_loaded(tmp_path: Path, record: Any, message: str) -> None:
    path = written(tmp_path / "s.jsonl", sample(), record, sample())
    with pytest.raises(RequestError) as caught:
        load_samples(path, PROBLEMS)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)


def test_a_cut_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(f'{json.dumps(sample())}\n{{"task_id": "Huma\n{json.dumps(sample())}\n')
    with pytest.raises(RequestError, match=r"s.jsonl:2: no JSON: "):
        load_samples(path, PROBLEMS)


def test_the_same_sample_id_twice_is_named_with_both_lines(tmp_path: Path) -> None:
    path = written(
        tmp_path / "s.jsonl",
        sample(sample_id=1),
        sample(sample_id=1, task_id="HumanEval/1"),
        sample(sample_id="1"),
    )
    with pytest.raises(RequestError, match=r"s.jsonl:3: the sample_id '1' of 'HumanEval/0' stands in line 1 already"):
        load_samples(path, PROBLEMS)


def test_samples_of_other_problems_can_be_left_out_and_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", sample(task_id="Other/1"), sample(), sample(task_id="Other/2"))
    samples = load_samples(path, PROBLEMS, unknown="skip")
    assert [each.task_id for each in samples] == ["HumanEval/0"]
    assert samples.skipped == ("2 samples are for other problems",)


@pytest.mark.parametrize("content", [b"", b"\n\n", b'{"task_id"'])
def test_a_file_without_a_sample_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    with pytest.raises(RequestError, match="holds no sample for these problems"):
        load_samples(path, PROBLEMS)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="there is no such file or folder"):
        load_samples(tmp_path / "s.jsonl", PROBLEMS)


def test_what_a_model_wrote_is_never_an_error_of_the_file(tmp_path: Path) -> None:
    texts = ["a\0b", "\ud800", "x" * 50_000_000, ""]
    samples = load_samples(written(tmp_path / "s.jsonl", *map(sample, texts)), PROBLEMS)
    found = list(samples)
    assert [each.completion for each in found] == texts


def test_memory_does_not_grow_with_the_number_of_samples(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    line = json.dumps(sample("x" * 1000)) + "\n"
    path.write_text(line * 20_000)
    tracemalloc.start()
    try:
        assert sum(1 for _ in load_samples(path, PROBLEMS)) == 20_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000, f"the file of 20 MB took {peak} bytes"
