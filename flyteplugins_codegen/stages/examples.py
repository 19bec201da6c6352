"""The caller's examples, fully checked before any model call: one impossible value would make the whole run fail."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from pydantic import JsonValue

from flyteplugins_codegen.errors import InterfaceError
from flyteplugins_codegen.models.job import Example, TypeName
from flyteplugins_codegen.portable.launcher import check_argument, check_folder_files, format_value, parse_output
from flyteplugins_codegen.sandbox.contract import name_flaw
from flyteplugins_codegen.text import short_repr

_FILE_LIMIT = 256 * 1024
REMEDIES: Mapping[TypeName, str] = MappingProxyType(
    {
        "str": "pass a shorter text, or declare a file",
        "int": "pass a whole number such as 42",
        "float": "pass a number such as 2.5",
        "bool": "pass True or False",
        "datetime": "pass a datetime with a time zone, or its text such as '2024-01-31T08:00:00Z'",
        "timedelta": "pass a timedelta, or its text such as '1h30m'",
        "file": 'pass a path, the content as a text, or {"base64": "..."} for content that is no text',
        "directory": "pass a mapping of plain file names to their contents",
    }
)


class Interface(NamedTuple):
    """The declared inputs and outputs, and the inputs that have a sample: an example need not give these."""

    inputs: Mapping[str, TypeName]
    outputs: Mapping[str, TypeName]
    samples: frozenset[str]


def checked_examples(examples: Sequence[Any], interface: Interface) -> tuple[Example, ...]:
    """The examples as JSON values, each valid for its type; files by their content, so that a request is complete.

    Raises InterfaceError that names the example, the input or output, its value and the remedy.
    """
    return tuple(_checked(f"example {number}", example, interface) for number, example in enumerate(examples, 1))


def _checked(label: str, example: Any, interface: Interface) -> Example:
    inputs, outputs = _parts(label, example)
    _check_declared(label, "input", inputs, interface.inputs)
    _check_declared(label, "output", outputs, interface.outputs)
    missing = [name for name in interface.inputs if name not in interface.samples and name not in inputs]
    if missing:
        raise InterfaceError(
            f"{label} gives no value for input {missing[0]!r}, and there is no sample of that name; add one of them"
        )
    return Example(
        inputs={
            name: _json_value(_ExampleValue(label, "input", name, interface.inputs[name]), inputs[name])
            for name in inputs
        },
        outputs={
            name: _json_value(_ExampleValue(label, "output", name, interface.outputs[name]), outputs[name])
            for name in outputs
        },
    )


def _parts(label: str, example: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    parts = example.model_dump() if isinstance(example, Example) else example
    if isinstance(parts, Mapping) and set(parts) <= {"inputs", "outputs"}:
        inputs, outputs = parts.get("inputs") or {}, parts.get("outputs")
        if outputs and isinstance(inputs, Mapping) and isinstance(outputs, Mapping):
            return inputs, outputs
    raise InterfaceError(
        f"{label} is {short_repr(example)}; "
        'write it as {"inputs": {...}, "outputs": {...}} with at least one output'
    )


def _check_declared(label: str, role: str, named: Mapping[str, Any], declared: Mapping[str, TypeName]) -> None:
    for name in named:
        if name not in declared:
            known = ", ".join(declared) or "none"
            raise InterfaceError(f"{label} names the undeclared {role} {name!r}; declared {role}s: {known}")


class _ExampleValue(NamedTuple):
    """Which value of which example: as text in messages, `example 2, output 'total'`."""

    example: str
    role: str
    name: str
    kind: TypeName

    def __str__(self) -> str:
        return f"{self.example}, {self.role} {self.name!r}"

    def refused(self, value: object, reason: object) -> InterfaceError:
        """The error for a value that is invalid here."""
        return InterfaceError(f"{self}: {short_repr(value)} is no {self.kind}: {reason}; {REMEDIES[self.kind]}")


def _json_value(target: _ExampleValue, value: Any) -> JsonValue:
    if target.kind == "file":
        return _file_content(target, value)
    if target.kind == "directory":
        return _folder_contents(target, value)
    try:
        return _simple(target, value)
    except (ValueError, OverflowError) as error:
        raise target.refused(value, error) from None


def _simple(target: _ExampleValue, value: Any) -> JsonValue:
    """The value itself, or the text of a time. Raises ValueError or OverflowError if a cluster would not accept it."""
    is_time = target.kind in {"datetime", "timedelta"}
    text = value if is_time and isinstance(value, str) else format_value(value, target.kind)
    if target.role == "input":
        check_argument(text)
    else:
        parse_output(text.strip().encode(), target.kind)  # spaces around it are not compared
    return text if is_time else cast("JsonValue", value)


def _folder_contents(target: _ExampleValue, value: Any) -> dict[str, JsonValue]:
    if not isinstance(value, Mapping):
        raise target.refused(value, f"it is a {type(value).__name__}")
    for name in value:
        flaw = _file_name_flaw(name)
        if flaw:
            raise target.refused(name, f"as the name of a file in it, {name!r:.200} {flaw}")
    if target.role == "output":
        try:
            check_folder_files(value)
        except ValueError as error:
            raise target.refused(dict(value), error) from None
    return {name: _file_content(target, content) for name, content in value.items()}


def _file_name_flaw(name: Any) -> str | None:
    if not isinstance(name, str):
        return f"is a {type(name).__name__}"
    return "is in a folder of its own, and a cluster stores a folder flat" if "/" in name else name_flaw(name)


def _file_content(target: _ExampleValue, value: Any) -> JsonValue:
    """The content of an example's file, passed as a path, text or base64. For an input, a single line is a path."""
    if isinstance(value, Mapping):
        return _base64_content(target, value)
    if isinstance(value, str) and ("\n" in value or (target.role == "output" and not _is_file(value))):
        return _text_content(target, value)
    if not isinstance(value, str | os.PathLike):
        raise target.refused(value, f"it is a {type(value).__name__}")
    if not _is_file(value):
        raise InterfaceError(
            f"{target}: no file {short_repr(os.fspath(value))}; give a path, or the content itself with its line breaks"
        )
    return _read_file(target, Path(os.fspath(value)))


def _base64_content(target: _ExampleValue, value: Mapping[Any, Any]) -> JsonValue:
    encoded = value.get("base64")
    if set(value) != {"base64"} or not isinstance(encoded, str):
        raise target.refused(dict(value), 'it is a mapping other than {"base64": TEXT}')
    try:
        base64.b64decode(encoded, validate=True)
    except ValueError as error:
        raise target.refused(dict(value), f"it is not base64 ({error})") from None
    return {"base64": encoded}


def _text_content(target: _ExampleValue, text: str) -> str:
    try:
        return format_value(text, "str")
    except ValueError as error:
        raise target.refused(text, error) from None


def _is_file(value: str | os.PathLike[str]) -> bool:
    try:
        return Path(os.fspath(value)).is_file()
    except (OSError, ValueError):
        return False  # longer than a file name can be, or with a character that none can have


def _read_file(target: _ExampleValue, path: Path) -> JsonValue:
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size <= _FILE_LIMIT else b""
    except OSError as error:
        raise InterfaceError(f"{target}: {str(path)!r} cannot be read ({error.strerror}); see to its rights") from error
    if size > _FILE_LIMIT:
        raise InterfaceError(
            f"{target}: {path.name} has {size:,} bytes, and an example's file may have 256 KiB; give a smaller one"
        )
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}
