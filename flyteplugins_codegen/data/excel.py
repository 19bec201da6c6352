"""Reads the first non-empty sheet of a workbook as record batches; formulas by their last computed values."""

from __future__ import annotations

import datetime as dt
import json
import zipfile
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

from flyteplugins_codegen.data.files import check_growth
from flyteplugins_codegen.data.json import records_table
from flyteplugins_codegen.data.tables import SampleSource, SampleTable, unique_names

_REMEDY = "open it in a spreadsheet program and save it again, or pass a CSV file"
_EXTRA = "pip install 'flytekitplugins-codegen[excel]'"
_CHUNK_BYTES = 1 << 20
_MOST_SCANNED_BYTES = 64 << 20


def excel_table(source: SampleSource) -> SampleTable:
    """Return the table on the first sheet of the workbook that is not empty.

    Raises:
        SampleError: the file is not a workbook, is encrypted or broken, has no cell with a value, or the library that
            reads it is not installed.
    """
    notes: list[str] = []
    _check_archive(source, notes)
    rows = _read_rows(source, notes)
    while rows and not any(cell != "" for cell in rows[0]):
        rows.pop(0)
    if not rows:
        raise source.error("holds no cell with a value", "pass a file that holds some data")
    names = unique_names([_column_name(cell) for cell in rows[0]], notes)
    if len(rows) == 1:
        schema = pa.schema([(name, pa.null()) for name in names])
        return SampleTable(schema, iter(()), [*notes, "a header and no rows"])
    return records_table(lambda: _make_records(rows, names), notes)


def _read_rows(source: SampleSource, notes: list[str]) -> list[list[Any]]:
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise source.error("is an Excel file, and nothing is installed that reads it", f"run {_EXTRA}") from error
    try:
        workbook = CalamineWorkbook.from_path(str(source.files[0].path))
        sheets = [(name, workbook.get_sheet_by_name(name)) for name in workbook.sheet_names]
        filled = [(name, sheet) for name, sheet in sheets if sheet.total_height]
        if not filled:
            return []
        name, sheet = filled[0]
        if len(sheets) > 1:
            notes.append(f"sheet {name!r} is told here; the workbook has {len(sheets)} sheets")
        if sheet.merged_cell_ranges:
            notes.append(f"{len(sheet.merged_cell_ranges)} merged ranges: only the first cell of each has a value")
        rows: list[list[Any]] = sheet.to_python()
    except (CalamineError, OSError, ValueError) as error:
        raise source.error(f"cannot be read as Excel ({error})", _REMEDY) from error
    return rows


def _check_archive(source: SampleSource, notes: list[str]) -> None:
    """Refuse a workbook that would not fit into memory; add a note on the number of formulas."""
    path = source.files[0].path
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        check_growth(source.name, path, sum(entry.file_size for entry in archive.infolist()))
        sheets = [entry for entry in archive.namelist() if entry.startswith("xl/worksheets/")]
        formulas = sum(_count_formulas(archive, entry) for entry in sheets if entry.endswith(".xml"))
    if formulas:
        notes.append(f"{formulas} formulas: told by the values that they came to when the file was saved")


def _count_formulas(archive: zipfile.ZipFile, entry: str) -> int:
    count, read_bytes, last = 0, 0, b""
    with archive.open(entry) as file:
        while read_bytes < _MOST_SCANNED_BYTES and (chunk := file.read(_CHUNK_BYTES)):
            data = last + chunk
            count += data.count(b"<f>") + data.count(b"<f ")
            last = data[-2:]
            read_bytes += len(chunk)
    return count


def _column_name(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def _make_records(rows: list[list[Any]], names: list[str]) -> Iterator[dict[str, Any]]:
    for row in islice(rows, 1, None):
        yield {name: _cell_value(cell) for name, cell in zip(names, row, strict=True)}


def _cell_value(cell: Any) -> Any:
    if cell == "":
        return None
    if isinstance(cell, dt.time):
        return cell.isoformat()
    if isinstance(cell, dt.timedelta):
        return cell.total_seconds()
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return cell if isinstance(cell, str | int | float | bool | dt.date) else json.dumps(cell, default=str)
