"""When a stage's finished work may stand for a new run of it."""

from __future__ import annotations

import uuid

from flytekit import Cache
from flytekit.core.context_manager import FlyteContextManager

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.stages.remember import code_version
from flyteplugins_codegen.store import ContentStore, digest, remembered


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


def runs_locally() -> bool:
    """Whether this is flytekit's local execution, and not a pod."""
    state = FlyteContextManager.current_context().execution_state
    # Outside of any execution there is a state without a mode.
    return state is None or state.mode is None or state.is_local_execution()
