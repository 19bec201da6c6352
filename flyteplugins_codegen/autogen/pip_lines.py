r"""Extracts `pip install` commands from code that a model wrote, because no sandbox has a network.

In a shell script these are `pip install x`, alone in a line or with other commands (`&&`, `;`), with `python -m` or
`uv` before it, and continued after a backslash; here-documents are skipped. In Python they are `!pip install x` and
`%pip install x`, in code that is no valid Python. Each is replaced by a statement that does nothing, so that line
numbers stay the same.
"""

from __future__ import annotations

import re
import shlex
from bisect import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from flyteplugins_codegen.errors import PackageError
from flyteplugins_codegen.source.python import is_python

_INSTALL = r"(?:sudo[ \t]+)?(?:(?:python[0-9.]*|py|uv)[ \t]+(?:-m[ \t]+)?)?pip[0-9.]*[ \t]+install(?=[ \t\n\\]|\Z)"
# The rest of the command: quoted texts, escapes, `2>&1`, and all other characters that do not end it.
_WORDS = r"""(?:'[^'\n]*'|"(?:[^"\\]|\\.)*"|\\(?:.|\n)|[0-9]?>&[0-9]|&>|[^;&|'"\\\n#)]|(?<=\S)\#)*"""
_IN_SHELL = re.compile(
    rf"(?P<before>(?:^|&&|;|\(|\b(?:then|do|else)\b)[ \t]*){_INSTALL}(?P<words>{_WORDS})", re.MULTILINE
)
_IN_PYTHON = re.compile(rf"^(?P<before>[ \t]*)(?:[!%][ \t]*)?{_INSTALL}(?P<words>[^\n]*)", re.MULTILINE)
_HERE_DOCUMENT = re.compile(r"<<-?[ \t]*['\"]?([A-Za-z_]\w*)")
_REDIRECTION = re.compile(r"(?<=\s)(?:[0-9]?>>?|&>>?)(?!=)[ \t]*(?:&[0-9]|\S+)")

_IGNORED: Final = (
    "--quiet --upgrade --user --no-cache-dir --break-system-packages --disable-pip-version-check --no-input --verbose"
    " --force-reinstall --no-deps --prefer-binary --root-user-action=ignore --no-warn-script-location -U -I --system"
    " --progress-bar=off --ignore-installed"
)
_IGNORED_OPTIONS: Final = frozenset(_IGNORED.split())
_IGNORED_SHORT = re.compile(r"-[qvU]+\Z")
_FILE = re.compile(r"(?:-r|--requirement)=?(.*)\Z")


@dataclass(frozen=True, slots=True)
class ExtractedInstalls:
    """Code without its `pip install` commands, and the requirements of these."""

    code: str
    requirements: tuple[str, ...]


def extract_pip_installs(code: str, language: str, read_file: Callable[[str], str]) -> ExtractedInstalls:
    """Extract `pip install` commands from code; `read_file` returns the text of a requirements file.

    Raises PackageError for an option other than those that name packages or can be ignored.
    """
    if language in {"sh", "bash"}:
        pattern, replacement, documents = _IN_SHELL, ": ", _here_documents(code)
    elif language == "python" and _IN_PYTHON.search(code) and not is_python(code):
        pattern, replacement, documents = _IN_PYTHON, "pass", frozenset()
    else:
        return ExtractedInstalls(code, ())
    requirements, edges = list[str](), _quotation_edges(code)

    def replace(match: re.Match[str]) -> str:
        is_quoted = match["before"].strip() and bisect(edges, match.start()) % 2
        if is_quoted or match.start() in documents:
            return match[0]
        requirements.extend(_requirements(match["words"], read_file))
        return match["before"] + replacement + "\n" * match[0].count("\n")

    rest = pattern.sub(replace, code)
    return ExtractedInstalls(rest, tuple(requirements))


def _here_documents(code: str) -> frozenset[int]:
    """The positions at which lines of here-documents begin."""
    positions, position, end = set[int](), 0, ""
    for line in code.splitlines(keepends=True):
        if end:
            positions.add(position)
            end = "" if line.strip() == end else end
        elif start := _HERE_DOCUMENT.search(line):
            end = start[1]
        position += len(line)
    return frozenset(positions)


def _quotation_edges(code: str) -> list[int]:
    """The positions at which a quotation begins or ends, alternating; the end of a line ends it too."""
    edges, counts = list[int](), {'"': 0, "'": 0}
    for mark in re.finditer("[\"'\\n]", code):
        if mark[0] == "\n":
            counts = dict.fromkeys(counts, 0)
        else:
            counts[mark[0]] += 1
        is_inside = any(count % 2 for count in counts.values())
        if is_inside != bool(len(edges) % 2):
            edges.append(mark.start())
    return edges


def _requirements(words: str, read_file: Callable[[str], str]) -> Iterator[str]:
    try:
        words_of_command = shlex.split(_REDIRECTION.sub("", words.replace("\\\n", " ")))
    except ValueError as error:
        raise PackageError(f"`pip install{words[:60]}` cannot be read: {error}; close the quotation") from error
    arguments = iter(words_of_command)
    for argument in arguments:
        if argument in _IGNORED_OPTIONS or _IGNORED_SHORT.match(argument) or argument == "pip":
            continue
        if file := _FILE.match(argument):
            yield from _listed(read_file(file[1] or next(arguments, "")))
        elif argument.startswith("-"):
            raise PackageError(
                f"`pip install {argument}` is refused: packages come from the index that is configured, as wheels, "
                "and only by name; leave the option out"
            )
        else:
            yield argument


def _listed(text: str) -> Iterator[str]:
    for line in text.splitlines():
        requirement = re.sub(r"(?:^|\s)#.*", "", line).strip()
        if requirement:
            yield requirement
