"""Progress as log records: every stage says when it starts and how it ended.

A record of the logger `flyteplugins_codegen` carries a `StageEvent` as its attribute `codegen_event`, so that a
terminal can draw it, while a pod's log shows one plain line. No handler is installed here.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from flyteplugins_codegen.tracing import span

logger = logging.getLogger("flyteplugins_codegen.stages")

Phase = Literal["started", "finished", "failed"]


@dataclass(frozen=True)
class StageEvent:
    """`detail` is what a person wants to know of the outcome: "3 of 5 tests passed"."""

    stage: str
    phase: Phase
    detail: str = ""
    wall_s: float = 0.0


@dataclass
class StageNote:
    """What a stage says of its outcome while it runs."""

    detail: str = field(default="")


@contextlib.contextmanager
def stage(name: str) -> Iterator[StageNote]:
    """Log the start and the end of a stage; the body sets the note's detail."""
    _emit(StageEvent(name, "started"))
    note, began = StageNote(), time.perf_counter()
    try:
        with span(name):
            yield note
    except BaseException as error:
        _emit(StageEvent(name, "failed", type(error).__name__, time.perf_counter() - began))
        raise
    _emit(StageEvent(name, "finished", note.detail, time.perf_counter() - began))


def _emit(event: StageEvent) -> None:
    text = f"{event.stage}: {event.phase}"
    if event.phase != "started":
        text += f" in {event.wall_s:.2f} s"
    if event.detail:
        text += f", {event.detail}"
    logger.info("%s", text, extra={"codegen_event": event})
