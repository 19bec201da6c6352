"""Paid replies that outlive the pod that asked: Flyte's checkpoints hand them to the next try of its task.

On this machine our own cache outlives every process, and nothing of this is needed.
"""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from flytekit import current_context
from flytekit.core.checkpointer import Checkpoint

from flyteplugins_codegen.flyte.caching import runs_locally
from flyteplugins_codegen.flyte.readable import logger
from flyteplugins_codegen.llm.journal import REPLIES
from flyteplugins_codegen.store import ContentStore, telling_of_kept

P = ParamSpec("P")
T = TypeVar("T")


def keeping_replies(function: Callable[P, T]) -> Callable[P, T]:
    """Let a task that asks a model find what its earlier try was answered, and leave what it is answered for the next.

    A checkpoint that fails costs what it would have saved, and nothing else.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        _rich_traceback_omit = True
        checkpoint = _checkpoint()
        if checkpoint is None:
            return function(*args, **kwargs)
        if checkpoint.prev_exists():
            _take_over(checkpoint)
        with telling_of_kept(functools.partial(_leave, checkpoint)):
            return function(*args, **kwargs)

    return call


def _checkpoint() -> Checkpoint | None:
    try:
        return None if runs_locally() else current_context().checkpoint
    except NotImplementedError:  # a platform without them
        return None


def _take_over(checkpoint: Checkpoint) -> None:
    """The earlier try's replies into our store, and into this try's own checkpoint: the next one sees no other."""
    store = ContentStore()
    with tempfile.TemporaryDirectory() as folder:
        try:
            left = sorted((checkpoint.restore(folder) or Path(folder)).glob("*.json"))
        except Exception:  # noqa: BLE001 - of whichever store; most have no folder where nothing was left
            logger.debug("the earlier try left no checkpoint", exc_info=True)
            return
        for reply in left:
            place = store.path(REPLIES, reply.stem)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(reply, place)
            _leave(checkpoint, REPLIES, place)


def _leave(checkpoint: Checkpoint, kind: str, path: Path) -> None:
    if kind != REPLIES:
        return
    try:
        checkpoint.save(path)
    except Exception:  # noqa: BLE001 - of whichever store; the reply itself is here
        logger.warning("a reply could not be kept for another try of this task", exc_info=True)
