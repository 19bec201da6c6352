"""The beginnings of large samples, from which files are derived."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from flyteplugins_codegen.data.derived.heads import MOST_BYTES, take_head
from flyteplugins_codegen.data.derived.tables import read_table

ROWS = MOST_BYTES // 10


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "heads"
    made.mkdir()
    return made


def test_a_small_sample_is_its_own_head(tmp_path: Path, folder: Path) -> None:
    sample = tmp_path / "sales.csv"
    sample.write_text("id,amount\n1,2\n")
    assert take_head(sample, folder) == sample


@pytest.mark.parametrize("line", ["{number},{number}0\n", '{number},"a ""long"" text, {number}"\n'])
def test_of_lines_only_whole_ones_are_taken(tmp_path: Path, folder: Path, line: str) -> None:
    sample = tmp_path / "sales.csv"
    sample.write_text("id,amount\n" + "".join(line.format(number=number) for number in range(ROWS)))
    head = take_head(sample, folder)
    assert head is not None
    assert head.stat().st_size <= MOST_BYTES
    table = read_table(head)
    assert table is not None
    assert table.columns == ("id", "amount")
    assert [row[0] for row in table.rows] == [str(number) for number in range(len(table.rows))]


def test_a_parquet_file_keeps_its_schema(tmp_path: Path, folder: Path) -> None:
    sample = tmp_path / "sales.parquet"
    table = pa.table({"id": range(ROWS), "amount": [str(number * 7919) for number in range(ROWS)]})
    parquet.write_table(table, sample)
    head = take_head(sample, folder)
    assert head is not None
    read = parquet.read_table(head)
    assert read.schema == table.schema
    assert read.equals(table.slice(0, read.num_rows))


def test_what_cannot_be_cut_has_no_head(tmp_path: Path, folder: Path) -> None:
    sample = tmp_path / "sales.json"
    sample.write_text('[{"id": 1}' + ', {"id": 2}' * ROWS + "]")
    assert take_head(sample, folder) is None
