"""Runs a reference solution on many inputs and tells what it gives: a program for the sandbox, beside `plain_data.py`.

Standard library only. On stdin comes one text of plain data: the program, its entry point, and whether only the
presence of a value counts; then each call's arguments, a line each. What the calls give is written to the output
`values`, a line each: `["value", tree]`; `["left out", why]` where a value is too large or too deep to be told; or,
where there is none, `["failed", why]` as the last one.
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
    """Read the job, then answer call by call."""
    outputs = os.environ.get("FLYTE_CODEGEN_OUTPUTS", "/var/outputs")
    first, *calls = sys.stdin.buffer.read().splitlines()
    program, entry_point, presence = plain_data.read_text(first)
    with open(f"{outputs}/values", "wb") as file:  # noqa: PTH123 - as small as it gets
        try:
            names: dict[str, Any] = {"__name__": "reference"}
            exec(compile(program, "reference.py", "exec"), names)  # noqa: S102 - this is what the sandbox is for
            answer_all(file, names[entry_point], calls, presence=presence)
        except BaseException as error:  # noqa: BLE001 - SystemExit too: whatever it is, it is told
            tell(file, ["failed", f"{type(error).__name__}: {error}"[:500]])


def answer_all(file: BinaryIO, function: Callable[..., Any], calls: list[bytes], *, presence: bool) -> None:
    """Write what each call gives, until one fails."""
    for call in calls:
        args, kwargs = plain_data.read_call(plain_data.read_text(call), refuse)
        value = function(*args, **kwargs)
        told = value is not None if presence else value
        try:
            tell(file, ["value", plain_data.Writer(refuse, [], exactly=False).tree(told)])
        except plain_data.TooMuchError as error:
            tell(file, ["left out", str(error)])


def tell(file: BinaryIO, record: Tree) -> None:
    """Write one line. Raises TooMuchError."""
    file.write(plain_data.write_text(record) + b"\n")


def refuse(value: Any) -> Any:
    """Called for what is no plain data."""
    raise plain_data.NotPlainError(f"a value of the type {type(value).__name__} is no plain data")


if __name__ == "__main__":
    main()
