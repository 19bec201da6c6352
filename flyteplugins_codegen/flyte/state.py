"""What travels between the stages of a run: a small state as a value, and what was said to a model as files."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from flytekit import Cache
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.spending import ModelCall
from flyteplugins_codegen.solution.flytekit import runs_locally
from flyteplugins_codegen.stages.stage_cache import code_version
from flyteplugins_codegen.store import ContentStore, cache_dir, digest, remembered, write_file

# When a stage's finished work may stand for a new run of it.


def cached_by_code(*rooms: str, ignored: tuple[str, ...] = ("samples",)) -> Cache:
    """Flyte's cache for a stage that runs code of these rooms: a change of that code makes a new version.

    The files of the samples are left out of the key, because the request tells them by their content; so are the
    `ignored` inputs of other stages.
    """
    return Cache(version=code_version(*rooms), ignored_inputs=ignored)


class Salt(Value):
    """A part of every cached stage's key that has nothing to do with its work."""

    text: str = ""


def choose_salt(run: Run) -> Salt:
    """What sets this run's cached stages apart from those of earlier runs, by the agent's `cache` setting.

    `disable` gets a fresh salt, so that Flyte's cache holds nothing of it. On this machine `auto` takes the salt of the
    job's last run, which stands in our own cache beside the files that Flyte's cached outputs point to: whoever empties
    the one forgets the other. `override` puts a fresh one there, which the following runs then take. A pod has no cache
    of its own that outlives it: there `auto` has no salt.
    """
    if run.settings.cache == "disable":
        return _fresh_salt()
    if not runs_locally():
        return Salt() if run.settings.cache == "auto" else _fresh_salt()
    key = digest(run.request, run.settings.model_dump(mode="json", exclude={"cache"}))
    return remembered(ContentStore(), "salts", key, Salt, _fresh_salt, reread=run.settings.cache == "auto")


def local_salt(*content: object) -> Salt:
    """What ties cached nodes to the files in this machine's cache: the salt of the last run with this content.

    In a pod there is none, for a cluster's cache keeps the files itself.
    """
    return remembered(ContentStore(), "salts", digest(*content), Salt, _fresh_salt) if runs_locally() else Salt()


def _fresh_salt() -> Salt:
    return Salt(text=uuid.uuid4().hex)


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
    write_file(path, text, mode=0o600)
    return FlyteFile(str(path))


def read_calls(conversation: Sequence[FlyteFile]) -> tuple[ModelCall, ...]:
    """All calls of a conversation, in order."""
    lines = [line for file in conversation for line in Path(os.fspath(file)).read_text().splitlines()]
    return tuple(ModelCall.model_validate_json(line) for line in lines)
