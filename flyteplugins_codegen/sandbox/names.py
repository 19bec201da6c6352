"""Which names may become files inside a sandbox, or come out of one."""

from __future__ import annotations

from collections.abc import Iterable

from flyteplugins_codegen.errors import RequestError

_LONGEST_NAME_BYTES = 255  # NAME_MAX of every Linux file system


def check_names(what: str, names: Iterable[str], *, depth: int) -> None:
    """Refuse, with RequestError, a name that is no plain relative path of at most `depth` parts."""
    for name in names:
        parts = name.split("/")
        flaw = f"holds more than {depth - 1} folders" if len(parts) > depth else name_flaw(*parts)
        if flaw:
            raise RequestError(f"{what} of a sandboxed job cannot be called {name!r}: the name {flaw}; rename it")


def name_flaw(*parts: str) -> str | None:
    """Why one of these parts of a path is not safe as a file name anywhere, or None where all are."""
    for part in parts:
        if part in {"", ".", ".."}:
            return "is empty or points to another folder"
        if not part.isprintable() or "/" in part:
            return "holds characters that are not printable"
        if len(part.encode(errors="replace")) > _LONGEST_NAME_BYTES:
            return f"is longer than {_LONGEST_NAME_BYTES} bytes"
    return None
