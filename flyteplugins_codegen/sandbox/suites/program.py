"""The files of the program that runs a suite inside the sandbox, ready to be put under /app."""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from functools import cache
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import MappingProxyType
from typing import Final

from flyteplugins_codegen.sandbox.contract import Job
from flyteplugins_codegen.sandbox.steady import STEADY_ENVIRONMENT

SUITE_COMMAND: Final = ("python", "/app/runner.py")
_RUNNER: Final = Path(__file__).with_name("runner.py")
_PARTS: Final = _RUNNER.with_name("suite_runner")
_MARSHAL_VERSION: Final = 4  # which every Python reads that a suite may be run with


@cache
def suite_program() -> Mapping[str, Path | bytes]:
    """`runner.py` and its parts: compiled for interpreters of this one's version, and as source for any other.

    Compiling them anew would take each run some 9 ms.
    """
    sources = {path.stem: path.read_bytes() for path in _PARTS.glob("*.py") if path.stem != "__init__"}
    codes = {
        name: compile(source, f"<{_PARTS.name}>/{name}.py", "exec", dont_inherit=True)
        for name, source in sources.items()
    }
    parts = marshal.dumps((MAGIC_NUMBER, marshal.dumps(codes), sources), _MARSHAL_VERSION)
    return MappingProxyType({"runner.py": _RUNNER, "runner.parts": parts})


def suite_rehearsal(env: Mapping[str, str]) -> Job:
    """A job that does nothing, after which a suite with these variables finds its warm worker."""
    return Job(command=SUITE_COMMAND, program={"runner.py": b""}, env={**STEADY_ENVIRONMENT, **env})
