"""Progress as it is drawn, on a terminal and elsewhere."""

from __future__ import annotations

import io
import logging

import pytest
from storied_run import told_run

from flyteplugins_codegen.models.run import Cause, TestReport
from flyteplugins_codegen.stages.attempts import settle_certainties
from flyteplugins_codegen.telemetry import show_progress, stage


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def run_two_stages() -> None:
    with stage("write solution") as note:
        note.detail = "[bold]12 lines"
    with pytest.raises(KeyError), stage("run tests"):
        raise KeyError


def test_elsewhere_every_stage_is_one_plain_line_as_it_ends() -> None:
    stream = io.StringIO()
    with show_progress(stream):
        run_two_stages()
    first, second = stream.getvalue().splitlines()
    assert first.split() == ["•", "write", "solution", "0.00", "s", "[bold]12", "lines"]
    assert second.split() == ["✗", "run", "tests", "0.00", "s", "KeyError"]


def test_on_a_terminal_a_running_stage_is_drawn_before_it_ends() -> None:
    stream = Terminal()
    with show_progress(stream), stage("write solution"):
        assert "· write solution" in stream.getvalue()


def test_nothing_of_it_stays_behind() -> None:
    logger = logging.getLogger("flyteplugins_codegen")
    before = (logger.level, tuple(logger.handlers))
    stream = io.StringIO()
    with show_progress(stream):
        pass
    assert (logger.level, tuple(logger.handlers)) == before
    run_two_stages()
    assert stream.getvalue() == ""


def test_what_is_certain_and_takes_no_stage_is_told_too() -> None:
    stream = io.StringIO()
    run = told_run().run
    cause = Cause(kind="missing_module", subject="openpyxl", message="No module named 'openpyxl'", is_certain=True)
    failed = run.attempts[0].model_copy(update={"report": TestReport(build_cause=cause), "cause": cause})
    with show_progress(stream):
        settle_certainties(run.model_copy(update={"attempts": (failed,)}))
    (line,) = stream.getvalue().splitlines()
    assert line.strip() == "add packages: missing module: No module named 'openpyxl'"
