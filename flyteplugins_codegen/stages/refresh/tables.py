"""How far two output files differ: tables by their rows, other files by their bytes."""

from __future__ import annotations

import filecmp
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.sandbox.validator import UnreadableError, read_cells

# Two programs that add in another order differ in the last digits.
_DIGITS: Final = 9


def file_difference(old: Path, new: Path) -> tuple[float, str]:
    """From 0, the same, to 1, and in words. Of tables the share of rows that the other one has not, in any order."""
    if old.is_dir() or new.is_dir():
        return _folder_difference(old, new)
    if filecmp.cmp(old, new, shallow=False):
        return 0.0, "the same bytes"
    try:
        return _table_difference(old, new)
    except (UnreadableError, OSError):
        return 1.0, "other bytes, and no tables that could be compared"


def _folder_difference(old: Path, new: Path) -> tuple[float, str]:
    names = sorted({entry.name for folder in (old, new) if folder.is_dir() for entry in folder.iterdir()})
    differing = [name for name in names if not _are_same_files(old / name, new / name)]
    if not names:
        return 0.0, "both are empty"
    return len(differing) / len(names), f"{len(differing)} of {len(names)} files differ"


def _are_same_files(old: Path, new: Path) -> bool:
    return old.is_file() and new.is_file() and file_difference(old, new)[0] == 0.0


def _table_difference(old: Path, new: Path) -> tuple[float, str]:
    (old_columns, old_rows), (new_columns, new_rows) = _rows(old), _rows(new)
    if set(old_columns) != set(new_columns):
        return 1.0, f"other columns: {', '.join(old_columns)} -> {', '.join(new_columns)}"
    gone, added = (old_rows - new_rows).total(), (new_rows - old_rows).total()
    longest = max(old_rows.total(), new_rows.total())
    if not longest or not (gone or added):
        return 0.0, f"the same {old_rows.total():,} rows"
    sizes = f"{old_rows.total():,} -> {new_rows.total():,} rows"
    return max(gone, added) / longest, f"{sizes}; {gone:,} only in the old, {added:,} only in the new"


def _rows(path: Path) -> tuple[tuple[str, ...], Counter[tuple[str, ...]]]:
    """The columns, by name, and how often each row occurs."""
    columns: tuple[str, ...] = ()
    rows: Counter[tuple[str, ...]] = Counter()
    for chunk in read_cells(path, lambda _: True):
        columns = tuple(sorted(chunk))
        rows.update(_canonical_rows([chunk[name] for name in columns]))
    return columns, rows


def _canonical_rows(cells: list[Any]) -> Iterator[tuple[str, ...]]:
    for row in zip(*cells, strict=True):
        yield tuple(map(_canonical, row))


def _canonical(cell: Any) -> str:
    """A number by its first digits, however it is written; anything else as it is."""
    try:
        return f"{float(cell):.{_DIGITS}g}"
    except (TypeError, ValueError):
        return str(cell)
