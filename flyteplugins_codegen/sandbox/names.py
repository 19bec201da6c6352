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


def check_text(what: str, texts: Iterable[str]) -> None:
    """Refuse, with RequestError, a text that no process can be given."""
    for text in texts:
        if "\0" in text:
            raise RequestError(f"{what} of a sandboxed job holds a NUL character: {text!r}; remove it")


def check_variables(names: Iterable[str]) -> None:
    """Refuse, with RequestError, what cannot be the name of an environment variable."""
    for name in names:
        if not name or "=" in name or "\0" in name:
            raise RequestError(f"no environment variable of a sandboxed job can be called {name!r}; rename it")
