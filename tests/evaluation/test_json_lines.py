"""Files of JSON records are read whatever their form, and errors name file and line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.json_lines import read_records
from flyteplugins_codegen.evaluation.problems.load import load_problems
from flyteplugins_codegen.evaluation.samples import load_samples
from flyteplugins_codegen.evaluation.values import AssertTests, Problem, Sample

PROBLEMS = [Problem(task_id="a", entry_point="f", tests=AssertTests(("assert f(1)",)))]
# One folder for all examples: each writes the same file anew.
ANY_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FORMS = (
    ("prompt", "test", "entry_point", "canonical_solution"),
    ("prompt", "entry_point", "canonical_solution", "base_input", "plus_input", "atol"),
    ("text", "code", "test_list", "test_setup_code"),
    ("entry_point", "asserts", "check", "pairs", "limits"),
    ("stdin", "program", "language", "tolerance"),
    ("completion", "solution", "reply", "messages", "sample_id"),
)
ENTRIES = VALUES | st.just("a") | st.just("def a(x):\n") | st.just(["assert a(1)"]) | st.just([[1]])
FIELDS = st.sampled_from(FORMS).flatmap(lambda names: st.dictionaries(st.sampled_from(["task_id", *names]), ENTRIES))


def error_of(load: Callable[[Path], object], path: Path) -> str:
    try:
        load(path)
    except RequestError as error:
        return str(error)
    return ""


def all_samples(path: Path) -> list[Sample]:
    return list(load_samples(path, PROBLEMS))


@given(
    st.binary(max_size=60),
    st.sampled_from([b"", b"\x1f\x8b", b"[", b'{"task_id": "a", "completion": ', b"\xef\xbb\xbf"]),
)
@ANY_FOLDER
def test_no_bytes_whatever_are_more_than_an_error_of_the_file(tmp_path: Path, content: bytes, begin: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(begin + content)
    assert str(path) in error_of(load_problems, path)
    assert error_of(all_samples, path) == "" or str(path) in error_of(all_samples, path)


@given(st.lists(FIELDS, min_size=1, max_size=3))
@ANY_FOLDER
def test_no_record_whatever_is_more_than_an_error_of_its_line(tmp_path: Path, records: list[Any]) -> None:
    path = tmp_path / "file"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    messages = error_of(lambda path: load_problems(path, sandbox="none"), path), error_of(all_samples, path)
    assert all(text == "" or f"{path}:" in text or "holds no sample" in text for text in messages)


@given(
    st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=3), max_size=5),
    st.sampled_from([bytes, gzip.compress]),
    st.sampled_from(["array", "lines"]),
)
@ANY_FOLDER
def test_what_was_written_is_read_again(
    tmp_path: Path, records: list[dict[str, Any]], pack: Callable[[bytes], bytes], kind: str
) -> None:
    lines = "".join(f"{json.dumps(record)}\n\n" for record in records)
    path = tmp_path / "file"
    path.write_bytes(pack((json.dumps(records) if kind == "array" else lines).encode()))
    found = list(read_records(path))
    assert repr([record.fields for record in found]) == repr(records)
    assert [record.line for record in found] == (
        [0] * len(records) if kind == "array" else [1 + 2 * n for n in range(len(records))]
    )


def test_a_line_that_is_too_long_for_any_record_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flyteplugins_codegen.evaluation.json_lines._LONGEST_LINE_MIB", 1)
    path = tmp_path / "file"
    path.write_bytes(b"{}\n" + b'"' + b"x" * (2 << 20) + b'"\n')
    with pytest.raises(RequestError, match=r":2: the line is longer than 1 MiB; is it JSON Lines"):
        list(read_records(path))
