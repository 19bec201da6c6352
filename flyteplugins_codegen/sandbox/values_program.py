"""The program that judges by values inside a sandbox: its files as a job takes them."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from typing import Final

from flyteplugins_codegen.sandbox.contract import APP

COMMAND: Final = ("python", f"{APP}/judge.py")
# Each after those that it imports.
_MODULES: Final = (
    "plain_data",
    "comparison",
    "exchange",
    "explaining",
    "judged",
    "numpy_truth",
    "stand_ins",
    "judging",
)
_START: Final = b"import judging\n\njudging.main()\n"
_UNCHECKED_HASH: Final = (1).to_bytes(4, "little")  # PEP 552: compiled from its source, which is not to be compared


@cache
def values_program() -> Mapping[str, bytes]:
    """Every module as source, and compiled: an interpreter like ours is spared 20 ms, any other compiles the source."""
    return {"judge.py": _START, **dict(_files())}


def modules_ahead(program: Mapping[str, Path | bytes]) -> tuple[tuple[str, bytes], ...]:
    """The modules, with their source, that a warm worker may have imported for this program; none for another one."""
    ours = values_program()
    if any(program.get(name) != content for name, content in ours.items()):
        return ()
    return tuple((name, ours[f"{name}.py"]) for name in _MODULES)


def _files() -> Iterator[tuple[str, bytes]]:
    for name in _MODULES:
        source = Path(__file__).with_name(f"{name}.py").read_bytes()
        code = compile(source, f"{APP}/{name}.py", "exec", dont_inherit=True)
        yield f"{name}.py", source
        yield (
            cache_from_source(f"{name}.py"),
            MAGIC_NUMBER + _UNCHECKED_HASH + source_hash(source) + marshal.dumps(code),
        )
