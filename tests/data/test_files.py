"""Samples as files: described, and written from data frames."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flyteplugins_codegen.data.files import describe_sample, frame_to_file, is_data_frame
from flyteplugins_codegen.errors import SampleError


def test_a_sample_is_described_by_its_content(tmp_path: Path) -> None:
    data = b"a,b\n1,2\n" * 300_000
    (tmp_path / "one.csv").write_bytes(data)
    sample = describe_sample("one", tmp_path / "one.csv")
    assert (sample.name, sample.file_name, sample.size_bytes) == ("one", "one.csv", len(data))
    assert sample.digest == hashlib.sha256(data).hexdigest()


def test_the_error_for_a_missing_sample_names_it_its_path_and_the_current_folder(tmp_path: Path) -> None:
    with pytest.raises(
        SampleError, match=r"sample 'sales': there is no file .*/no\.csv; check the path \(relative to /"
    ):
        describe_sample("sales", tmp_path / "no.csv")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SampleError, match=r"sample 'sales': .* is a folder; pass one file"):
        describe_sample("sales", tmp_path)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    with pytest.raises(SampleError, match=r"empty\.csv is empty \(0 bytes\); pass a file that holds some data"):
        describe_sample("sales", tmp_path / "empty.csv")


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(SampleError, match="is no regular file"):
        describe_sample("sales", tmp_path / "pipe.csv")


def test_a_path_that_the_system_refuses_is_a_sample_error(tmp_path: Path) -> None:
    with pytest.raises(SampleError, match=r"sample 'sales': .* cannot be read"):
        describe_sample("sales", tmp_path / ("x" * 300 + ".csv"))


def test_a_frame_becomes_a_csv_file_without_its_index(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]}, index=[7, 8])
    before = frame.copy(deep=True)
    path = frame_to_file("sales", frame, tmp_path / "samples")
    assert path.read_text() == "a,b\n1,x\n2,\n"
    assert path.suffix == ".csv"
    pd.testing.assert_frame_equal(frame, before)


def test_equal_frames_share_a_file_and_others_do_not(tmp_path: Path) -> None:
    first = frame_to_file("sales", pd.DataFrame({"a": [1]}), tmp_path)
    written = first.stat().st_mtime_ns
    assert frame_to_file("sales", pd.DataFrame({"a": [1]}), tmp_path) == first
    assert first.stat().st_mtime_ns == written
    assert frame_to_file("sales", pd.DataFrame({"a": [2]}), tmp_path) != first


@pytest.mark.parametrize(
    ("frame", "fault"),
    [
        (pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])), "2 levels.*flatten them"),
        (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]), "several columns named 'a'; give each its own name"),
        (pd.DataFrame(), "no columns"),
        (pd.Series([1]), "Series is no pandas DataFrame"),
        ([1], "list is no pandas DataFrame"),
    ],
)
def test_a_frame_that_csv_cannot_hold_is_refused(frame: object, fault: str, tmp_path: Path) -> None:
    with pytest.raises(SampleError, match=f"sample 'sales': .*{fault}"):
        frame_to_file("sales", frame, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_subclass_of_a_frame_is_a_frame_and_a_class_of_the_same_name_is_not() -> None:
    class Special(pd.DataFrame):
        pass

    namesake = type("DataFrame", (), {"__module__": "polars.frame"})
    assert is_data_frame(Special())
    assert not is_data_frame(namesake())


def test_neither_files_nor_formats_nor_the_profile_module_load_a_data_library() -> None:
    program = (
        "import sys\nfrom flyteplugins_codegen.data import context, files, formats, profile, schemas\n"
        "assert not {'pandas', 'pyarrow', 'numpy', 'pandera'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.parametrize(
    "index", [pd.Index([1, 2], name="store"), pd.Index(["a", "b"]), pd.date_range("2024", periods=2)]
)
def test_an_index_that_would_be_lost_is_refused(index: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"v": [1, 2]}, index=index)
    with pytest.raises(SampleError, match=r"index would be lost.*reset_index"):
        frame_to_file("sales", frame, tmp_path)


def test_an_index_of_integers_is_left_out(tmp_path: Path) -> None:
    frame = pd.DataFrame({"v": [1, 2, 3]})
    assert frame_to_file("sales", frame[frame["v"] > 1], tmp_path).read_text() == "v\n2\n3\n"
