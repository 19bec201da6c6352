"""Which Debian package brings what a program missed: a shared library or a command that it calls. Pure text.

`system_needs.json` holds names of Debian 12: libraries that wheels of PyPI link to and do not bring (OpenCV, LightGBM,
psycopg2, pyodbc, read from the wheels themselves), commands that data work calls, and the words in which
bindings say that either is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

_LIBRARY: Final = re.compile(
    r"(lib[\w.+-]+): cannot open shared object file|cannot load library ['\"](lib[\w.+-]+)['\"]"
)
_NOT_FOUND: Final = re.compile(r"(?:\bsh: (?:\d+: )?|^)([\w.+-]+): (?:command )?not found", re.MULTILINE)
_NO_SUCH_FILE: Final = re.compile(r"No such file or directory: ['\"](?:/usr/(?:local/)?bin/)?([\w.+-]+)['\"]")
# A file of that name may be missing too: only where a program was to be started.
_STARTING: Final = re.compile(r"subprocess|Popen|check_output|check_call|_execute_child")


class _Table(NamedTuple):
    libraries: dict[str, str]
    programs: dict[str, str]
    phrases: dict[str, str]


@cache
def _table() -> _Table:
    return _Table(**json.loads(Path(__file__).with_name("system_needs.json").read_text(encoding="utf-8")))


def system_packages_for(message: str) -> tuple[str, ...]:
    """The Debian packages that a failure's message asks for, sorted; none for what the table does not know."""
    table = _table()
    found = [table.libraries.get(name) for name in _libraries(message)]
    found += [table.programs.get(name) for name in _programs(message)]
    found += [package for phrase, package in table.phrases.items() if phrase in message]
    return tuple(sorted({package for package in found if package}))


def _libraries(message: str) -> Iterator[str]:
    return (linked or loaded for linked, loaded in _LIBRARY.findall(message))


def _programs(message: str) -> Iterator[str]:
    yield from _NOT_FOUND.findall(message)
    if _STARTING.search(message):
        yield from _NO_SUCH_FILE.findall(message)
