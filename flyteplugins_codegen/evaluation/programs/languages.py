"""The languages that programs are judged in: what builds and runs them, and what to install where that lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from flyteplugins_codegen.sandbox.contract import APP
from flyteplugins_codegen.toolkit.running.interpreters import candidates
from flyteplugins_codegen.toolkit.running.languages import PACKAGES


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to build and run a program; it is there where `check` ends well.

    In `build` and `run`, `{files}` stands for all the files, `{main}` for the first, `{class}` for Java's main class.
    `inputs` are what a job has to be shown for it.
    """

    check: tuple[str, ...]
    run: tuple[str, ...]
    build: tuple[str, ...] = ()
    inputs: Mapping[str, Path] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)


_PROGRAM: Final = "./program"
_SMALL_JVM: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_JAVA_COMPILER: Final = tuple(f"-J{option}" for option in _SMALL_JVM)
_GO: Final = {"GO111MODULE": "off", "GOCACHE": "/tmp/go-cache", "GOPATH": "/tmp/go-path", "CGO_ENABLED": "0"}  # noqa: S108 - inside the sandbox

_COMPILED: Final[dict[str, Way]] = {
    "cpp": Way(
        check=("g++", "--version"),
        build=("g++", "-std=c++17", "-O1", "-o", "program", "{files}", "-Wl,--wrap=main"),
        run=(_PROGRAM,),
    ),
    "go": Way(
        check=("go", "version"),
        build=("go", "build", "-o", "program", "{files}"),
        run=(_PROGRAM,),
        env=_GO,
    ),
    "java": Way(
        check=("javac", *_JAVA_COMPILER, "-version"),
        build=("javac", *_JAVA_COMPILER, "-d", ".", "{files}"),
        run=("java", *_SMALL_JVM, "-ea", "-cp", ".", "{class}"),
    ),
    "rust": Way(
        check=("rustc", "--version"),
        build=("rustc", "--edition", "2021", "-O", "-o", "program", "{files}"),
        run=(_PROGRAM,),
    ),
}
# What only reads a program, and refuses one that is none; of TypeScript nothing does.
_READING: Final[Mapping[str, str]] = {"bash": "-n", "javascript": "--check"}
_INTERPRETED: Final = ("bash", "javascript", "typescript")
LANGUAGES_OF_PROGRAMS: Final = tuple(sorted((*_COMPILED, *_INTERPRETED)))
"""The languages, besides Python, that problems may be in."""

REMEDIES: Final[Mapping[str, str]] = {
    "cpp": "g++: `apt-get install g++`",
    "go": "Go: `apt-get install golang-go`",
    "java": "a JDK: `apt-get install default-jdk-headless`",
    "rust": "rustc: `apt-get install rustc`; one of rustup's is out of the sandbox's sight",
    **{language: PACKAGES[language] for language in _INTERPRETED},
}
"""What to install where a language cannot be run."""


def ways_to_run(language: str) -> tuple[Way, ...]:
    """The ways to run a language of `LANGUAGES_OF_PROGRAMS`, the best first; none of them tried.

    This machine's programs come before those of whatever the sandbox finds by their names, as in a container.
    """
    if language in _COMPILED:
        return (_COMPILED[language],)
    found = [*candidates(language), *candidates(language, in_container=True)]
    return tuple(
        Way(
            check=each.check,
            build=(*each.command, _READING[language], "{main}") if language in _READING else (),
            run=(*each.command, "{main}"),
            inputs=each.inputs,
            env=each.env,
        )
        for each in found
    )


def filled(command: tuple[str, ...], files: tuple[str, ...], main_class: str) -> list[str]:
    """A command with the names of the files in place."""
    places = [f"{APP}/{name}" for name in files]
    expanded: Mapping[str, Callable[[], list[str]]] = {
        "{files}": lambda: places,
        "{main}": lambda: places[:1],
        "{class}": lambda: [main_class],
    }
    return [part for word in command for part in (expanded[word]() if word in expanded else [word])]
