"""Compares a script's outputs with those that an example expects, by value and outside the sandbox."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue

from flyteplugins_codegen.judging.equality import EXAMPLE_OUTPUTS, are_close
from flyteplugins_codegen.models.job import TypeName
from flyteplugins_codegen.models.run import Cause
from flyteplugins_codegen.portable.launcher import format_value, parse_value
from flyteplugins_codegen.sandbox.contract import Output
from flyteplugins_codegen.solution.outputs import read_value
from flyteplugins_codegen.text import short_repr, shorten_middle

_EXTRA_BYTES: Final = 4_096


def expect_outputs(
    outputs: Mapping[str, Output], expected: Mapping[str, JsonValue], types: Mapping[str, TypeName]
) -> Cause | None:
    """All outputs that differ from what the example expects, a line each, in its order; None where none does.

    ints, bools and texts (trimmed) are compared exactly and by type: `True` is not 1. Floats agree within 1e-9 of the
    larger, or 1e-12; NaN equals NaN. A datetime is expected as RFC 3339 text, a timedelta as a Go duration; both are
    compared as instants and durations. A file is expected as its text, ignoring up to 4096 newlines at its end, or as
    `{"base64": ...}`, byte by byte; a directory as a mapping of file names to files. `outputs` must have been checked
    to be of their types.

    Raises:
        KeyError: `expected` names an output that is not among `outputs` or `types`.
        OutputError: an output is not of its type.
    """
    found = {name: _difference(outputs[name], value, types[name]) for name, value in expected.items()}
    lines = [f"output {name!r}: {difference}" for name, difference in found.items() if difference]
    if not lines:
        return None
    first = next(name for name, difference in found.items() if difference)
    return Cause(kind="wrong_output", subject=first, message=shorten_middle("\n".join(lines)))


def _difference(output: Output, expected: JsonValue, type_name: TypeName) -> str | None:
    if type_name == "directory":
        return _folder_difference(output, expected)
    if type_name == "file":
        return _file_difference(output, output.name, expected)
    actual = read_value(output, type_name)
    if _is_same(actual, _expected_value(expected, type_name), type_name):
        return None
    return f"expected {short_repr(expected)}, found {short_repr(_as_text(actual, type_name))}"


def _expected_value(expected: JsonValue, type_name: TypeName) -> Any:
    """The example's value in the output's type; a value that cannot be converted is returned as it is, and differs."""
    try:
        if type_name == "float" and isinstance(expected, int) and not isinstance(expected, bool):
            return float(expected)
        if isinstance(expected, str) and type_name in {"datetime", "timedelta", "float"}:
            return parse_value(expected, type_name)
    except (ValueError, OverflowError):
        return expected
    return expected.strip() if isinstance(expected, str) else expected


def _is_same(actual: Any, expected: Any, type_name: TypeName) -> bool:
    if isinstance(actual, dt.datetime | dt.timedelta):
        return type(actual) is type(expected) and bool(actual == expected)
    if type(actual) is not type(expected):
        return False
    if type_name == "float":
        return are_close(actual, expected, EXAMPLE_OUTPUTS)
    return bool((actual.strip() if isinstance(actual, str) else actual) == expected)


def _as_text(actual: Any, type_name: TypeName) -> Any:
    return format_value(actual, type_name) if type_name in {"datetime", "timedelta"} else actual


def _folder_difference(output: Output, expected: JsonValue) -> str | None:
    if not isinstance(expected, dict):
        return f"expected {short_repr(expected)}, which is no mapping of file names to texts; found a folder"
    if set(output.files) != set(expected):
        return f"expected the files {short_repr(sorted(expected))}, found {short_repr(sorted(output.files))}"
    for name, text in expected.items():
        difference = _file_difference(output, name, text)
        if difference:
            return f"file {name!r}: {difference}"
    return None


def _file_difference(output: Output, name: str, expected: JsonValue) -> str | None:
    if isinstance(expected, dict) and set(expected) == {"base64"}:
        return _bytes_difference(output.files[name], base64.b64decode(str(expected["base64"])))
    if not isinstance(expected, str):
        return f"expected {short_repr(expected)}, which is no text; found a file"
    return _text_difference(output.files[name], expected.encode(errors="surrogatepass"))


def _beginning(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        return file.read(limit)


def _bytes_difference(path: Path, expected: bytes) -> str | None:
    actual = _beginning(path, len(expected) + 1)
    if actual == expected:
        return None
    position = next(
        (n for n, (one, other) in enumerate(zip(expected, actual, strict=False)) if one != other), len(expected)
    )
    return f"expected {len(expected)} bytes, found {path.stat().st_size}; they differ from byte {position} on"


def _text_difference(path: Path, expected: bytes) -> str | None:
    # As much of the file as can match, and a little more for the message.
    limit = len(expected) + _EXTRA_BYTES
    actual, expected_text = _beginning(path, limit).rstrip(b"\n"), expected.rstrip(b"\n")
    if actual == expected_text:
        size = path.stat().st_size
        return f"expected {len(expected)} bytes, found {size}; it goes on after the text" if size > limit else None
    lines = zip_longest(expected_text.split(b"\n"), actual.split(b"\n"))
    number, (line, other) = next((n, pair) for n, pair in enumerate(lines, 1) if pair[0] != pair[1])
    return f"line {number}: expected {_line_repr(line)}, found {_line_repr(other)}"


def _line_repr(line: bytes | None) -> str:
    return "no such line" if line is None else short_repr(line.decode(errors="backslashreplace"))
