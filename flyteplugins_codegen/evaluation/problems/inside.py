"""A program for the sandbox, beside `plain_data.py`: calls a reference solution on many inputs and writes its values.

Standard library only. Stdin has a line of plain data with the program, its entry point, and whether only the presence
of a value counts; then one line with the arguments of each call. The output `values` gets a line for each call:
`["value", tree]`, or `["left out", why]` for a value that is too large or too deep to write. If a call fails, the last
line is `["failed", why]`.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO

    from flyteplugins_codegen.judging.values.inside import plain_data
    from flyteplugins_codegen.judging.values.inside.plain_data import Tree
else:
    import plain_data


def main() -> None:
    """Read the job, then do call by call."""
    outputs = os.environ.get("FLYTE_CODEGEN_OUTPUTS", "/var/outputs")
    first, *calls = sys.stdin.buffer.read().splitlines()
    program, entry_point, presence = plain_data.read_text(first)
    with open(f"{outputs}/values", "wb") as file:  # noqa: PTH123 - as small as it gets
        try:
            names: dict[str, Any] = {"__name__": "reference"}
            exec(compile(program, "reference.py", "exec"), names)  # noqa: S102 - the sandbox is for running it
            call_all(file, names[entry_point], calls, presence=presence)
        except BaseException as error:  # noqa: BLE001 - SystemExit too: every failure is written
            write_line(file, ["failed", f"{type(error).__name__}: {error}"[:500]])


def call_all(file: BinaryIO, function: Callable[..., Any], calls: list[bytes], *, presence: bool) -> None:
    """Write the value of each call, until one fails."""
    for call in calls:
        args, kwargs = plain_data.read_call(plain_data.read_text(call), refuse)
        value = function(*args, **kwargs)
        written = value is not None if presence else value
        try:
            write_line(file, ["value", plain_data.Writer(refuse, [], exactly=False).tree(written)])
        except plain_data.TooMuchError as error:
            write_line(file, ["left out", str(error)])


def write_line(file: BinaryIO, record: Tree) -> None:
    """Write one line. Raises TooMuchError."""
    file.write(plain_data.write_text(record) + b"\n")


def refuse(value: Any) -> Any:
    """Raise NotPlainError for a value that is not plain data."""
    raise plain_data.NotPlainError(f"a value of the type {type(value).__name__} is no plain data")


if __name__ == "__main__":
    main()
