"""A script's outputs as the sandbox collected them: checked, read as values, summarised with digests.

They are data of an untrusted program, read in our own process by the rules of a cluster.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue

from flyteplugins_codegen.errors import OutputError
from flyteplugins_codegen.models.job import TypeName
from flyteplugins_codegen.models.run import Cause
from flyteplugins_codegen.portable.launcher import (
    MAX_TEXT_BYTES,
    check_folder_files,
    format_value,
    invalid_output,
    is_simple,
    missing_output,
    parse_output,
)
from flyteplugins_codegen.sandbox.contract import Execution, Output
from flyteplugins_codegen.store import digest

_CHUNK_BYTES: Final = 1 << 20
_MAX_TEXT_DIGEST_BYTES: Final = 16 << 20
_MAX_NUMBERS_CHARS: Final = 1 << 18
"""Decimals in a longer text are not normalised: that would slow down every run."""
_SIGNIFICANT_DIGITS: Final = 12
# A decimal or a power of ten on its own, not part of a name, a version or a date.
_DECIMAL: Final = re.compile(r"(?<![\w.])(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?(?![\w.])")
_HEAD_CHARS: Final = 500
_MAX_LISTED_FILES: Final = 100


def output_cause(execution: Execution, declared: Mapping[str, TypeName], present: Iterable[str] = ()) -> Cause | None:
    """The cause of the first declared output that is missing or not of its type; None where there is none.

    `present` are the names that exist, for the message only.
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
    """The Python value of a simple output. Raises OutputError with its name where it is not of its type."""
    try:
        return _value(output, type_name)
    except ValueError as error:
        raise OutputError(invalid_output(output.name, type_name, str(error))) from None


def summarise_outputs(outputs: Mapping[str, Output], declared: Mapping[str, TypeName]) -> dict[str, JsonValue]:
    """Each valid output as a small JSON value.

    Simple values are themselves; datetimes, timedeltas and non-finite floats are their text. A file is its size, its
    digests and, where it is text, its first 500 characters; a directory is the sizes of its files by name, and the
    digests of all of them.
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
        listed = sorted(output.files.items())[:_MAX_LISTED_FILES]
        sizes: dict[str, JsonValue] = {name: path.stat().st_size for name, path in listed}
        return {"files": sizes, "count": len(output.files), **folder_digests(output.files)}
    if type_name == "file":
        return _file_summary(output)
    value = _value(output, type_name)
    if type_name in {"datetime", "timedelta"} or (isinstance(value, float) and not math.isfinite(value)):
        return format_value(value, type_name)
    return value  # str, int, float or bool, by its type


def _file_summary(output: Output) -> JsonValue:
    # A character takes at most four bytes; the slice drops one that was cut.
    head = output.read_bytes(_HEAD_CHARS * 4).decode(errors="replace")[:_HEAD_CHARS]
    digests = file_digests(output.files[output.name], output.size_bytes)
    summary: dict[str, JsonValue] = {"size_bytes": output.size_bytes, **digests}
    return summary if "\0" in head or "\ufffd" in head else {**summary, "head": head}


# --- digests: the outputs of two candidates are compared by them after both sandboxes are closed ---


def file_digests(path: Path, size_bytes: int) -> dict[str, str]:
    """`sha256` of a file's bytes and, for a text of up to 16 MiB, `text_sha256` of its `plain_text`."""
    if size_bytes > _MAX_TEXT_DIGEST_BYTES:
        return {"sha256": _sha256_of(path)}
    data = path.read_bytes()
    exact = {"sha256": hashlib.sha256(data).hexdigest()}
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return exact
    return exact if "\0" in text else {**exact, "text_sha256": hashlib.sha256(plain_text(text).encode()).hexdigest()}


def folder_digests(files: Mapping[str, Path]) -> dict[str, str]:
    """The digests over the names and contents of all files; `text_sha256` where every file is a text."""
    by_file = {name: file_digests(path, path.stat().st_size) for name, path in sorted(files.items())}
    kinds = ["sha256", "text_sha256"] if all("text_sha256" in digests for digests in by_file.values()) else ["sha256"]
    return {kind: digest({name: digests[kind] for name, digests in by_file.items()}) for kind in kinds}


def plain_text(text: str) -> str:
    """The text with newlines as line ends, none at its end, and decimals of 12 significant digits: 7.50 becomes 7.5."""
    lines = text.replace("\r\n", "\n").rstrip("\n")
    if len(lines) > _MAX_NUMBERS_CHARS:
        return lines
    return _DECIMAL.sub(lambda match: format(float(match[0]), f".{_SIGNIFICANT_DIGITS}g"), lines)


def _sha256_of(path: Path) -> str:
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            sha.update(chunk)
    return sha.hexdigest()
