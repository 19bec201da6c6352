"""The agent's tools: their arguments, their description for the model, and its calls parsed. There is no shell.

The agent's files are values in memory, of bounded size. They are copied into a sandbox for each run, and never written
on the host.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, Field, ValidationError

from flyteplugins_codegen.llm.protocol import portable_schema
from flyteplugins_codegen.llm.replies import Reply
from flyteplugins_codegen.models.run import TESTS_FILE
from flyteplugins_codegen.models.spending import Tool, ToolCall
from flyteplugins_codegen.source.edits import apply_edits

SAMPLES: Final = "samples/"
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\Z")
_MOST_FILES: Final = 40
# The files are part of the run, which a cluster accepts up to 2 MB.
_FILE_BYTES: Final = 48 << 10
_TOTAL_BYTES: Final = 128 << 10
_DEFAULT_LINES: Final = 200
_PACKAGES: Final = "PyPI distributions needed beyond what solution.py imports by name; holds until given anew"


class ToolError(ValueError):
    """A tool cannot carry out a call. The message is the tool's result for the model; the agent goes on."""


def with_file(files: Mapping[str, str], name: str, text: str) -> dict[str, str]:
    """The files with this one added or replaced. Raises ToolError for an invalid name or size."""
    _check_name(name)
    size = _size(text)
    if size > _FILE_BYTES:
        raise ToolError(f"{name} would have {size:,} bytes, and a file may have {_FILE_BYTES:,}; write less")
    changed = {**files, name: text}
    if len(changed) > _MOST_FILES:
        raise ToolError(f"there are {len(files)} files already, and {_MOST_FILES} are the most; write over one of them")
    if sum(map(_size, changed.values())) > _TOTAL_BYTES:
        raise ToolError(f"all files together may have {_TOTAL_BYTES:,} bytes; shorten one of them")
    return changed


def with_edit(files: Mapping[str, str], name: str, search: str, replace: str) -> dict[str, str]:
    """The files with one change in one of them. Raises ToolError unless it applies at exactly one place."""
    try:
        changed = apply_edits(file_text(files, name), [(search, replace)])
    except ToolError:
        raise
    except ValueError as error:
        raise ToolError(f"{name} was left as it is: {error}") from error
    return with_file(files, name, changed)


def file_text(files: Mapping[str, str], name: str) -> str:
    """The text of a file. Raises ToolError for an unknown name."""
    if name not in files:
        raise ToolError(f"there is no file {name[:100]!r}; there are {', '.join(sorted(files)) or 'none'}")
    return files[name]


def _check_name(name: str) -> None:
    if name.startswith(SAMPLES):
        raise ToolError(f"{name[:100]!r}: the samples can only be read; choose another name")
    if not _NAME.match(name):
        raise ToolError(
            f"{name[:100]!r} is no file name here: letters, digits, '_', '-' and '.', no folder, no '.' in front, "
            "at most 100 characters"
        )


def _size(text: str) -> int:
    """The size of the text in bytes. Raises ToolError for a text that cannot be written to a file."""
    if "\0" in text:
        raise ToolError("the text holds a NUL character; write it as \\0 in the source")
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise ToolError(f"the text holds half a character at position {error.start}; leave it out") from error


# --- arguments: the docstrings and descriptions are part of the prompt ---


class ListFiles(Reply):
    """List your files and the samples."""


class ReadFile(Reply):
    """Read lines of a file of yours, or rows of a sample as they may be shown: `samples/NAME`."""

    path: str = Field(description="The name as `list` has it")
    offset: int = Field(default=1, ge=1, description="The first line or row, counted from 1")
    limit: int = Field(default=_DEFAULT_LINES, ge=1, le=1_000, description="How many lines or rows at most")


class WriteFile(Reply):
    """Write a whole file: solution.py, test_solution.py, or a scratch file."""

    path: str = Field(description="A plain name, without folders")
    content: str = Field(description="The whole file")


class EditFile(Reply):
    """Change one place of a file of yours."""

    path: str = Field(description="The name as `list` has it")
    search: str = Field(description="Text that occurs exactly once in the file, copied exactly")
    replace: str = Field(default="", description="What stands in its place")


class RunTests(Reply):
    """Judge solution.py as it will be judged: examples, the user's tests, the samples, and test_solution.py.

    With another file as `path`: run only the tests in it, and see what they print.
    """

    path: str = Field(default=TESTS_FILE, description="A file of pytest tests")
    packages: list[str] | None = Field(default=None, description=_PACKAGES)


class InputValue(Reply):
    """A value for one input."""

    name: str = Field(description="The input")
    value: str = Field(description="The value as text; of a file input, the name of a file of yours")


class RunOnSample(Reply):
    """Run solution.py on the samples, and see what it prints and leaves."""

    values: list[InputValue] = Field(default=[], description="Inputs that are to have another value than the sample")
    packages: list[str] | None = Field(default=None, description=_PACKAGES)


class Submit(Reply):
    """Hand in solution.py and test_solution.py. They are judged; where that fails you are told, and go on."""

    description: str = Field(description="What the script does, in one or two sentences")
    approach: str = Field(description="How it does it, in a few sentences")
    packages: list[str] | None = Field(default=None, description=_PACKAGES)
    system_packages: list[str] = Field(default=[], description="Debian packages that it needs, rarely any")


ToolArguments = ListFiles | ReadFile | WriteFile | EditFile | RunTests | RunOnSample | Submit
_TYPES: Final[dict[str, type[ToolArguments]]] = {
    "list": ListFiles,
    "read": ReadFile,
    "write": WriteFile,
    "edit": EditFile,
    "run_tests": RunTests,
    "run_on_sample": RunOnSample,
    "submit": Submit,
}


def _tool(name: str, arguments: type[BaseModel]) -> Tool:
    schema = portable_schema(arguments) if arguments.model_fields else {"type": "object", "properties": {}}
    required = [name for name, field in arguments.model_fields.items() if field.is_required()]
    parameters = {**{key: value for key, value in schema.items() if key not in {"title", "description"}}}
    return Tool(
        name=name,
        description=" ".join((arguments.__doc__ or "").split()),
        parameters={**parameters, "required": required, "additionalProperties": False},
    )


TOOLS: Final = tuple(_tool(name, arguments) for name, arguments in _TYPES.items())


def parse_call(call: ToolCall) -> ToolArguments:
    """The arguments of a call. Raises ToolError that says what is wrong with them."""
    arguments = _TYPES.get(call.name)
    if arguments is None:
        raise ToolError(f"there is no tool {call.name[:60]!r}; the tools are {', '.join(_TYPES)}")
    try:
        values = json.loads(call.arguments or "{}", strict=False)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"the arguments of {call.name} are no complete JSON object: {error}; call it again") from error
    try:
        return arguments.model_validate(values)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, flaw['loc'])) or 'arguments'}: {flaw['msg']}" for flaw in error.errors()[:5]]
        raise ToolError(f"{call.name} cannot be called so: {'; '.join(wrong)}") from error
