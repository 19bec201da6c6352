"""Spans for tracing, log records of stages, and the progress of a run in the terminal.

    with show_progress():
        agent.generate(...)

`show_progress` draws the records of the package's logger: on a terminal it shows the running stages with their seconds,
anywhere else it prints a line for each record.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

AttributeValue = str | int | float | tuple[str, ...]
Phase = Literal["started", "finished", "failed"]

logger = logging.getLogger("flyteplugins_codegen.stages")

_LOGGER = "flyteplugins_codegen"
_NAME_WIDTH = 18
# A finished stage may have found a failure; its detail says so.
_OUTCOME_SIGNS = {"finished": ("•", "green"), "failed": ("✗", "red")}


class TraceSpan:
    """An open span of OpenTelemetry, or nothing if there is no tracing."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def set_attributes(self, attributes: Mapping[str, AttributeValue]) -> None:
        """Add attributes to the span."""
        if self._span is not None:
            self._span.set_attributes(dict(attributes))


@contextlib.contextmanager
def span(
    name: str, attributes: Mapping[str, AttributeValue] | None = None, *, is_call: bool = False
) -> Iterator[TraceSpan]:
    """A span around the body. Of an error only the type is recorded, because its text may contain data."""
    # A process that traces has imported the API by now; otherwise there is nothing to send spans to.
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield TraceSpan()
        return
    kind = trace.SpanKind.CLIENT if is_call else trace.SpanKind.INTERNAL
    tracer = trace.get_tracer("flyteplugins_codegen")
    opened = tracer.start_as_current_span(
        name, kind=kind, attributes=dict(attributes or {}), record_exception=False, set_status_on_exception=False
    )
    with opened as inner:
        try:
            yield TraceSpan(inner)
        except BaseException as error:
            inner.set_attribute("error.type", type(error).__name__)
            inner.set_status(trace.StatusCode.ERROR)
            raise


@dataclass(frozen=True)
class StageEvent:
    """The start or end of a stage. `detail` describes the outcome for people: "3 of 5 tests passed"."""

    stage: str
    phase: Phase
    detail: str = ""
    wall_s: float = 0.0


@dataclass
class StageNote:
    """What a stage reports of its outcome while it runs."""

    detail: str = field(default="")


@contextlib.contextmanager
def stage(name: str) -> Iterator[StageNote]:
    """Log the start and the end of a stage. The body sets the note's `detail`."""
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


@contextlib.contextmanager
def show_progress(stream: TextIO | None = None) -> Iterator[None]:
    """Show progress on `stream`, by default stderr, while the body runs."""
    package_logger = logging.getLogger(_LOGGER)
    handler, level = ProgressHandler(stream or sys.stderr), package_logger.level
    package_logger.addHandler(handler)
    package_logger.setLevel(min(package_logger.getEffectiveLevel(), logging.INFO))
    try:
        yield
    finally:
        package_logger.removeHandler(handler)
        package_logger.setLevel(level)
        handler.close()


def install_progress() -> None:
    """Show progress until the end of the process, for a module that `pyflyte run` loads. Repeated calls do nothing."""
    package_logger = logging.getLogger(_LOGGER)
    if any(isinstance(handler, ProgressHandler) for handler in package_logger.handlers):
        return
    package_logger.addHandler(ProgressHandler(sys.stderr))
    package_logger.setLevel(min(package_logger.getEffectiveLevel(), logging.INFO))


class ProgressHandler(logging.Handler):
    """Draws the start and end of stages, and prints every other record of INFO and above on a line of its own."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(logging.INFO)
        from rich.console import Console

        self._console = Console(file=stream, highlight=False)
        self._running = RunningStages(self._console)

    def emit(self, record: logging.LogRecord) -> None:
        """Draw one record."""
        event = getattr(record, "codegen_event", None)
        try:
            if not isinstance(event, StageEvent):
                self._console.print(_plain_line(record), soft_wrap=True)
            elif event.phase == "started":
                self._running.start(event.stage)
            else:
                self._running.end(event.stage)
                self._console.print(_outcome(event), soft_wrap=True)
        except Exception:  # noqa: BLE001 - a terminal that cannot draw must not stop the run; as logging's own handlers do
            self.handleError(record)

    def close(self) -> None:
        """Stop drawing."""
        self._running.clear()
        super().close()


class RunningStages:
    """The stages that are running, redrawn ten times a second on a terminal while there are any."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began: dict[str, float] = {}
        self._live: Live | None = None
        self._lock = threading.Lock()

    def start(self, stage: str) -> None:
        """Show the stage from now on."""
        from rich.live import Live

        with self._lock:
            self._began[stage] = time.perf_counter()
            if self._live is None and self._console.is_terminal:
                self._live = Live(
                    console=self._console, get_renderable=self._draw, transient=True, refresh_per_second=10
                )
                self._live.start(refresh=True)

    def end(self, stage: str) -> None:
        """Stop showing the stage."""
        with self._lock:
            self._began.pop(stage, None)
            live = None if self._began else self._take_live()
        # Outside of the lock, because stopping calls `_draw` a last time.
        if live is not None:
            live.stop()

    def clear(self) -> None:
        """Stop showing all stages."""
        for stage in tuple(self._began):
            self.end(stage)

    def _take_live(self) -> Live | None:
        live, self._live = self._live, None
        return live

    def _draw(self) -> Text:
        from rich.text import Text

        now = time.perf_counter()
        lines = [f"· {stage:<{_NAME_WIDTH}} {now - began:7.1f} s" for stage, began in tuple(self._began.items())]
        return Text("\n".join(lines), style="dim")


def _outcome(event: StageEvent) -> Text:
    from rich.text import Text

    sign, color = _OUTCOME_SIGNS[event.phase]
    return Text.assemble(
        (f"{sign} ", color),
        (f"{event.stage:<{_NAME_WIDTH}} ", "bold"),
        (f"{event.wall_s:7.2f} s  ", "dim"),
        event.detail,
    )


def _plain_line(record: logging.LogRecord) -> Text:
    from rich.text import Text

    styles = {logging.WARNING: "yellow", logging.ERROR: "red"}
    # Records of model calls are details of the running stage.
    style = "dim" if record.name.startswith(f"{_LOGGER}.llm") else ""
    return Text(f"  {record.getMessage()}", style=styles.get(record.levelno, style))
