"""Broken, hostile and unusual samples give a clear error or a note, in bounded memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flyteplugins_codegen.data import extract_data_context, profile_sample
from flyteplugins_codegen.errors import SampleError
from flyteplugins_codegen.models.data import SampleProfile


def profile_of(folder: Path, file_name: str, content: bytes) -> SampleProfile:
    (folder / file_name).write_bytes(content)
    return profile_sample(folder / file_name, "s")


def parquet(folder: Path) -> bytes:
    pq.write_table(pa.table({"a": range(1000)}), folder / "whole.parquet")
    return (folder / "whole.parquet").read_bytes()


@pytest.mark.parametrize(
    ("file_name", "content", "fault"),
    [
        ("a.csv", b"", r"is empty \(0 bytes\)"),
        ("a.csv", bytes(range(256)) * 20, r"is called \.csv, but its content is binary data"),
        ("a.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 10_000)[:-30], "cannot be unpacked as gzip .*copy it again"),
        (
            "a.csv",
            b"a,b\n1,2\n" + b"x" * 5_000_000 + b",1\n",
            "holds a row of more than 2 MiB, or a quote that is never",
        ),
        ("a.xlsx", b"PK\x03\x04 and nothing else", "cannot be read as Excel"),
        ("a.orc", b"ORC" + b"\xfe\x01\x02" * 30, "cannot be read as ORC"),
    ],
    ids=["empty", "binary", "cut gzip", "long row", "broken workbook", "broken ORC"],
)
def test_an_unreadable_file_is_refused(file_name: str, content: bytes, fault: str, tmp_path: Path) -> None:
    with pytest.raises(SampleError, match=f"sample 's': .*{fault}"):
        profile_of(tmp_path, file_name, content)


def test_a_parquet_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SampleError, match=r"cannot be read as Parquet .*copy it again"):
        profile_of(tmp_path, "a.parquet", parquet(tmp_path)[:-50])


def test_a_parquet_file_broken_in_its_middle_is_refused(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"a": ["x" * 50 + str(n) for n in range(9000)]}), tmp_path / "a.parquet", compression="gzip"
    )
    data = bytearray((tmp_path / "a.parquet").read_bytes())
    data[2000:2400] = bytes(400)
    with pytest.raises(SampleError, match="cannot be read as Parquet"):
        profile_of(tmp_path, "b.parquet", bytes(data))


@pytest.mark.parametrize("before", [0, 1000])
def test_a_quote_that_is_never_closed_is_noted(before: int, tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "a.csv", b"a,b\n" + b"3,4\n" * before + b'1,"2\n' + b"3,4\n" * 1000)
    assert profile.row_count == before + 1
    assert "the last text of column 'b' holds 1001 line ends: a quote before it is never closed" in profile.notes


def test_a_decompression_bomb_is_refused_before_it_fills_the_disk(tmp_path: Path) -> None:
    chunk = gzip.compress(b"1,2\n" * 1_000_000, 9)
    bomb = gzip.compress(b"a,b\n") + chunk * 100
    with pytest.raises(SampleError, match="unpack to more than 200 times as many; unpack it yourself"):
        profile_of(tmp_path, "a.csv.gz", bomb)


def test_a_decompression_bomb_in_a_workbook_is_refused(tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as file,
    ):
        for _ in range(300):
            file.write(bytes(1 << 20))
    with pytest.raises(SampleError, match="unpack to more than 200 times"):
        profile_sample(tmp_path / "a.xlsx", "s")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "latin-1"])
def test_encodings_are_noted_and_read(encoding: str, tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "a.csv", "name,value\nAnnä,1\nBob,2\n".encode(encoding))
    assert [row["name"] for row in profile.sample_rows] == ["Annä", "Bob"]
    assert profile.notes == (() if encoding == "utf-8-sig" else (f"not UTF-8: read it with encoding={encoding!r}",))


@pytest.mark.parametrize(
    ("content", "delimiter", "note"),
    [
        (b"a^b\n1^x\n2^y\n", "^", "the delimiter is '^'"),
        (b"a;b\n1,5;x\n2,5;y\n", ";", "the delimiter is ';'"),
        (b"a,b\n'1,5',x\n'2,5',y\n", ",", 'texts are quoted by "\'"'),
        (b'a,b\n"1\\"5",x\n"2",y\n', ",", "quotes within texts are written after '\\\\'"),
        (b"# from the shop\n#\na,b\n1,x\n2,y\n", ",", "the header comes after 2 lines of comment"),
    ],
)
def test_dialects_are_noted_and_read(content: bytes, delimiter: str, note: str, tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "a.csv", content)
    assert list(profile.columns) == ["a", "b"]
    assert [row["b"] for row in profile.sample_rows] == ["x", "y"]
    assert note in profile.notes


def test_a_line_of_100_megabytes_takes_little_memory(tmp_path: Path) -> None:
    with (tmp_path / "a.txt").open("wb") as file:
        for _ in range(100):
            file.write(b"a" * 1_000_000)
    program = (
        "import re, sys\n"
        "import flyteplugins_codegen.data.profile as module, pyarrow.compute\n"
        "highest = lambda: int(re.search('VmHWM:.*?([0-9]+)', open('/proc/self/status').read())[1])\n"
        "before = highest()\n"
        "profile = module.profile_sample(sys.argv[1], 's')\n"
        "assert profile.row_count == 1, profile\n"
        "assert 'longest line has at least' in profile.notes[0]\n"
        "print(highest() - before)"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "a.txt")], capture_output=True, text=True, check=True, timeout=60
    )
    assert 1 << 10 < int(finished.stdout) < 60 << 10


def test_the_error_for_a_json_line_that_is_too_long_says_so(tmp_path: Path) -> None:
    with pytest.raises(SampleError, match=r"line 1 is longer than \d+ characters"):
        profile_of(tmp_path, "a.jsonl", b'{"a":"' + b"x" * 70_000_000 + b'"}\n{"a":"y"}\n')


def test_logs_are_profiled_by_the_shapes_of_their_lines_and_their_time_stamps(tmp_path: Path) -> None:
    lines = [f"2024-01-01 10:{n // 60:02d}:{n % 60:02d} INFO job {n} done\n" for n in range(3000)]
    profile = profile_of(tmp_path, "a.log", "".join(lines).encode())
    assert (profile.format, profile.row_count) == ("text", 3000)
    assert profile.line_shapes[0][0].startswith("9999-99-99 99:99:99 AAAA aaa 999")
    assert "from 2024-01-01 10:00:00 to 2024-01-01 10:49:59" in profile.notes[0]


def test_infinities_are_extremes_and_have_no_mean(tmp_path: Path) -> None:
    column = profile_of(tmp_path, "a.csv", b"a\nNaN\ninf\n-inf\n1.5\n").columns["a"]
    assert (column.null_count, column.minimum, column.maximum, column.mean) == (1, "-inf", "inf", None)


def test_dates_beyond_9999_have_extremes(tmp_path: Path) -> None:
    days = pa.array([1, 4_000_000], pa.int32()).cast(pa.date32())
    times = pa.array([1, 2**62], pa.int64()).cast(pa.timestamp("us"))
    profile = profile_sample(pa.table({"day": days, "time": times}), "s")
    assert profile.columns["day"].maximum == "12921-08-18"
    assert profile.columns["time"].maximum == f"{2**62} since 1970"
    assert profile_of(tmp_path, "a.csv", b"a,b\n12024-01-01,1\n").columns["a"].minimum == "12024-01-01"


def test_ten_thousand_columns_fit_the_budget(tmp_path: Path) -> None:
    header = ",".join(f"c{number}" for number in range(10_000))
    rows = "\n".join(",".join(str(number * row % 97) for number in range(10_000)) for row in range(10))
    (tmp_path / "a.csv").write_text(f"{header}\n{rows}\n")
    started = time.process_time()
    context = extract_data_context({"s": tmp_path / "a.csv"}, max_tokens=2000)
    assert time.process_time() - started < 30
    assert len(context.samples["s"].columns) == 10_000
    assert len(context.text) <= 6000
    assert "more columns (" in context.text


def test_names_that_collide_keep_their_own_values(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "a.csv", b"a,A,a,a.1,,\n1,2,3,4,5,6\n")
    assert [column.minimum for column in profile.columns.values()] == [1, 2, 3, 4, 5, 6]
    assert len(profile.notes) == 2


def test_null_bytes_do_not_end_a_text(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "a.csv", b"a,b\n" + b"1,x\n" * 30_000 + b"2,\x00y\n")
    assert (profile.row_count, profile.columns["b"].minimum) == (30_001, "\x00y")
    assert "\x00" not in extract_data_context({"s": tmp_path / "a.csv"}).text
