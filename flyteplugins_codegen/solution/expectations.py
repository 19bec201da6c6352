"""Whether a script's outputs are the ones that an example expects, compared by value and outside the sandbox."""

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
from flyteplugins_codegen.solution.script import read_value
from flyteplugins_codegen.text import shorten_middle

_SHOWN_CHARS: Final = 300
_SPARE_BYTES: Final = 4_096


def expect_outputs(
    outputs: Mapping[str, Output], expected: Mapping[str, JsonValue], types: Mapping[str, TypeName]
) -> Cause | None:
    """The first output that is not as the example expects, in the example's order; None where all are.

    ints, bools and texts (trimmed) are compared exactly and by type: `True` is not 1. Floats agree within 1e-9 of the
    larger, or 1e-12; NaN equals NaN. A datetime is expected as RFC 3339 text, a timedelta as a Go duration; both are
    compared as instants and durations. A file is expected as its text, the first 4096 newlines at the end not counted,
    or as `{"base64": ...}`, byte by byte; a directory as a mapping of file names to such. `outputs` have been checked
    to be of their types.

    Raises:
        KeyError: `expected` names an output that is not among `outputs` or `types`.
        OutputError: an output is not of its type.
    """
    for name, wanted in expected.items():
        difference = _difference(outputs[name], wanted, types[name])
        if difference:
            return Cause(kind="wrong_output", subject=name, message=shorten_middle(f"output {name!r}: {difference}"))
    return None


def _difference(output: Output, wanted: JsonValue, type_name: TypeName) -> str | None:
    if type_name == "directory":
        return _folder_difference(output, wanted)
    if type_name == "file":
        return _file_difference(output, output.name, wanted)
    found = read_value(output, type_name)
    if _is_same(found, _expected_value(wanted, type_name), type_name):
        return None
    return f"expected {_shown(wanted)}, found {_shown(_readable(found, type_name))}"


def _expected_value(wanted: JsonValue, type_name: TypeName) -> Any:
    """The example's value as the type's own; one that cannot be is left as it is, and equals nothing."""
    try:
        if type_name == "float" and isinstance(wanted, int) and not isinstance(wanted, bool):
            return float(wanted)
        if isinstance(wanted, str) and type_name in {"datetime", "timedelta", "float"}:
            return parse_value(wanted, type_name)
    except (ValueError, OverflowError):
        return wanted
    return wanted.strip() if isinstance(wanted, str) else wanted


def _is_same(found: Any, wanted: Any, type_name: TypeName) -> bool:
    if isinstance(found, dt.datetime | dt.timedelta):
        return type(found) is type(wanted) and bool(found == wanted)
    if type(found) is not type(wanted):
        return False
    if type_name == "float":
        return are_close(found, wanted, EXAMPLE_OUTPUTS)
    return bool((found.strip() if isinstance(found, str) else found) == wanted)


def _readable(found: Any, type_name: TypeName) -> Any:
    return format_value(found, type_name) if type_name in {"datetime", "timedelta"} else found


def _folder_difference(output: Output, wanted: JsonValue) -> str | None:
    if not isinstance(wanted, dict):
        return f"expected {_shown(wanted)}, which is no mapping of file names to texts; found a folder"
    if set(output.files) != set(wanted):
        return f"expected the files {_shown(sorted(wanted))}, found {_shown(sorted(output.files))}"
    for name, text in wanted.items():
        difference = _file_difference(output, name, text)
        if difference:
            return f"file {name!r}: {difference}"
    return None


def _file_difference(output: Output, name: str, wanted: JsonValue) -> str | None:
    if isinstance(wanted, dict) and set(wanted) == {"base64"}:
        return _bytes_difference(output.files[name], base64.b64decode(str(wanted["base64"])))
    if not isinstance(wanted, str):
        return f"expected {_shown(wanted)}, which is no text; found a file"
    return _text_difference(output.files[name], wanted.encode(errors="surrogatepass"))


def _beginning(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        return file.read(limit)


def _bytes_difference(path: Path, wanted: bytes) -> str | None:
    found = _beginning(path, len(wanted) + 1)
    if found == wanted:
        return None
    place = next((n for n, (one, other) in enumerate(zip(wanted, found, strict=False)) if one != other), len(wanted))
    return f"expected {len(wanted)} bytes, found {path.stat().st_size}; they differ from byte {place} on"


def _text_difference(path: Path, wanted: bytes) -> str | None:
    # As much of the file as can be equal to what is wanted, and a little more to show.
    limit = len(wanted) + _SPARE_BYTES
    found, expected = _beginning(path, limit).rstrip(b"\n"), wanted.rstrip(b"\n")
    if found == expected:
        size = path.stat().st_size
        return f"expected {len(wanted)} bytes, found {size}; it goes on after the text" if size > limit else None
    lines = zip_longest(expected.split(b"\n"), found.split(b"\n"))
    number, (line, other) = next((n, pair) for n, pair in enumerate(lines, 1) if pair[0] != pair[1])
    return f"line {number}: expected {_shown_line(line)}, found {_shown_line(other)}"


def _shown_line(line: bytes | None) -> str:
    return "no such line" if line is None else _shown(line.decode(errors="backslashreplace"))


def _shown(value: object) -> str:
    return shorten_middle(repr(value), _SHOWN_CHARS)
