"""Finding functions by name and replacing them, with the rest of the file unchanged."""

from __future__ import annotations

import pytest

from flyteplugins_codegen.source.python import functions_of, replace_function

FILE = '''\
"""A module."""
import os


@first
@second(
    1
)
def plain(x):
    """Says.

    nothing
    """
    def inner():
        pass
    return x  # the end


class Shape:
    side = 1

    async def area(self):
        return self.side ** 2

    class Inner:
        def deep(self): return 1


if os.name == "posix":
    def chosen(): return 1
else:
    def chosen(): return 2
'''


def test_functions_and_methods_are_found_by_their_names():
    assert list(functions_of(FILE)) == ["plain", "Shape.area", "Shape.Inner.deep", "chosen"]


def test_of_two_functions_with_one_name_the_last_counts():
    assert functions_of("def f(): return 1\n\ndef f(): return 2\n")["f"].first_line == 3


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("name", "old", "new", "put"),
    [
        ("plain", slice(4, 16), "def plain(x):\n    return 2", "def plain(x):\n    return 2"),
        ("Shape.area", slice(21, 23), "def area(self):\n\n    return 2", "    def area(self):\n\n        return 2"),
        (
            "Shape.Inner.deep",
            slice(25, 26),
            "  def deep(self):\n    return 2\n",
            "        def deep(self):\n          return 2",
        ),
    ],
)
def test_only_the_functions_own_lines_change(name, old, new, put, line_end):
    lines = FILE.split("\n")
    lines[old] = put.split("\n")
    source = FILE.replace("\n", line_end)
    assert replace_function(source, functions_of(source)[name], new) == line_end.join(lines)


def test_a_function_at_the_very_end_keeps_the_missing_newline():
    source = "x = 1\ndef f(): return 1"
    assert replace_function(source, functions_of(source)["f"], "def f(): return 2\n") == "x = 1\ndef f(): return 2"


@pytest.mark.parametrize("text", ["def f(:", "x = '\0'"])
def test_text_that_is_not_python_is_an_error(text):
    with pytest.raises((SyntaxError, ValueError)):
        functions_of(text)
