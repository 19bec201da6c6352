"""A request to run code: every argument is checked before anything is started or written."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flyteplugins_codegen.autogen.arguments import read_folder, read_timeout
from flyteplugins_codegen.autogen.languages import SAVED, read_language
from flyteplugins_codegen.autogen.sandbox_choice import SandboxChoice, read_sandbox_choice
from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.sandbox.contract import name_flaw
from flyteplugins_codegen.source.languages.names import file_name_for

_FILE_NAME_LINE = re.compile(
    r"\s*(?:#|//|--|;|/\*|<!--)\s*file ?name\s*:[ \t]*(\S[^\n]*?)[ \t]*(?:(?:\*/|-->)[ \t]*)?\r?\Z", re.IGNORECASE
)
_MAX_LINE_CHARS = 1000
_MAX_DEPTH = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """Code to run. `code` is None where the file exists already; `folder` is None where no file is kept.

    `is_named` says that the caller or the code names the file, which is then kept under that name.
    """

    code: bytes | None
    file_name: str
    is_named: bool
    language: str
    folder: Path | None
    timeout_s: float
    sandbox: SandboxChoice
    environment: InstalledEnvironment | None = None

    @property
    def is_saved_only(self) -> bool:
        """Whether the code is of a language that is saved and not run."""
        return self.language in SAVED


def read_request(  # noqa: PLR0913 - the parameters of AutoGen's `execute_code`, and what it has no word for
    *,
    code: str | None,
    timeout: float | None,
    filename: str | None,
    work_dir: str | Path | None,
    use_docker: bool | str | Sequence[str] | None,
    lang: str | None,
    sandbox: str | None,
    environment: InstalledEnvironment | None,
) -> RunRequest:
    """Read the arguments of `run_code`. Raises ArgumentTypeError, RequestError: see there."""
    text = _read_code(code, filename)
    named = filename if filename is not None else name_in_code(text or "")
    name = None if named is None else check_file_name(named)
    language = read_language(lang, text, name)
    if environment is not None and not isinstance(environment, InstalledEnvironment):
        raise ArgumentTypeError(f"environment is {type(environment).__name__}; pass an InstalledEnvironment")
    folder = None if work_dir is None else read_folder(work_dir, "work_dir").resolve()
    if text is None and folder is None:
        raise RequestError(f"filename={filename!r} is given without code; name the folder that it is in by work_dir")
    return RunRequest(
        code=None if text is None else text.encode(),
        file_name=name or digest_name(text or "", language),
        is_named=name is not None or language in SAVED,
        language=language,
        folder=folder,
        timeout_s=read_timeout(timeout),
        sandbox=read_sandbox_choice(use_docker=use_docker, sandbox=sandbox),
        environment=environment,
    )


def _read_code(code: str | None, filename: str | None) -> str | None:
    if code is None and filename is None:
        raise RequestError("there is nothing to run: pass code, or the filename of a file in work_dir")
    if code is None:
        return None
    if not isinstance(code, str):
        raise ArgumentTypeError(f"code is {type(code).__name__}; pass a str")
    try:
        code.encode()
    except UnicodeEncodeError as error:
        line = code.count("\n", 0, error.start) + 1
        raise RequestError(
            f"code, line {line}: {code[error.start]!a} is half of a surrogate pair, which no file can hold; remove it"
        ) from error
    return code


def check_file_name(name: str) -> str:
    """Return the name of a file below a folder, such as `a.py` or `src/a.py`, without a leading `./`.

    Raises ArgumentTypeError; RequestError for an absolute name, `..`, a backslash, a character that cannot be printed,
    and a name that is too long or too deep.
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(f"filename is {type(name).__name__}; pass a str, such as 'main.py'")
    parts = name.removeprefix("./").split("/")
    if flaw := _name_flaw(name, parts):
        text = ascii(name if len(name) <= 100 else f"{name[:100]}...")  # noqa: PLR2004 - enough to recognise it
        raise RequestError(f"filename {text} is refused: it {flaw}; name a file below work_dir, as 'main.py'")
    return "/".join(parts)


def name_in_code(code: str) -> str | None:
    """The file name in a first line such as `# filename: app.py`, unchecked; None where there is no such line."""
    line = code.lstrip("\ufeff\r\n")[:_MAX_LINE_CHARS].partition("\n")[0]
    match = _FILE_NAME_LINE.match(line)
    return match[1].strip("`'\"") if match else None


def digest_name(code: str, language: str) -> str:
    """A file name made of the code's digest, for code without a name: `tmp_code_1f3870be274f.py`."""
    sha = hashlib.sha256(code.encode(errors="surrogatepass")).hexdigest()
    return file_name_for(language, f"tmp_code_{sha[:32]}")


def _name_flaw(name: str, parts: list[str]) -> str | None:
    if name.startswith("/") or "\\" in name:
        return "is absolute, or holds a backslash"
    if len(parts) > _MAX_DEPTH:
        return f"is nested more than {_MAX_DEPTH} folders deep"
    return name_flaw(*parts)
