"""Which jobs can run in the same zygote: those that start the same interpreter, on the same program, alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from flyteplugins_codegen.sandbox.contract import Job
from flyteplugins_codegen.sandbox.values_program import modules_ahead

_INTERPRETERS: Final = ("python", "python3")
_HARMLESS_OPTIONS: Final = frozenset(("-u", "-B", "-O", "-OO", "-b", "-bb", "-q", "-s", "-P"))
# Where other libraries than ours may be loaded, or another interpreter found, a fresh process decides; and one that
# tells how it started must do so to its job.
_FRESH_VARIABLES: Final = ("PATH", "LD_", "MALLOC_", "GLIBC_", "PYTHONHOME", "PYTHONEXECUTABLE", "PYTHONINSPECT")
_TELLING_VARIABLES: Final = ("PYTHONVERBOSE", "PYTHONPROFILEIMPORTTIME")


@dataclass(frozen=True, slots=True)
class Kind:
    """What an interpreter is started with; a job of this kind adds only arguments.

    `command` begins the job's command: `python /app/main.py`. `variables` are the job's own, as pairs, since what an
    interpreter or a module reads at its start cannot be changed later. `modules` are those of ours that each of these
    jobs brings along, with their source.
    """

    command: tuple[str, ...]
    variables: frozenset[tuple[str, str]]
    modules: tuple[tuple[str, bytes], ...] = ()

    @property
    def env(self) -> Mapping[str, str]:
        """The variables by their names."""
        return dict(self.variables)


ANY: Final = Kind((), frozenset())
"""The kind of a zygote that jobs of every kind can run in, by executing their command."""


def kind_of(job: Job) -> Kind:
    """The narrowest kind that a job belongs to."""
    length = _length_of_start(job.command)
    if length == 0 or any(name.startswith((*_FRESH_VARIABLES, *_TELLING_VARIABLES)) for name in job.env):
        return ANY
    return Kind(job.command[:length], frozenset(job.env.items()), modules_ahead(job.program))


def _length_of_start(command: tuple[str, ...]) -> int:
    """How many words say which program an interpreter runs, and how; 0 where that is not all that there is to it."""
    if command[0] not in _INTERPRETERS:
        return 0
    options = list(takewhile(_HARMLESS_OPTIONS.__contains__, command[1:]))
    target = command[1 + len(options) :]
    if target[:1] == ("-m",):
        return len(options) + 3 if len(target) > 1 else 0
    return len(options) + 2 if target and not target[0].startswith("-") else 0
