"""What a file of code is called: as the caller says, as its first line says, else by a digest of it; never elsewhere.

Whatever the name comes from, it stays below the folder that code is run in: a model's text is a stranger's.
"""

from __future__ import annotations

import hashlib
import re

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.sandbox.names import name_flaw
from flyteplugins_codegen.source.language_names import file_name_for

_LABELLED = re.compile(
    r"\s*(?:#|//|--|;|/\*|<!--)\s*file ?name\s*:[ \t]*(\S[^\n]*?)[ \t]*(?:(?:\*/|-->)[ \t]*)?\r?\Z", re.IGNORECASE
)
_LONGEST_LINE = 1000
_DEEPEST = 16


def check_file_name(name: str) -> str:
    """A name of a file below some folder, `a.py` or `src/a.py`. Raises ArgumentTypeError, or RequestError with why not.

    Refused are absolute names, `..`, backslashes, characters that cannot be printed, and what is too long or too deep.
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(f"filename is {type(name).__name__}; pass a str, such as 'main.py'")
    parts = name.removeprefix("./").split("/")
    if flaw := _flaw(name, parts):
        raise RequestError(f"filename {_shown(name)} is refused: it {flaw}; name a file below work_dir, as 'main.py'")
    return "/".join(parts)


def name_in_code(code: str) -> str | None:
    """The name in a first line such as `# filename: app.py`, unchecked; None where the code begins otherwise."""
    line = code.lstrip("\ufeff\r\n")[:_LONGEST_LINE].partition("\n")[0]
    labelled = _LABELLED.match(line)
    return labelled[1].strip("`'\"") if labelled else None


def made_name(code: str, language: str) -> str:
    """A name for code that has none, the same for the same code: `tmp_code_1f3870be274f.py`."""
    sha = hashlib.sha256(code.encode(errors="surrogatepass")).hexdigest()
    return file_name_for(language, f"tmp_code_{sha[:32]}")


def _flaw(name: str, parts: list[str]) -> str | None:
    if name.startswith("/") or "\\" in name:
        return "is absolute, or holds a backslash"
    if len(parts) > _DEEPEST:
        return f"is nested more than {_DEEPEST} folders deep"
    return name_flaw(*parts)


def _shown(name: str) -> str:
    return ascii(name if len(name) <= 100 else f"{name[:100]}...")  # noqa: PLR2004 - enough to know it again
