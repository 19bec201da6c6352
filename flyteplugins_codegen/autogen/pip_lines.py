r"""`pip install` in code that a model wrote: taken out, and told as requirements, for no sandbox has a network.

In a shell: `pip install x`, alone in a line or among others (`&&`, `;`), with `python -m` or `uv` before it, goes on
after a backslash; of a here-document nothing is taken. In Python, `!pip install x` and `%pip install x`, where the code
is no Python as it stands. In place of each stands a statement that does nothing, so that line numbers stay.
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
# Up to the end of the command: quoted texts, escapes, `2>&1`, and what separates no commands.
_WORDS = r"""(?:'[^'\n]*'|"(?:[^"\\]|\\.)*"|\\(?:.|\n)|[0-9]?>&[0-9]|&>|[^;&|'"\\\n#)]|(?<=\S)\#)*"""
_IN_SHELL = re.compile(
    rf"(?P<before>(?:^|&&|;|\(|\b(?:then|do|else)\b)[ \t]*){_INSTALL}(?P<words>{_WORDS})", re.MULTILINE
)
_IN_PYTHON = re.compile(rf"^(?P<before>[ \t]*)(?:[!%][ \t]*)?{_INSTALL}(?P<words>[^\n]*)", re.MULTILINE)
_HERE_DOCUMENT = re.compile(r"<<-?[ \t]*['\"]?([A-Za-z_]\w*)")
_REDIRECTION = re.compile(r"(?<=\s)(?:[0-9]?>>?|&>>?)(?!=)[ \t]*(?:&[0-9]|\S+)")

_WITHOUT_MEANING: Final = (
    "--quiet --upgrade --user --no-cache-dir --break-system-packages --disable-pip-version-check --no-input --verbose"
    " --force-reinstall --no-deps --prefer-binary --root-user-action=ignore --no-warn-script-location -U -I --system"
    " --progress-bar=off --ignore-installed"
)
_SILENT: Final = frozenset(_WITHOUT_MEANING.split())
_SHORT = re.compile(r"-[qvU]+\Z")
_FILE = re.compile(r"(?:-r|--requirement)=?(.*)\Z")


@dataclass(frozen=True, slots=True)
class Installs:
    """Code without its installations, and what was to be installed."""

    code: str
    requirements: tuple[str, ...]


def take_installs(code: str, language: str, read_file: Callable[[str], str]) -> Installs:
    """Take `pip install` out of code; `read_file` gives the text of a file of requirements.

    Raises PackageError for an option that asks for more than packages of the index.
    """
    if language in {"sh", "bash"}:
        pattern, nothing, documents = _IN_SHELL, ": ", _here_documents(code)
    elif language == "python" and _IN_PYTHON.search(code) and not is_python(code):
        pattern, nothing, documents = _IN_PYTHON, "pass", frozenset()
    else:
        return Installs(code, ())
    wanted, edges = list[str](), _edges_of_quotations(code)

    def replace(match: re.Match[str]) -> str:
        is_quoted = match["before"].strip() and bisect(edges, match.start()) % 2
        if is_quoted or match.start() in documents:
            return match[0]
        wanted.extend(_requirements(match["words"], read_file))
        return match["before"] + nothing + "\n" * match[0].count("\n")

    rest = pattern.sub(replace, code)
    return Installs(rest, tuple(wanted))


def _here_documents(code: str) -> frozenset[int]:
    """Where the lines of here-documents begin."""
    found, position, end = set[int](), 0, ""
    for line in code.splitlines(keepends=True):
        if end:
            found.add(position)
            end = "" if line.strip() == end else end
        elif begun := _HERE_DOCUMENT.search(line):
            end = begun[1]
        position += len(line)
    return frozenset(found)


def _edges_of_quotations(code: str) -> list[int]:
    """Where a quotation begins or ends within its line, in turn; a line may end in one."""
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
        waiting = shlex.split(_REDIRECTION.sub("", words.replace("\\\n", " ")))
    except ValueError as error:
        raise PackageError(f"`pip install{words[:60]}` cannot be read: {error}; close the quotation") from error
    arguments = iter(waiting)
    for argument in arguments:
        if argument in _SILENT or _SHORT.match(argument) or argument == "pip":
            continue
        if of_file := _FILE.match(argument):
            yield from _listed(read_file(of_file[1] or next(arguments, "")))
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
