"""Validates files against their schemas when a solution runs: inputs before the run, outputs after it.

On the host it uses the same `validator.py` that a solution's image contains: data that pass here pass in a pod, and the
image needs neither pandera nor pyarrow.
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
    """The schemas as JSON, for `schemas.json` in a solution's image; equal for equal schemas."""
    return json.dumps({name: table.for_validator() for name, table in sorted(schemas.items())}, indent=1)


def check_inputs(bundle: SolutionBundle, files: Mapping[str, Any], mode: ValidateMode) -> None:
    """Validate every input file that has a schema.

    With `strict` it raises DataError before anything runs; `warn` logs the flaws; `off` does nothing.
    """
    if mode == "off":
        return
    paths = {name: path for name, path in files.items() if isinstance(path, Path)}
    flaws = list(_find_flaws(bundle.schemas, paths))
    if flaws and mode == "strict":
        raise DataError(f"solution {bundle.name!r} was not run:\n{_bullets(flaws)}\n{_REMEDY}")
    _warn(bundle, flaws)


def check_outputs(bundle: SolutionBundle, folder: Path, mode: ValidateMode) -> None:
    """Validate every output file that has a schema, by its name in the folder. Raises OutputError as `check_inputs`."""
    if mode == "off":
        return
    paths = {name: folder / name for name in bundle.outputs if name not in bundle.inputs}
    flaws = list(_find_flaws(bundle.schemas, paths))
    if flaws and mode == "strict":
        raise OutputError(f"solution {bundle.name!r}: its outputs break their schema:\n{_bullets(flaws)}\n{_REMEDY}")
    _warn(bundle, flaws)


def schema_cause(schemas: Mapping[str, TableSchema], outputs: Mapping[str, Path]) -> Cause | None:
    """The cause of failure where outputs break their schema, else None."""
    flaws = list(_find_flaws(schemas, outputs))
    name = next((name for name in outputs if name in schemas), "")
    return Cause(kind="invalid_output", subject=name, message=_bullets(flaws), is_certain=True) if flaws else None


def _find_flaws(schemas: Mapping[str, TableSchema], paths: Mapping[str, Path]) -> Iterator[str]:
    for name, path in paths.items():
        if name not in schemas:
            continue
        try:
            yield from (describe(name, flaw) for flaw in check_table(path, schemas[name].for_validator()))
        except UncheckedError as error:
            _log.warning("%s is not checked: %s", name, error)
        except UnreadableError as error:
            yield f"{name}: {error}"


def _bullets(flaws: list[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in flaws)


def _warn(bundle: SolutionBundle, flaws: list[str]) -> None:
    for sentence in flaws:
        _log.warning("solution %r: %s", bundle.name, sentence)
