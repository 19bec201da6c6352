"""What travels between the stages of a run: a small state as a value, and what was said to a model as files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from flytekit.types.file import FlyteFile

from flyteplugins_codegen.flyte.caching import Salt
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.store import cache_dir, digest, write_atomically

Samples: TypeAlias = dict[str, FlyteFile]
Conversation: TypeAlias = list[FlyteFile]


class RunState(Value):
    """A run, and the salt of its cached stages.

    As text it is the JSON that `--state` takes: what `pyflyte run` prints of one stage starts the next.
    """

    run: Run
    salt: Salt = Salt()

    def __str__(self) -> str:
        """The state as one line of JSON."""
        return self.model_dump_json()

    __repr__ = __str__  # of a stage that returns more than a state, `pyflyte run` prints this

    def with_run(self, run: Run) -> RunState:
        """The state with the run as it now stands."""
        return self.model_copy(update={"run": run})


def sample_paths(samples: Mapping[str, FlyteFile]) -> dict[str, Path]:
    """The samples as files on this machine, downloaded where they are not."""
    return {name: Path(os.fspath(file)).absolute() for name, file in samples.items()}


def write_calls(calls: Iterable[ModelCall]) -> FlyteFile:
    """The calls with their messages as a file of JSON lines.

    It lies in our own cache, because flytekit's local cache gives its path again to later runs.
    """
    text = "".join(f"{call.model_dump_json()}\n" for call in calls).encode()
    path = cache_dir() / "conversations" / f"{digest(text)}.jsonl"
    write_atomically(path, text)
    return FlyteFile(str(path))


def read_calls(conversation: Sequence[FlyteFile]) -> tuple[ModelCall, ...]:
    """All calls of a conversation, in order."""
    lines = [line for file in conversation for line in Path(os.fspath(file)).read_text().splitlines()]
    return tuple(ModelCall.model_validate_json(line) for line in lines)
