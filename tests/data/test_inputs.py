"""The values that may be passed as a sample: files, compressed or not, folders, frames, workbooks, Flyte's types."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile
from flytekit.types.structured.structured_dataset import StructuredDataset
from openpyxl import Workbook
from pyarrow import orc

from flyteplugins_codegen.data import profile_sample
from flyteplugins_codegen.data.inputs import frame_file
from flyteplugins_codegen.errors import SampleError
from flyteplugins_codegen.models.data import SampleProfile

TABLE = pa.table({"n": [1, 2, 3], "t": ["x", "y", None]})
CSV = b"n,t\n1,x\n2,y\n3,\n"
JSONL = b'{"n": 1, "t": "x"}\n{"n": 2, "t": "y"}\n{"n": 3}\n'


def check_is_the_table(profile: SampleProfile) -> None:
    assert profile.row_count == 3
    assert [row["n"] for row in profile.sample_rows] == [1, 2, 3]
    assert [row["t"] for row in profile.sample_rows] == ["x", "y", None]
    assert (profile.columns["n"].mean, profile.columns["t"].null_count) == (2.0, 1)


def zstandard(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


@pytest.mark.parametrize(("pack", "ending", "kind"), [(gzip.compress, ".gz", "gzip"), (bz2.compress, ".bz2", "bz2")])
@pytest.mark.parametrize(("file_name", "content"), [("a.csv", CSV), ("a.jsonl", JSONL)])
def test_compressed_files_are_decompressed_and_read(
    pack: Callable[[bytes], bytes], ending: str, kind: str, file_name: str, content: bytes, tmp_path: Path
) -> None:
    (tmp_path / (file_name + ending)).write_bytes(pack(content))
    profile = profile_sample(tmp_path / (file_name + ending), "s")
    check_is_the_table(profile)
    assert (profile.compression, profile.file_name, profile.notes) == (kind, file_name + ending, ())
    assert profile.size_bytes == len(pack(content))


def test_zstandard_and_a_packed_parquet_file_are_read(tmp_path: Path) -> None:
    with pa.output_stream(str(tmp_path / "a.csv.zst"), compression="zstd") as stream:
        stream.write(CSV)
    check_is_the_table(profile_sample(tmp_path / "a.csv.zst", "s"))
    pq.write_table(TABLE, tmp_path / "a.parquet")
    (tmp_path / "b.parquet.gz").write_bytes(gzip.compress((tmp_path / "a.parquet").read_bytes()))
    check_is_the_table(profile_sample(tmp_path / "b.parquet.gz", "s"))


def test_a_packed_file_whose_name_does_not_say_so_is_noted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(gzip.compress(CSV))
    profile = profile_sample(tmp_path / "a.csv", "s")
    check_is_the_table(profile)
    assert profile.notes == ("packed with gzip, though its name does not say so",)


def test_a_file_that_is_not_packed_as_its_name_says_is_refused(tmp_path: Path) -> None:
    for file_name, content, fault in (("a.csv.gz", CSV, "not packed"), ("a.csv.bz2", gzip.compress(CSV), "with gzip")):
        (tmp_path / file_name).write_bytes(content)
        with pytest.raises(SampleError, match=rf"is called \.\w+, but it is .*{fault}; give it the right extension"):
            profile_sample(tmp_path / file_name, "s")


FRAMES = {
    "pandas": TABLE.to_pandas(),
    "polars": pl.DataFrame({"n": [1, 2, 3], "t": ["x", "y", None]}),
    "pyarrow": TABLE,
    "pyarrow batch": TABLE.to_batches()[0],
    "data set": StructuredDataset(dataframe=TABLE.to_pandas()),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_are_read_in_place(kind: str) -> None:
    profile = profile_sample(FRAMES[kind], "s")
    check_is_the_table(profile)
    assert profile.format == "arrow"


def test_a_stored_dataset_is_read_from_its_uri(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "00000")
    check_is_the_table(profile_sample(StructuredDataset(uri=str(tmp_path), file_format="parquet"), "s"))


def test_a_missing_dataset_is_a_sample_error(tmp_path: Path) -> None:
    with pytest.raises(SampleError, match=r"sample 's': the StructuredDataset at '.*/none' cannot be read .*address"):
        profile_sample(StructuredDataset(uri=str(tmp_path / "none")), "s")


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_written_as_csv_read_back_unchanged(kind: str, tmp_path: Path) -> None:
    path = frame_file(FRAMES[kind], "s", tmp_path)
    check_is_the_table(profile_sample(path, "s"))
    assert frame_file(FRAMES[kind], "s", tmp_path) == path


@pytest.mark.parametrize(
    ("frame", "fault"),
    [
        (pl.DataFrame({"a": [[1], [2]]}), "columns 'a'"),
        (pa.table({"a": pa.array([1], pa.duration("s"))}), "columns 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), "several columns have the same name"),
        (pa.table({}), "no columns"),
    ],
    ids=["nested", "duration", "equal names", "empty"],
)
def test_a_frame_that_csv_cannot_hold_is_refused_with_the_remedy(frame: object, fault: str, tmp_path: Path) -> None:
    with pytest.raises(SampleError, match=f"sample 's': .*{fault}.*write it to a Parquet file"):
        frame_file(frame, "s", tmp_path)
    assert not list(tmp_path.iterdir())


def test_flyte_files_and_folders_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(CSV)
    check_is_the_table(profile_sample(FlyteFile(str(tmp_path / "a.csv")), "s"))
    check_is_the_table(profile_sample(FlyteDirectory(str(tmp_path)), "s"))


def test_orc_is_read(tmp_path: Path) -> None:
    orc.write_table(TABLE, tmp_path / "a.orc")
    profile = profile_sample(tmp_path / "a.orc", "s")
    check_is_the_table(profile)
    assert profile.format == "orc"


def test_a_column_of_several_types_is_refused_with_the_remedy() -> None:
    with pytest.raises(SampleError, match=r"sample 's': DataFrame cannot be read as Arrow .*column a.*one type"):
        profile_sample(pd.DataFrame({"a": [1, "x"]}), "s")


@pytest.mark.parametrize("value", [5, ["a"], b"a.csv", None])
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(SampleError, match=r"is not supported; pass a path, a FlyteFile.* data frame"):
        profile_sample(value, "s")


# -- folders


def folder_of(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_files_of_a_folder_are_one_table_with_common_types(tmp_path: Path) -> None:
    parts = {"1.csv": b"n,t\n1,x\n", "year/2.csv": b"n,t\n2.5,y\n3,\n", "_SUCCESS": b"", ".hidden": b"no"}
    profile = profile_sample(folder_of(tmp_path, parts), "s")
    assert (profile.row_count, profile.part_count, profile.format) == (3, 2, "csv")
    assert (profile.columns["n"].arrow_type, profile.columns["n"].maximum) == ("double", 3.0)


def test_json_and_parquet_files_of_a_folder_are_one_table(tmp_path: Path) -> None:
    lines = JSONL.splitlines(keepends=True)
    check_is_the_table(
        profile_sample(folder_of(tmp_path / "j", {"1.jsonl": lines[0], "2.jsonl": b"".join(lines[1:])}), "s")
    )
    (tmp_path / "p").mkdir()
    for number in range(3):
        pq.write_table(TABLE.slice(number, 1), tmp_path / "p" / f"{number}.parquet")
    check_is_the_table(profile_sample(tmp_path / "p", "s"))


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        (
            {"1.csv": b"a,b\n1,2\n", "2.csv": b"a,c\n1,2\n"},
            r"2\.csv has other columns than 1\.csv: it lacks 'b' and adds 'c'",
        ),
        (
            {"1.csv": b"a,b\n1,2\n", "2.csv": b"b,a\n1,2\n"},
            r"2\.csv has other columns than 1\.csv: it has them in another order",
        ),
        ({"1.csv": b"a,b\n1,2\n", "2.json": b'[{"a": 1}]'}, r"mixes formats: csv \(1\.csv\), json \(2\.json\)"),
        ({"_SUCCESS": b"", "1.csv": b""}, "holds no file with content"),
    ],
)
def test_a_folder_without_one_table_is_refused(files: dict[str, bytes], fault: str, tmp_path: Path) -> None:
    with pytest.raises(SampleError, match=f"sample 's': .*{fault}"):
        profile_sample(folder_of(tmp_path, files), "s")


def test_the_error_for_a_file_of_other_types_names_it(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "2.parquet")
    with pytest.raises(SampleError, match=r"2\.parquet has 'a' as string, which does not fit the types of 1\.parquet"):
        profile_sample(tmp_path, "s")


# -- workbooks


def workbook(folder: Path) -> Path:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["when", "amount", "twice", "note"])
    for number in range(1, 5):
        sheet.append([dt.datetime(2024, 1, number), number, f"=B{number + 1}*2", "x"])  # noqa: DTZ001 - Excel knows no zones
    sheet.merge_cells("D2:D4")
    book.create_sheet("other")["A1"] = "else"
    book.save(folder / "a.xlsx")
    return folder / "a.xlsx"


def test_a_workbook_is_read_and_formulas_and_other_sheets_are_noted(tmp_path: Path) -> None:
    profile = profile_sample(workbook(tmp_path), "s")
    assert (profile.format, profile.row_count) == ("excel", 4)
    when, amount, twice, note = profile.columns.values()
    assert (when.arrow_type, when.minimum) == ("timestamp[us]", "2024-01-01T00:00:00")
    assert (amount.arrow_type, amount.maximum) == ("int64", 4)
    assert (twice.null_count, note.null_count) == (4, 2)
    notes = " ".join(profile.notes)
    assert "4 formulas" in notes
    assert "1 merged ranges" in notes
    assert "sheet 'Sheet' is told here; the workbook has 2 sheets" in notes


def test_a_broken_workbook_is_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(SampleError, match=r"a\.xlsx cannot be read as Excel .*save it again"):
        profile_sample(path, "s")
