"""The old and the new solution side by side, on the old data and on the fresh."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from flyteplugins_codegen.errors import EnvironmentBuildError, SolutionError
from flyteplugins_codegen.models.bundle import SolutionBundle
from flyteplugins_codegen.models.refresh import Comparison, OutputDifference
from flyteplugins_codegen.models.settings import CacheMode
from flyteplugins_codegen.stages.execute import ExecutionOptions, execute_remembered
from flyteplugins_codegen.stages.progress import stage
from flyteplugins_codegen.stages.refresh.tables import file_difference

RELATIVE_TOLERANCE: Final = 1e-9
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
    if math.isclose(old, new, rel_tol=RELATIVE_TOLERANCE) or (math.isnan(old) and math.isnan(new)):
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
