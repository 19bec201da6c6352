"""Spans of stages and model calls, for whoever traces; nothing is imported for those who do not.

Named as OpenTelemetry's conventions for generative AI say: https://opentelemetry.io/docs/specs/semconv/gen-ai/
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

AttributeValue = str | int | float | tuple[str, ...]


class Span:
    """An open span, or none where nobody traces."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def tell(self, attributes: Mapping[str, AttributeValue]) -> None:
        """Add attributes."""
        if self._span is not None:
            self._span.set_attributes(dict(attributes))


@contextlib.contextmanager
def span(name: str, attributes: Mapping[str, AttributeValue] | None = None, *, is_call: bool = False) -> Iterator[Span]:
    """A span around the body; an error that leaves it is told by its type alone, for its text may hold data."""
    # Who traces has imported the API by now: without it there is nobody that spans could go to.
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield Span()
        return
    kind = trace.SpanKind.CLIENT if is_call else trace.SpanKind.INTERNAL
    tracer = trace.get_tracer("flyteplugins_codegen")
    opened = tracer.start_as_current_span(
        name, kind=kind, attributes=dict(attributes or {}), record_exception=False, set_status_on_exception=False
    )
    with opened as inner:
        try:
            yield Span(inner)
        except BaseException as error:
            inner.set_attribute("error.type", type(error).__name__)
            inner.set_status(trace.StatusCode.ERROR)
            raise
