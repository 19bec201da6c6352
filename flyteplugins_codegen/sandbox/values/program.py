"""The program that judges by values inside a sandbox: its files as a job takes them."""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from functools import cache
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import Final

from flyteplugins_codegen.sandbox.contract import APP
from flyteplugins_codegen.sandbox.values.judge import MODULES

COMMAND: Final = ("python", f"{APP}/judge.py")
# Each after those that it imports.
_NAMES: Final = (
    "plain_data",
    "comparison",
    "exchange",
    "own_process",
    "slate",
    "explaining",
    "judged",
    "numpy_truth",
    "calls",
    "recorded",
    "stand_ins",
    "judging",
    "turns",
)
_FORMAT: Final = 2  # of `marshal`, which every Python reads


@cache
def values_program() -> Mapping[str, bytes]:
    """What starts the judge, and its modules in one file: as source, and compiled for an interpreter like ours."""
    sources = dict(_sources())
    codes = {name: compile(source, f"{name}.py", "exec", dont_inherit=True, optimize=2) for name, source in _sources()}
    modules = marshal.dumps((MAGIC_NUMBER, marshal.dumps(codes), sources), _FORMAT)
    return {"judge.py": _source("judge"), MODULES: modules}


def modules_ahead(program: Mapping[str, Path | bytes]) -> tuple[tuple[str, bytes], ...]:
    """The modules, with their source, that a warm worker is to import for this program; none for another one."""
    return (*_sources(), _REHEARSAL) if program.get(MODULES) == values_program()[MODULES] else ()


def without_modules(program: Mapping[str, Path | bytes]) -> Mapping[str, Path | bytes]:
    """What is left to be laid out of a program whose modules are imported already."""
    return {name: content for name, content in program.items() if name != MODULES}


@cache
def _sources() -> tuple[tuple[str, bytes], ...]:
    return tuple((name, _source(name)) for name in _NAMES)


def _source(name: str) -> bytes:
    return Path(__file__).with_name(f"{name}.py").read_bytes()


_REHEARSAL: Final = ("rehearsal", _source("rehearsal"))
