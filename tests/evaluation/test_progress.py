"""Progress is drawn on a terminal, and only there."""

from __future__ import annotations

import io

import pytest

from flyteplugins_codegen.evaluation.run import open_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(stream: io.StringIO, total: int | None) -> str:
    with open_progress(stream) as progress:
        progress.begin("samples", total)
        for _ in range(3):
            progress.note("passed")
        progress.note("timed_out")
    return stream.getvalue()


@pytest.mark.parametrize("total", [4, None])
def test_a_terminal_shows_how_far_it_is(total: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    shown = drawn(Terminal(), total)
    assert "samples" in shown
    assert "3 passed, 1 timed_out" in shown


def test_elsewhere_nothing_is_written() -> None:
    assert not drawn(io.StringIO(), 4)
