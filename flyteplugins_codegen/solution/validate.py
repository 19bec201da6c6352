"""Files held against their schemas when a solution runs: inputs before, outputs after.

It is done on the host, before `run()` starts anything, by the same file that a solution's image carries: the image
needs neither pandera nor pyarrow for it, and data that pass here pass in a pod.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flyteplugins_codegen.errors import DataError, OutputError
from flyteplugins_codegen.models.data import TableSchema, ValidateMode
from flyteplugins_codegen.models.job import SolutionBundle
from flyteplugins_codegen.models.run import Cause
from flyteplugins_codegen.portable.validator import UncheckedError, UnreadableError, check_table, describe

_log = logging.getLogger("flyteplugins_codegen.stages")
_REMEDY = "Mend the file, or pass validate='warn' to go on all the same, 'off' not to look."


def schemas_text(schemas: Mapping[str, TableSchema]) -> str:
    """The schemas as the file that lies in a solution's image: JSON, the same for the same schemas."""
    return json.dumps({name: table.for_validator() for name, table in sorted(schemas.items())}, indent=1)


def check_inputs(bundle: SolutionBundle, files: Mapping[str, Any], mode: ValidateMode) -> None:
    """Hold every input file that has a schema against it.

    Raises DataError by `strict`, before anything runs; `warn` logs what is found.
    """
    paths = {name: path for name, path in files.items() if isinstance(path, Path)}
    found = list(_flaws(bundle.schemas, paths)) if mode != "off" else []
    if found and mode == "strict":
        raise DataError(f"solution {bundle.name!r} was not run:\n{_listed(found)}\n{_REMEDY}")
    _warn(bundle, found)


def check_outputs(bundle: SolutionBundle, folder: Path, mode: ValidateMode) -> None:
    """Hold every output file that has a schema against it, by its name below the folder. Raises OutputError."""
    found = list(_flaws(bundle.schemas, _outputs(bundle, folder))) if mode != "off" else []
    if found and mode == "strict":
        raise OutputError(f"solution {bundle.name!r}: its outputs break their schema:\n{_listed(found)}\n{_REMEDY}")
    _warn(bundle, found)


def schema_cause(schemas: Mapping[str, TableSchema], outputs: Mapping[str, Path]) -> Cause | None:
    """The cause of failure of outputs that break their schema."""
    found = list(_flaws(schemas, outputs))
    name = next((name for name in outputs if name in schemas), "")
    return Cause(kind="invalid_output", subject=name, message=_listed(found), is_certain=True) if found else None


def _outputs(bundle: SolutionBundle, folder: Path) -> dict[str, Path]:
    return {name: folder / name for name in bundle.outputs if name not in bundle.inputs}


def _flaws(schemas: Mapping[str, TableSchema], paths: Mapping[str, Path]) -> Iterator[str]:
    for name, path in paths.items():
        if name not in schemas:
            continue
        try:
            yield from (describe(name, flaw) for flaw in check_table(path, schemas[name].for_validator()))
        except UncheckedError as error:
            _log.warning("%s is not checked: %s", name, error)
        except UnreadableError as error:
            yield f"{name}: {error}"


def _listed(found: list[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in found)


def _warn(bundle: SolutionBundle, found: list[str]) -> None:
    for sentence in found:
        _log.warning("solution %r: %s", bundle.name, sentence)
