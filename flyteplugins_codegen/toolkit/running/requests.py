"""What is asked for when code is to be run: every argument checked, before anything is started or written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.toolkit.folders import read_folder
from flyteplugins_codegen.toolkit.running.file_names import check_file_name, made_name, name_in_code
from flyteplugins_codegen.toolkit.running.languages import SAVED, read_language
from flyteplugins_codegen.toolkit.running.places import Place, read_place

DEFAULT_TIMEOUT_S: Final = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """Code to be run. `code` is None where the file is there already; `folder` is None where nothing is to be kept.

    `is_named` says that the file has a name that somebody gave it, and is kept under it.
    """

    code: bytes | None
    file_name: str
    is_named: bool
    language: str
    folder: Path | None
    timeout_s: float
    place: Place
    environment: InstalledEnvironment | None = None

    @property
    def is_saved_only(self) -> bool:
        """Whether this is of a language that is not run."""
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
    """Raises ArgumentTypeError, RequestError: see `run_code`."""
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
        file_name=name or made_name(text or "", language),
        is_named=name is not None or language in SAVED,
        language=language,
        folder=folder,
        timeout_s=read_timeout(timeout),
        place=read_place(use_docker=use_docker, sandbox=sandbox),
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


def read_timeout(timeout: float | None) -> float:
    """Seconds, the default for None. Raises ArgumentTypeError, RequestError."""
    if timeout is None:
        return DEFAULT_TIMEOUT_S
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise ArgumentTypeError(f"timeout is {type(timeout).__name__}; pass seconds as a number")
    if not (timeout > 0 and math.isfinite(timeout)):
        raise RequestError(f"timeout={timeout!r} is no time to run in; pass seconds above 0")
    return float(timeout)
