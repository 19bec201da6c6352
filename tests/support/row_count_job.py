"""A small job for tests of the whole way: count the rows of a table, with the standard library alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_CODE = """\
import argparse
from pathlib import Path


def count_rows(path):
    lines = Path(path).read_text().splitlines()
    return len(lines) - {header_lines}


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--table")
    Path("/var/outputs/row_count").write_text(str(count_rows(parser.parse_args(argv).table)))


if __name__ == "__main__":
    main()
"""
_TESTS = """\
from pathlib import Path

from solution import main


def test_the_header_is_no_row(tmp_path):
    table = tmp_path / "table"
    table.write_text("a,b\\n1,2\\n3,4\\n")
    main(["--table", str(table)])
    assert Path("/var/outputs/row_count").read_text() == "2"
"""
_NOTHING_MORE: dict[str, Any] = {"code": None, "test_code": None, "packages": [], "system_packages": []}

OUTPUTS = {"row_count": "int"}
TESTS: dict[str, Any] = {"test_code": _TESTS}


def write_table(path: Path, rows: int) -> Path:
    """A table with a header and that many rows."""
    path.write_text("a,b\n" + "".join(f"{number},x\n" for number in range(rows)))
    return path


def code(header_lines: int = 1) -> str:
    """The script; it is right when it takes one line for the header."""
    return _CODE.format(header_lines=header_lines)


def solution(header_lines: int = 1) -> dict[str, Any]:
    """A model's reply with that script."""
    return {
        "description": "Counts the rows.",
        "approach": "Counts lines.",
        "code": code(header_lines),
        "packages": [],
        "system_packages": [],
    }


def repair(old_header_lines: int, new_header_lines: int) -> dict[str, Any]:
    """A model's reply that changes how many lines the header has."""
    edit = {"search": f"len(lines) - {old_header_lines}", "replace": f"len(lines) - {new_header_lines}"}
    return {"cause": "the header is miscounted", "error_type": "logic", "edits": [edit], **_NOTHING_MORE}
