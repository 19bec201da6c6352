"""What Python says of a text, found without running it and without more memory than it is worth."""

from __future__ import annotations

import time

import pytest

from flyteplugins_codegen.judging.causes import syntax_cause


@pytest.mark.parametrize("line", ["x = 1\n", "x;", "(", "\ud800", "\0"])
def test_a_text_of_ten_megabytes_is_refused_unread(line: str) -> None:
    text = line * (10_000_000 // len(line))
    started = time.process_time()
    cause = syntax_cause(text, "solution.py")
    assert time.process_time() - started < 1  # a minute, and 3 GB, where Python read it
    assert cause is not None
    assert (cause.kind, cause.subject, cause.is_certain) == ("syntax_error", "solution.py", True)
    assert cause.message.startswith("solution.py has ")
    assert "more than 1,000,000" in cause.message


def test_a_long_text_that_is_python_has_no_cause() -> None:
    assert syntax_cause("x = '" + "é" * 999_990 + "'", "solution.py") is None


@pytest.mark.parametrize("text", ["x = '\ud800'", "x = '\0'", "(" * 10_000, "-" * 500_000 + "1"])
def test_what_the_parser_gives_up_on_is_a_cause(text: str) -> None:
    cause = syntax_cause(text, "solution.py")
    assert cause is not None
    assert cause.message.startswith("solution.py")
