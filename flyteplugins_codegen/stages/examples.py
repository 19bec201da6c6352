"""A caller's examples, checked in full before anything is spent: a value that could never match costs a whole run."""

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

_FILE_LIMIT = 256 * 1024
_SHOWN_CHARS = 80
_REMEDIES: Mapping[TypeName, str] = MappingProxyType(
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
    """What an example is held against: the declared inputs and outputs, and which inputs a sample stands in for."""

    inputs: Mapping[str, TypeName]
    outputs: Mapping[str, TypeName]
    samples: frozenset[str]


def checked_examples(examples: Sequence[Any], interface: Interface) -> tuple[Example, ...]:
    """The examples as JSON values, each possible for its type; a file as its content, so that a request is complete.

    Raises InterfaceError that names the example, the input or output, its value and what to pass instead.
    """
    return tuple(_checked(f"example {number}", example, interface) for number, example in enumerate(examples, 1))


def _checked(where: str, example: Any, interface: Interface) -> Example:
    inputs, outputs = _parts(where, example)
    _only_declared(where, "input", inputs, interface.inputs)
    _only_declared(where, "output", outputs, interface.outputs)
    missing = [name for name in interface.inputs if name not in interface.samples and name not in inputs]
    if missing:
        raise InterfaceError(
            f"{where} gives no value for input {missing[0]!r}, and there is no sample of that name; add one of them"
        )
    return Example(
        inputs={name: _plain(_Slot(where, "input", name, interface.inputs[name]), inputs[name]) for name in inputs},
        outputs={
            name: _plain(_Slot(where, "output", name, interface.outputs[name]), outputs[name]) for name in outputs
        },
    )


def _parts(where: str, example: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    given = example.model_dump() if isinstance(example, Example) else example
    if isinstance(given, Mapping) and set(given) <= {"inputs", "outputs"}:
        inputs, outputs = given.get("inputs") or {}, given.get("outputs")
        if outputs and isinstance(inputs, Mapping) and isinstance(outputs, Mapping):
            return inputs, outputs
    raise InterfaceError(
        f'{where} is {_shown(example)}; write it as {{"inputs": {{...}}, "outputs": {{...}}}} with at least one output'
    )


def _only_declared(where: str, role: str, named: Mapping[str, Any], declared: Mapping[str, TypeName]) -> None:
    for name in named:
        if name not in declared:
            known = ", ".join(declared) or "none"
            raise InterfaceError(f"{where} names the undeclared {role} {name!r}; declared {role}s: {known}")


class _Slot(NamedTuple):
    """One value of one example, for messages: `example 2, output 'total'`."""

    example: str
    role: str
    name: str
    kind: TypeName

    def __str__(self) -> str:
        return f"{self.example}, {self.role} {self.name!r}"

    def refused(self, value: object, reason: object) -> InterfaceError:
        """The error for a value that this input or output cannot have."""
        return InterfaceError(f"{self}: {_shown(value)} is no {self.kind}: {reason}; {_REMEDIES[self.kind]}")


def _plain(slot: _Slot, value: Any) -> JsonValue:
    if slot.kind == "file":
        return _file_content(slot, value)
    if slot.kind == "directory":
        return _folder_contents(slot, value)
    try:
        return _simple(slot, value)
    except (ValueError, OverflowError) as error:
        raise slot.refused(value, error) from None


def _simple(slot: _Slot, value: Any) -> JsonValue:
    """The value as it is, a time as its text. Raises ValueError or OverflowError where a cluster would not take it."""
    is_time = slot.kind in {"datetime", "timedelta"}
    text = value if is_time and isinstance(value, str) else format_value(value, slot.kind)
    if slot.role == "input":
        check_argument(text)
    else:
        parse_output(text.strip().encode(), slot.kind)  # spaces around it are not compared, nor do they count
    return text if is_time else cast("JsonValue", value)


def _folder_contents(slot: _Slot, value: Any) -> dict[str, JsonValue]:
    if not isinstance(value, Mapping):
        raise slot.refused(value, f"it is a {type(value).__name__}")
    for name in value:
        flaw = _file_name_flaw(name)
        if flaw:
            raise slot.refused(name, f"as the name of a file in it, {name!r:.200} {flaw}")
    if slot.role == "output":
        try:
            check_folder_files(value)
        except ValueError as error:
            raise slot.refused(dict(value), error) from None
    return {name: _file_content(slot, content) for name, content in value.items()}


def _file_name_flaw(name: Any) -> str | None:
    if not isinstance(name, str):
        return f"is a {type(name).__name__}"
    return "is in a folder of its own, and a cluster stores a folder flat" if "/" in name else name_flaw(name)


def _file_content(slot: _Slot, value: Any) -> JsonValue:
    """The content of an example's file, given as a path, as text or as base64. One line for an input is a path."""
    if isinstance(value, Mapping):
        return _base64_content(slot, value)
    if isinstance(value, str) and ("\n" in value or (slot.role == "output" and not _is_file(value))):
        return _text_content(slot, value)
    if not isinstance(value, str | os.PathLike):
        raise slot.refused(value, f"it is a {type(value).__name__}")
    if not _is_file(value):
        raise InterfaceError(
            f"{slot}: no file {_shown(os.fspath(value))}; give a path, or the content itself with its line breaks"
        )
    return _read(slot, Path(os.fspath(value)))


def _base64_content(slot: _Slot, value: Mapping[Any, Any]) -> JsonValue:
    encoded = value.get("base64")
    if set(value) != {"base64"} or not isinstance(encoded, str):
        raise slot.refused(dict(value), 'it is a mapping other than {"base64": TEXT}')
    try:
        base64.b64decode(encoded, validate=True)
    except ValueError as error:
        raise slot.refused(dict(value), f"it is not base64 ({error})") from None
    return {"base64": encoded}


def _text_content(slot: _Slot, text: str) -> str:
    try:
        return format_value(text, "str")
    except ValueError as error:
        raise slot.refused(text, error) from None


def _is_file(value: str | os.PathLike[str]) -> bool:
    try:
        return Path(os.fspath(value)).is_file()
    except (OSError, ValueError):
        return False  # longer than any name, or with a character that no name has


def _read(slot: _Slot, path: Path) -> JsonValue:
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size <= _FILE_LIMIT else b""
    except OSError as error:
        raise InterfaceError(f"{slot}: {str(path)!r} cannot be read ({error.strerror}); see to its rights") from error
    if size > _FILE_LIMIT:
        raise InterfaceError(
            f"{slot}: {path.name} has {size:,} bytes, and an example's file may have 256 KiB; give a smaller one"
        )
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:
        return f"a {type(value).__name__} with a number of more digits than Python writes"
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}... ({len(text):,} characters)"
