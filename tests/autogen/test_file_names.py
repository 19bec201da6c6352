"""Untrusted file names are refused, or stay below the folder, whatever they contain."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.autogen.languages import RUNNERS, SAVED
from flyteplugins_codegen.autogen.run_request import check_file_name, digest_name, name_in_code
from flyteplugins_codegen.errors import ArgumentTypeError, RequestError

odd_names = st.text(alphabet="./\\~ab-:\0\n\ud800$*é ", max_size=20) | st.text()


@given(odd_names)
def test_a_name_is_refused_or_stays_below_the_folder(name: str) -> None:
    try:
        checked = check_file_name(name)
    except RequestError as error:
        assert "is refused: it " in str(error)  # noqa: PT017 - not every name is refused
        assert str(error).isprintable()  # noqa: PT017 - the same
    else:
        path = os.path.normpath(Path("/folder", checked))
        assert path.startswith("/folder/")
        assert checked in {name, name.removeprefix("./")}


@given(st.text(alphabet="# filename:/*-<!>.py`'\"\n\r\\é ", max_size=60) | st.text())
def test_any_code_has_a_first_line_that_names_a_file_or_none(code: str) -> None:
    name = name_in_code(code)
    assert name is None or name in code


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("# filename: a.py\nx", "a.py"),
        ("// filename: a.js", "a.js"),
        ("<!-- filename: a b.html -->\n<p>", "a b.html"),
        ("/* filename: a.css */", "a.css"),
        ("-- filename: a.sql", "a.sql"),
        ("\ufeff\n# filename: a.py", "a.py"),
        ("x = 1\n# filename: a.py", None),
        ("# the filename: a.py", None),
        ("filename: a.py", None),
        ("#" * 2_000 + " filename: a.py", None),
        ("", None),
    ],
)
def test_the_name_is_that_of_the_first_line(code: str, name: str | None) -> None:
    assert name_in_code(code) == name


def test_a_first_line_of_blanks_is_read_at_once() -> None:
    started = time.process_time()
    for _ in range(20):
        assert name_in_code("# filename: a" + " " * 980 + "b")
    assert time.process_time() - started < 2  # three repetitions in a row took 4 s for one


@pytest.mark.parametrize("name", [None, 5, b"x.py", Path("x.py")])
def test_what_is_no_text_is_no_name(name) -> None:
    with pytest.raises(ArgumentTypeError, match="filename is"):
        check_file_name(name)


@given(st.text(alphabet=st.characters()), st.sampled_from([*RUNNERS, *SAVED]))
def test_a_made_name_is_one_that_is_allowed_and_the_codes_own(code: str, language: str) -> None:
    name = digest_name(code, language)
    assert check_file_name(name) == name == digest_name(code, language)
    assert name != digest_name(f"{code} ", language)
