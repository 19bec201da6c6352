"""The old and the new solution side by side, on the old data and on the fresh."""

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

# How far two output files differ: tables by their rows, other files by their bytes.

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
    """A number by its first digits, however it is written, and as 0 if it is as close to that; other cells as text."""
    try:
        number = float(cell)
    except (TypeError, ValueError):
        return str(cell)
    return "0" if are_close(number, 0.0, REFRESHED_OUTPUTS) else f"{number:.{_DIGITS}g}"


_MOST_CHARS: Final = 80
Outputs: TypeAlias = Mapping[str, Any]
RunOn: TypeAlias = Callable[[SolutionBundle, Mapping[str, Path]], Outputs]


def compare_solutions(
    old: SolutionBundle, new: SolutionBundle, data: Mapping[str, Mapping[str, Path]], run: RunOn
) -> Comparison:
    """How far the outputs of two solutions differ; `data` are inputs by what they are called.

    Where either cannot run on some data, that is noted, and nothing of it is compared: it may be why there is a new
    solution. Raises SandboxError.
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
        found = Comparison(differences=tuple(differences), notes=tuple(notes))
        note.detail = "nothing to compare" if found.largest is None else f"they differ by {found.largest:.4g}"
        return found


def runner(options: ExecutionOptions, cache: CacheMode) -> RunOn:
    """Runs a solution as its settings have it, its outputs kept by their content; schemas were looked at before."""
    unchecked = options.model_copy(update={"validation": "off"})
    return lambda bundle, inputs: execute_remembered(bundle, inputs, unchecked, cache)


def value_difference(old: Any, new: Any) -> float:
    """Of two simple values: 0 for the same, for numbers their distance over the larger one, else 1."""
    if isinstance(old, bool) or isinstance(new, bool) or not _are_numbers(old, new):
        return 0.0 if old == new else 1.0
    if are_close(new, old, REFRESHED_OUTPUTS):
        return 0.0
    if not (math.isfinite(old) and math.isfinite(new)):
        return 1.0
    return min(1.0, float(abs(old - new) / max(abs(old), abs(new))))


class _CannotRunError(Exception):
    """One of the two does not run on some data."""


def _outputs(run: RunOn, bundle: SolutionBundle, inputs: Mapping[str, Path]) -> Outputs:
    try:
        return run(bundle, inputs)
    except (SolutionError, EnvironmentBuildError) as error:
        first = str(error).partition("\n")[0]
        raise _CannotRunError(f"the {bundle.name} does not run: {first[:200]}") from error


def _differences(title: str, bundle: SolutionBundle, old: Outputs, new: Outputs) -> Iterator[OutputDifference]:
    for name in bundle.outputs:
        difference, told = _difference(old[name], new[name])
        yield OutputDifference(data=title, output=name, difference=difference, told=f"{name} on {title}: {told}")


def _difference(old: Any, new: Any) -> tuple[float, str]:
    if isinstance(old, Path):
        return file_difference(old, new)
    difference = value_difference(old, new)
    return difference, f"{_shown(old)} -> {_shown(new)}" if difference else f"{_shown(old)}, the same"


def _are_numbers(old: Any, new: Any) -> bool:
    return isinstance(old, int | float) and isinstance(new, int | float)


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}..."
