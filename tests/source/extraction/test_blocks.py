"""Freeing code of Markdown fences."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.source.extraction.blocks import unfence

CODE = "import sys\n\n\ndef main():\n    print(sys.argv)\n"


@pytest.mark.parametrize(
    "reply",
    [
        CODE,
        f"\n\n{CODE}\n \n",
        CODE.rstrip("\n"),
        f"```\n{CODE}```",
        f"```python\n{CODE}```\n",
        f'```python title="solution.py" {{.x}}\n{CODE}```\n',
        f"~~~py\n{CODE}~~~",
        f"````\n{CODE}````",
        f"Here is the solution:\n\n```python\n{CODE}```\n\nIt prints the arguments.",
        f"Here is the solution:\n```python\n{CODE}```",
        f"```python\n{CODE}",
        f"<solution>\n```python\n{CODE}```\n</solution>",
        f"First install:\n```sh\npip install x\n```\nthen\n```python\n{CODE}```\n",
        "1. do this:\n\n   ```python\n"
        + "".join(f"   {line}\n" if line else "\n" for line in CODE.split("\n"))
        + "   ```",
        "> ```\n" + "".join(f"> {line}\n" for line in CODE.rstrip("\n").split("\n")) + "> ```\n",
    ],
)
def test_the_code_comes_out_however_it_was_wrapped(reply: str) -> None:
    assert unfence(reply) == CODE


def test_windows_line_ends_around_a_fence_do_not_stay_in_the_code() -> None:
    assert unfence(f"```python\n{CODE}```\n".replace("\n", "\r\n")) == CODE


@pytest.mark.parametrize(
    "code",
    [
        'def help():\n    """Use it so:\n\n```\nhelp()\n```\n    """\n',
        'FENCE = "```"\nprint(f"{FENCE}python")\n',
        'TEXT = """\n~~~\nx = 1\n~~~\n"""\n',
    ],
)
def test_python_that_holds_fences_is_left_alone(code: str) -> None:
    assert unfence(code) == code


def test_broken_python_with_a_fence_in_a_docstring_is_not_replaced_by_the_docstring() -> None:
    broken = 'import os\n\ndef f(:\n    """\n```\nf(1)\n```\n    """\n'
    assert unfence(broken) == broken


def test_fenced_code_whose_docstring_holds_a_fence_comes_out_whole() -> None:
    code = 'def f():\n    """Example:\n\n```\nf()\n```\n    """\n    return 1\n'
    assert unfence(f"```python\n{code}```\n") == code


def test_nothing_and_blanks_give_nothing() -> None:
    assert unfence("") == ""
    assert unfence(" \n\t\n") == ""
    assert unfence("```python\n```") == ""


def test_the_indentation_of_the_first_line_stays() -> None:
    assert unfence("\n    x = 1\n    y = 2") == "    x = 1\n    y = 2\n"


fenced_texts = st.lists(
    st.one_of(
        st.sampled_from(["```", "```python", "~~~", "> ```", "- ```", "x = 1", "    y", "def f():", ""]), st.text()
    ),
    max_size=12,
).map("\n".join)


@given(fenced_texts)
def test_any_text_gives_some_of_its_own_lines(text: str) -> None:
    # CommonMark reads NUL as U+FFFD, and every kind of line end as a newline; blocks in quotes lose their marks.
    normalised = text.replace("\x00", "\ufffd").replace("\r\n", "\n").replace("\r", "\n")
    code = unfence(text)
    assert code == "" or code.endswith("\n")
    lines = code.replace("\x00", "\ufffd").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert all(line.strip() in normalised for line in lines)


@given(st.text(alphabet=st.characters(exclude_characters="`~")))
def test_text_without_a_fence_loses_only_blank_lines_around_it(text: str) -> None:
    code = unfence(text)
    assert code.strip() == text.strip()
    assert code.removesuffix("\n") in text


@given(st.lists(st.sampled_from(["x = 1", "if x:", "    y = 2", "", "# a"]), min_size=1).map("\n".join))
def test_python_in_a_fence_is_what_it_was(code: str) -> None:
    try:
        ast.parse(code)
    except SyntaxError:
        return
    assert unfence(f"Look:\n```python\n{code}\n```") == unfence(code)


@pytest.mark.parametrize("unit", ["```\n", "- ```\n", "> ", "~~~ `\n", "`", "[a]: <", "1. a\n", "(", "<a\n"])
def test_hostile_text_is_read_in_a_moment(unit: str) -> None:
    # A quadratic parser would take minutes for a quarter of a megabyte.
    assert isinstance(unfence(unit * (250_000 // len(unit)) + "\n```\nx"), str)
