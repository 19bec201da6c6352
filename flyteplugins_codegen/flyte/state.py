"""What travels between the tasks of a run: its state as a small value, model calls with their messages as files.

Also the keys under which Flyte caches a task: the code that it runs, a salt, and a state without its timings.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from flytekit import Cache
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.spending import ModelCall
from flyteplugins_codegen.solution.flytekit import runs_locally
from flyteplugins_codegen.stages.stage_cache import code_version
from flyteplugins_codegen.store import ContentStore, cache_dir, digest, remembered, write_file

ValueT = TypeVar("ValueT")

Samples: TypeAlias = dict[str, FlyteFile]
Conversation: TypeAlias = list[FlyteFile]

JUDGING_CODE: Final = ("judging", "packages", "portable", "sandbox", "solution", "source")
"""The rooms whose code runs a program and judges it."""
MODEL_CODE: Final = ("llm", "source")
"""The rooms whose code asks a model and reads its reply."""

# --- cache keys ---


BESIDE_STATE: Final = ("samples", "timings")
"""Inputs that are not part of a cached task's key: the state has what the work depends on."""
_TIMINGS: Final = frozenset({"cpu_s", "duration_s", "wall_s"})


def cached_by_code(*rooms: str, ignored: tuple[str, ...] = ("samples",)) -> Cache:
    """Flyte's cache for a task that runs code of these rooms: a change of that code makes a new cache version.

    `ignored` inputs are not part of the key: files of samples, because the request has their digests, and timings.
    """
    return Cache(version=code_version(*rooms), ignored_inputs=ignored)


class Salt(Value):
    """A part of every cached stage's key that is independent of its work."""

    text: str = ""


def choose_salt(run: Run) -> Salt:
    """The salt that separates this run's cached stages from those of earlier runs, by the agent's `cache` setting.

    `disable` gets a new salt each time, so that no later run finds its stages. In local execution `auto` takes the salt
    of the job's last run from our own cache. The files that Flyte's cached outputs point to are in that cache too:
    whoever empties it also loses the salt. `override` stores a new salt, which later runs take. Our cache does not
    outlive a pod: there `auto` has no salt.
    """
    if run.settings.cache == "disable":
        return _new_salt()
    if not runs_locally():
        return Salt() if run.settings.cache == "auto" else _new_salt()
    key = digest(run.request, run.settings.model_dump(mode="json", exclude={"cache"}))
    return remembered(ContentStore(), "salts", key, Salt, _new_salt, reread=run.settings.cache == "auto")


def local_salt(*content: object) -> Salt:
    """The salt of the last run with this content: it ties cached tasks to the files in this machine's cache.

    Empty in a pod: a cluster's cache keeps the files itself.
    """
    return remembered(ContentStore(), "salts", digest(*content), Salt, _new_salt) if runs_locally() else Salt()


def _new_salt() -> Salt:
    return Salt(text=uuid.uuid4().hex)


def split_timings(run: Run) -> tuple[Run, list[float]]:
    """The run with all timings of its attempts set to 0, and the timings in order.

    Without them a run is the same whenever its tests are run, so that it finds what Flyte cached for it.
    """
    timings: list[float] = []

    def keep(seconds: float) -> float:
        timings.append(seconds)
        return 0.0

    return _with_timings(run, keep), timings


def join_timings(run: Run, timings: Sequence[float]) -> Run:
    """The run with its timings again; unchanged without timings."""
    remaining: Iterator[float] = iter(timings)
    return _with_timings(run, lambda seconds: next(remaining, seconds))


def _with_timings(run: Run, change: Callable[[float], float]) -> Run:
    return run.model_copy(update={"attempts": _changed_timings(run.attempts, change)})


def _changed_timings(value: Any, change: Callable[[float], float]) -> Any:
    if isinstance(value, tuple):
        return tuple(_changed_timings(part, change) for part in value)
    if not isinstance(value, Value):
        return value
    fields = {name: getattr(value, name) for name in type(value).model_fields}
    return value.model_copy(
        update={
            name: change(field) if name in _TIMINGS else _changed_timings(field, change)
            for name, field in fields.items()
            if name in _TIMINGS or isinstance(field, tuple | Value)
        }
    )


# --- state and calls ---


class RunState(Value):
    """A run, and the salt of its cached stages.

    Its text is the JSON that `--state` takes: what `pyflyte run` prints after one stage is the input of the next.
    """

    run: Run
    salt: Salt = Salt()

    def __str__(self) -> str:
        """The state as one line of JSON."""
        return self.model_dump_json()

    __repr__ = __str__  # `pyflyte run` prints this for a stage with several outputs

    def with_run(self, run: Run) -> RunState:
        """The state with this run."""
        return self.model_copy(update={"run": run})


def in_fixed_order(values: Mapping[str, ValueT]) -> dict[str, ValueT]:
    """The values of a task's input: in a pod by name, in local execution as they are.

    A pod gets the entries of a map in another order each time. Within a state, this would be another key of every
    cached stage.
    """
    return dict(values) if runs_locally() else dict(sorted(values.items()))


def sample_paths(samples: Mapping[str, FlyteFile]) -> dict[str, Path]:
    """The samples as files on this machine, downloaded where needed."""
    return {name: Path(os.fspath(file)).absolute() for name, file in in_fixed_order(samples).items()}


def write_calls(calls: Iterable[ModelCall]) -> FlyteFile:
    """The calls with their messages as a file of JSON lines.

    In our own cache, because flytekit's local cache returns this path to later runs.
    """
    text = "".join(f"{call.model_dump_json()}\n" for call in calls).encode()
    path = cache_dir() / "conversations" / f"{digest(text)}.jsonl"
    write_file(path, text, mode=0o600)
    return FlyteFile(str(path))


def read_calls(conversation: Sequence[FlyteFile]) -> tuple[ModelCall, ...]:
    """All calls of a conversation, in order."""
    lines = [line for file in conversation for line in Path(os.fspath(file)).read_text().splitlines()]
    return tuple(ModelCall.model_validate_json(line) for line in lines)
