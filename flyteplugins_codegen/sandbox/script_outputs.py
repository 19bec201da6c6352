"""Reading what a script left, by the cluster's rules, in our own process: data from an adversary, never believed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import JsonValue

from flyteplugins_codegen.errors import OutputError
from flyteplugins_codegen.models.interface import TypeName
from flyteplugins_codegen.models.report import Cause
from flyteplugins_codegen.sandbox.contract import Execution
from flyteplugins_codegen.sandbox.launcher import (
    MAX_TEXT_BYTES,
    check_folder_files,
    format_value,
    invalid_output,
    is_simple,
    missing_output,
    parse_output,
)
from flyteplugins_codegen.sandbox.output_digests import file_digests, folder_digests
from flyteplugins_codegen.sandbox.outputs import Output

_HEAD_CHARS: Final = 500
_FILES_LISTED: Final = 100


def output_cause(execution: Execution, declared: Mapping[str, TypeName], present: Iterable[str] = ()) -> Cause | None:
    """The first declared output that is missing or not of its type, with the remedy; None where all are in order.

    `present` are the names that were there, for the message only.
    """
    for name, type_name in declared.items():
        refused = execution.refused_outputs.get(name)
        if name in execution.outputs:
            flaw = _flaw(execution.outputs[name], type_name)
        elif refused:
            flaw = f"it {refused}"
        else:
            return Cause(
                kind="missing_output", subject=name, message=missing_output(name, type_name, present), is_certain=True
            )
        if flaw:
            return Cause(kind="invalid_output", subject=name, message=invalid_output(name, type_name, flaw))
    return None


def read_value(output: Output, type_name: TypeName) -> Any:
    """The Python value of a simple output. Raises OutputError, naming the output, where it is not of its type."""
    try:
        return _value(output, type_name)
    except ValueError as error:
        raise OutputError(invalid_output(output.name, type_name, str(error))) from None


def summarise_outputs(outputs: Mapping[str, Output], declared: Mapping[str, TypeName]) -> dict[str, JsonValue]:
    """Each output that is in order as a small JSON value.

    Simple values are themselves; datetimes, timedeltas and non-finite floats are their text; a file is its size, its
    digests (`output_digests`) and, where it is text, its first 500 characters; a directory is the sizes of its files by
    name, and the digests of all of them.
    """
    return {
        name: _summary(outputs[name], type_name)
        for name, type_name in declared.items()
        if name in outputs and not _flaw(outputs[name], type_name)
    }


def _flaw(output: Output, type_name: TypeName) -> str | None:
    try:
        _check(output, type_name)
    except ValueError as error:
        return str(error)
    return None


def _check(output: Output, type_name: TypeName) -> None:
    if output.is_directory != (type_name == "directory"):
        raise ValueError("it is a folder; write a file" if output.is_directory else "it is a file; write a folder")
    if output.is_directory:
        check_folder_files(output.files)
    elif is_simple(type_name):
        _value(output, type_name)


def _value(output: Output, type_name: TypeName) -> Any:
    return parse_output(output.read_bytes(MAX_TEXT_BYTES + 1), type_name)


def _summary(output: Output, type_name: TypeName) -> JsonValue:
    if type_name == "directory":
        listed = sorted(output.files.items())[:_FILES_LISTED]
        sizes: dict[str, JsonValue] = {name: path.stat().st_size for name, path in listed}
        return {"files": sizes, "count": len(output.files), **folder_digests(output.files)}
    if type_name == "file":
        return _file_summary(output)
    value = _value(output, type_name)
    if type_name in {"datetime", "timedelta"} or (isinstance(value, float) and not math.isfinite(value)):
        return format_value(value, type_name)
    return value  # type: ignore[no-any-return]  # str, int, float or bool, by its type


def _file_summary(output: Output) -> JsonValue:
    # Four bytes are the most that one character takes; a last one that was cut is left out.
    head = output.read_bytes(_HEAD_CHARS * 4).decode(errors="replace")[:_HEAD_CHARS]
    digests = file_digests(output.files[output.name], output.size_bytes)
    summary: dict[str, JsonValue] = {"size_bytes": output.size_bytes, **digests}
    return summary if "\0" in head or "\ufffd" in head else {**summary, "head": head}
