"""The old and the new solution compared by their outputs, on the old data and on the fresh data."""

from __future__ import annotations

import filecmp
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from flyteplugins_codegen.errors import EnvironmentBuildError, SolutionError
from flyteplugins_codegen.judging.equality import REFRESHED_OUTPUTS, are_close
from flyteplugins_codegen.models.job import SolutionBundle
from flyteplugins_codegen.models.refresh import Comparison, OutputDifference
from flyteplugins_codegen.models.settings import CacheMode
from flyteplugins_codegen.portable.validator import UnreadableError, read_cells
from flyteplugins_codegen.solution.execute import ExecutionOptions, execute_remembered
from flyteplugins_codegen.telemetry import stage

# Programs that add numbers in a different order differ in the last digits.
_DIGITS: Final = 9
_MOST_CHARS: Final = 80
Outputs: TypeAlias = Mapping[str, Any]
RunOn: TypeAlias = Callable[[SolutionBundle, Mapping[str, Path]], Outputs]


def file_difference(old: Path, new: Path) -> tuple[float, str]:
    """The difference from 0, equal, to 1, and as text: for tables the share of different rows, in any order."""
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
    if not names:
        return 0.0, "both are empty"
    differing = [name for name in names if not _are_same_files(old / name, new / name)]
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
    """The sorted names of the columns, and the count of each row."""
    columns: tuple[str, ...] = ()
    rows: Counter[tuple[str, ...]] = Counter()
    for chunk in read_cells(path, lambda _: True):
        columns = tuple(sorted(chunk))
        cells = (chunk[name] for name in columns)
        rows.update(tuple(map(_canonical, row)) for row in zip(*cells, strict=True))
    return columns, rows


def _canonical(cell: Any) -> str:
    """A number by its first digits, however it is written, and as 0 if it is as close to that; other cells as text."""
    try:
        number = float(cell)
    except (TypeError, ValueError):
        return str(cell)
    return "0" if are_close(number, 0.0, REFRESHED_OUTPUTS) else f"{number:.{_DIGITS}g}"


def compare_solutions(
    old: SolutionBundle, new: SolutionBundle, data: Mapping[str, Mapping[str, Path]], run: RunOn
) -> Comparison:
    """Run both solutions on each of `data`, inputs by a title, and compare their outputs.

    If one of them cannot run on some data, a note says so, and nothing is compared on it: that may be the reason for
    the new solution. Raises SandboxError.
    """
    with stage("compare outputs") as note:
        differences: list[OutputDifference] = []
        notes: list[str] = []
        for title, inputs in data.items():
            missing = [name for name in old.inputs if name not in inputs]
            if missing:
                notes.append(f"nothing was run on {title}: there is no value for {', '.join(missing)}")
                continue
            try:
                differences += _differences(title, old, _outputs(run, old, inputs), _outputs(run, new, inputs))
            except _CannotRunError as error:
                notes.append(f"on {title}, {error}")
        comparison = Comparison(differences=tuple(differences), notes=tuple(notes))
        largest = comparison.largest
        note.detail = "nothing to compare" if largest is None else f"they differ by {largest:.4g}"
        return comparison


def runner(options: ExecutionOptions, cache: CacheMode) -> RunOn:
    """A function that runs a solution with these options and caches its outputs. Schemas are not checked again."""
    unchecked = options.model_copy(update={"validation": "off"})
    return lambda bundle, inputs: execute_remembered(bundle, inputs, unchecked, cache)


def value_difference(old: Any, new: Any) -> float:
    """The difference of two simple values: 0 if equal; for numbers the distance divided by the larger one; else 1."""
    if isinstance(old, bool) or isinstance(new, bool) or not _are_numbers(old, new):
        return 0.0 if old == new else 1.0
    if are_close(new, old, REFRESHED_OUTPUTS):
        return 0.0
    if not (math.isfinite(old) and math.isfinite(new)):
        return 1.0
    return min(1.0, float(abs(old - new) / max(abs(old), abs(new))))


class _CannotRunError(Exception):
    """One of the solutions does not run on some data."""


def _outputs(run: RunOn, bundle: SolutionBundle, inputs: Mapping[str, Path]) -> Outputs:
    try:
        return run(bundle, inputs)
    except (SolutionError, EnvironmentBuildError) as error:
        first = str(error).partition("\n")[0]
        raise _CannotRunError(f"the {bundle.name} does not run: {first[:200]}") from error


def _differences(title: str, bundle: SolutionBundle, old: Outputs, new: Outputs) -> Iterator[OutputDifference]:
    for name in bundle.outputs:
        difference, text = _difference(old[name], new[name])
        yield OutputDifference(data=title, output=name, difference=difference, told=f"{name} on {title}: {text}")


def _difference(old: Any, new: Any) -> tuple[float, str]:
    if isinstance(old, Path):
        return file_difference(old, new)
    difference = value_difference(old, new)
    return difference, f"{_json_text(old)} -> {_json_text(new)}" if difference else f"{_json_text(old)}, the same"


def _are_numbers(old: Any, new: Any) -> bool:
    return isinstance(old, int | float) and isinstance(new, int | float)


def _json_text(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}..."
