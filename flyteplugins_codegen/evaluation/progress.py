"""How far an evaluation is: one line on a terminal, redrawn; nothing where nobody watches."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from flyteplugins_codegen.evaluation.values import Outcome


class Progress:
    """Counts what has ended. One thread at a time; `bar` draws it, where there is one."""

    def __init__(self, bar: Bar | None = None) -> None:
        self._bar = bar
        self._task: TaskID | None = None
        self._counts = Counter[str]()

    def begin(self, what: str, total: int | None) -> None:
        """Begin to count; `total` is None where nobody knows how many there will be."""
        self._counts.clear()
        if self._bar is not None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(what, total=total, ends="")

    def note(self, outcome: Outcome) -> None:
        """Count one more."""
        self._counts[outcome] += 1
        if self._bar is not None and self._task is not None:
            ends = ", ".join(f"{count} {name}" for name, count in self._counts.most_common())
            self._bar.update(self._task, advance=1, ends=ends)


@contextmanager
def open_progress(stream: TextIO | None = None) -> Iterator[Progress]:
    """Progress on `stream`, by default stderr, while the body runs."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, TextColumn("{task.fields[ends]}"), console=Console(file=stream), transient=True) as bar:
        yield Progress(bar)
