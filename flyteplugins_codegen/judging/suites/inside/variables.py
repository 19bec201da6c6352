"""The values of a solution's variables at the time of a failure, as short text.

Part of the suite's runner. Beside a script, this same file is the interpreter's `sitecustomize`, and writes to stderr.
Only values of built-in types and of well-known libraries are written: the `__repr__` of a solution's own class is code
of the solution and is not called.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType, TracebackType
    from typing import Any, Final

MARK: Final = "variables when it failed: "
MAX_VARIABLES: Final = 8
MAX_FRAMES: Final = 3
MAX_VALUE_CHARS: Final = 120
_MAX_TEXT_CHARS: Final = 80
_MAX_ITEMS: Final = 5
_MAX_ITEMS_CHARS: Final = 100
_MAX_DEPTH: Final = 2
_MAX_INT_BITS: Final = 1_000
_TEXTS: Final = (str, bytes)
_PLAIN: Final = (int, float, bool, complex, type(None))
_LIBRARIES: Final = frozenset(
    ("array", "collections", "datetime", "decimal", "fractions", "numpy", "pandas", "pathlib", "polars", "uuid")
)
_BRACKETS: Final[dict[type, tuple[str, str]]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("{", "}"),
}


def variables_of(error: BaseException, file_name: str = "solution.py") -> str:
    """A line for each of the innermost frames of that file, with its variables; "" if none has any."""
    lines: list[str] = []
    room = MAX_VARIABLES
    for frame, line_number in _frames(error.__traceback__, file_name):
        texts = [f"{name} = {_render(value)}" for name, value in _variables(frame)[:room]]
        room -= len(texts)
        if texts:
            lines.append(f"in {frame.f_code.co_name}, line {line_number}: {'; '.join(texts)}")
    return "\n".join(lines)


def _frames(step: TracebackType | None, file_name: str) -> list[tuple[FrameType, int]]:
    """The frames of that file, innermost first; the module's own, with all its imports, only if there is no other."""
    found = []
    while step is not None:
        if step.tb_frame.f_code.co_filename.rpartition("/")[2] == file_name:
            found.append((step.tb_frame, step.tb_lineno))
        step = step.tb_next
    found.reverse()
    inner = [each for each in found if each[0].f_code.co_name != "<module>"]
    return (inner or found)[:MAX_FRAMES]


def _variables(frame: FrameType) -> list[tuple[str, Any]]:
    """Without functions, classes, modules and the like, which say nothing of the data."""
    return [
        (name, value)
        for name, value in dict(frame.f_locals).items()
        if not name.startswith(("__", "@")) and not callable(value) and type(value).__name__ != "module"
    ]


def _render(value: Any, depth: int = 0) -> str:
    try:
        text = _text(value, depth)
    except BaseException:  # noqa: BLE001  -- a library's text of a value that a solution has broken
        text = ""
    # Never cut: whoever masks what is private looks for whole values.
    return text if text and len(text) <= MAX_VALUE_CHARS else f"<{type(value).__name__}>"


def _text(value: Any, depth: int) -> str:
    kind = type(value)
    if kind is dict:
        pairs = (f"{_render(key, depth + 1)}: {_render(item, depth + 1)}" for key, item in value.items())
        return "{" + _items(pairs, len(value), depth) + "}"
    if kind in _BRACKETS:
        opening, closing = _BRACKETS[kind]
        return opening + _items((_render(item, depth + 1) for item in value), len(value), depth) + closing
    return _single(value, kind)


def _single(value: Any, kind: type) -> str:
    if kind in _TEXTS and len(value) > _MAX_TEXT_CHARS:
        return _start(value, kind)
    if kind is int and value.bit_length() > _MAX_INT_BITS:
        return f"<int of {value.bit_length()} bits>"
    if kind in _PLAIN or kind in _TEXTS:
        return repr(value)
    return _of_library(value, kind) if kind.__module__.partition(".")[0] in _LIBRARIES else ""


def _start(value: Any, kind: type) -> str:
    """The start of a long text up to a separator, so that what a table's text holds is there whole or not at all."""
    start = value[:_MAX_TEXT_CHARS]
    separators = ",;|\t\n" if kind is str else (b",", b";", b"|", b"\t", b"\n")
    end = max(start.rfind(each) for each in separators)
    return f"{start[:end]!r}... {len(value)} in all" if end > 0 else f"<{kind.__name__} of {len(value)}>"


def _of_library(value: Any, kind: type) -> str:
    text = " ".join(repr(value).split())
    if len(text) <= MAX_VALUE_CHARS or not hasattr(value, "shape"):
        return text
    columns = f", columns {list(value.columns)}" if hasattr(value, "columns") else ""
    told = f"<{kind.__name__} of shape {value.shape}"
    return f"{told}{columns}>" if len(told) + len(columns) < MAX_VALUE_CHARS else f"{told}>"


def _items(items: Iterable[str], count: int, depth: int) -> str:
    """The first few, each whole, as far as there is room."""
    if count and depth >= _MAX_DEPTH:
        return "..."
    texts: list[str] = []
    room = _MAX_ITEMS_CHARS >> depth
    for item in items:
        room -= len(item) + 2
        if room < 0 or len(texts) == _MAX_ITEMS:
            return ", ".join([*texts, f"... {count} in all"])
        texts.append(item)
    return ", ".join(texts)


def _print_with_variables(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    sys.__excepthook__(kind, error, traceback)
    for line in variables_of(error).splitlines():
        sys.stderr.write(f"{MARK}{line}\n")


if __name__ == "sitecustomize":
    sys.excepthook = _print_with_variables
