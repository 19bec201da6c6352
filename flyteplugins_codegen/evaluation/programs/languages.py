"""The languages of programs: their toolchains, what to install for one that is missing, and the files of a program."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from flyteplugins_codegen.autogen.languages import PACKAGES, candidates
from flyteplugins_codegen.sandbox.contract import APP
from flyteplugins_codegen.source.languages.names import file_name_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """The commands that build and run a program; the toolchain is available if `check` succeeds.

    In `build` and `run`, `{files}` stands for all the files, `{main}` for the first, `{class}` for Java's main class.
    `inputs` are files of this machine that a job needs for it.
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

_COMPILED: Final[dict[str, Toolchain]] = {
    "cpp": Toolchain(
        check=("g++", "--version"),
        build=("g++", "-std=c++17", "-O1", "-o", "program", "{files}", "-Wl,--wrap=main"),
        run=(_PROGRAM,),
    ),
    "go": Toolchain(
        check=("go", "version"),
        build=("go", "build", "-o", "program", "{files}"),
        run=(_PROGRAM,),
        env=_GO,
    ),
    "java": Toolchain(
        check=("javac", *_JAVA_COMPILER, "-version"),
        build=("javac", *_JAVA_COMPILER, "-d", ".", "{files}"),
        run=("java", *_SMALL_JVM, "-ea", "-cp", ".", "{class}"),
    ),
    "rust": Toolchain(
        check=("rustc", "--version"),
        build=("rustc", "--edition", "2021", "-O", "-o", "program", "{files}"),
        run=(_PROGRAM,),
    ),
}
# The options that check the syntax of a program without running it; TypeScript has none.
_SYNTAX_CHECKS: Final[Mapping[str, str]] = {"bash": "-n", "javascript": "--check"}
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
"""What to install for a language whose toolchain is missing."""


def toolchains_for(language: str) -> tuple[Toolchain, ...]:
    """The toolchains of a language of `LANGUAGES_OF_PROGRAMS`, the best first; they may be missing.

    Programs of this machine come before those that the sandbox finds by their names, as in a container.
    """
    if language in _COMPILED:
        return (_COMPILED[language],)
    interpreters = [*candidates(language), *candidates(language, in_container=True)]
    return tuple(
        Toolchain(
            check=interpreter.check,
            build=(*interpreter.command, _SYNTAX_CHECKS[language], "{main}") if language in _SYNTAX_CHECKS else (),
            run=(*interpreter.command, "{main}"),
            inputs=interpreter.inputs,
            env=interpreter.env,
        )
        for interpreter in interpreters
    )


def fill_command(command: tuple[str, ...], files: tuple[str, ...], main_class: str) -> list[str]:
    """A command with the paths of the files, and the main class, in place of the names in braces."""
    paths = [f"{APP}/{name}" for name in files]
    expanded: Mapping[str, Callable[[], list[str]]] = {
        "{files}": lambda: paths,
        "{main}": lambda: paths[:1],
        "{class}": lambda: [main_class],
    }
    return [part for word in command for part in (expanded[word]() if word in expanded else [word])]


# --- the files of a program with tests, which prints a word from stdin once its tests have ended ---

_JAVASCRIPT_END: Final = """
;{
  const files = (process.getBuiltinModule ?? require)("node:fs");
  process.on("exit", (status) => {
    if (status === 0) files.writeSync(1, "\\n" + files.readFileSync(0, "utf8"));
  });
}
"""
_BASH_END: Final = """
printf '\\n%s' "$(cat)"
"""
_CPP_END: Final = """#include <cstdio>
extern "C" int __real_main(int, char **, char **);
extern "C" int __wrap_main(int count, char **words, char **variables) {
  int status = __real_main(count, words, variables);
  if (status != 0) return status;
  std::putchar('\\n');
  for (int each; (each = std::getchar()) != EOF;) std::putchar(each);
  return 0;
}
"""
# The linker's --wrap is also used for a program without tests.
_CPP_PLAIN: Final = """extern "C" int __real_main(int, char **, char **);
extern "C" int __wrap_main(int count, char **words, char **variables) { return __real_main(count, words, variables); }
"""
_GO_END: Final = """package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	codegenTests()
	said, _ := io.ReadAll(os.Stdin)
	fmt.Print("\\n" + string(said))
}
"""
_JAVA_END: Final = """class CodegenEnd {{
  public static void main(String[] words) throws Throwable {{
    {main}.main(words);
    System.out.print("\\n" + new String(System.in.readAllBytes()));
    System.out.flush();
  }}
}}
"""
_RUST_END: Final = """
fn main() {
    codegen_tests();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut std::io::stdin(), &mut said).unwrap();
    print!("\\n{}", said);
}
"""
_GO_MAIN: Final = re.compile(r"^func main\(\)", re.MULTILINE)
_RUST_MAIN: Final = re.compile(r"^(?:pub )?fn main\(\)", re.MULTILINE)
_JAVA_CLASS: Final = re.compile(r"^(public )?(?:(?:abstract|final) )*class (\w+)", re.MULTILINE)
_JAVA_MAIN: Final = re.compile(r"\bstatic\s+(?:final\s+)?void\s+main\s*\(")


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of a program by their names, the main one first; `main_class` is Java's."""

    files: Mapping[str, str]
    main_class: str = ""


def sources_of(language: str, program: str, tests: str | None) -> Sources:
    """The files of a program; with tests, it prints what it reads from stdin once these have ended."""
    if language == "java":
        return _java(program, tests)
    name = file_name_for(language, "main")
    if language == "cpp":
        return Sources({name: _joined(program, tests), "end.cpp": _CPP_PLAIN if tests is None else _CPP_END})
    if tests is None:
        return Sources({name: program})
    if language == "go":
        return Sources({name: _GO_MAIN.sub("func codegenTests()", _joined(program, tests)), "end.go": _GO_END})
    return Sources({name: _WITH_END[language](_joined(program, tests))})


_WITH_END: Final[Mapping[str, Callable[[str], str]]] = {
    "bash": lambda text: text + _BASH_END,
    "javascript": lambda text: text + _JAVASCRIPT_END,
    "typescript": lambda text: text + _JAVASCRIPT_END,
    "rust": lambda text: _RUST_MAIN.sub("fn codegen_tests()", text) + _RUST_END,
}


def _joined(program: str, tests: str | None) -> str:
    return program if tests is None else f"{program}\n{tests}\n"


def _java(program: str, tests: str | None) -> Sources:
    """Java needs a file named after its public class, and the name of the class that has `main`."""
    text = _joined(program, tests)
    main = _JAVA_MAIN.search(text)
    classes = list(_JAVA_CLASS.finditer(text))
    before = [match[2] for match in classes if main and match.start() < main.start()]
    main_class = before[-1] if before else "Main"
    public = next((match[2] for match in classes if match[1]), main_class)
    if tests is None:
        return Sources({f"{public}.java": text}, main_class)
    return Sources({f"{public}.java": text, "CodegenEnd.java": _JAVA_END.format(main=main_class)}, "CodegenEnd")
