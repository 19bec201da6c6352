"""Parsing Python from many threads, and the names that statements bind."""

from __future__ import annotations

import ast
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flyteplugins_codegen.source.python import bound_names, is_python, last_name, parse_module, parse_python, try_parse


def test_threads_can_parse_at_the_same_time() -> None:
    source = Path(ast.__file__).read_text()
    expected, before = ast.dump(ast.parse(source)), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads take turns within a tree, which is what spoils it
    try:
        with ThreadPoolExecutor(4) as pool:
            trees = list(pool.map(parse_python, [source] * 16))
    finally:
        sys.setswitchinterval(before)
    assert {ast.dump(tree) for tree in trees} == {expected}


def test_text_that_is_not_python_raises_and_releases_the_parser() -> None:
    with pytest.raises(SyntaxError):
        parse_python("def f(:")
    assert ast.unparse(parse_python("x = 1")) == "x = 1"


@pytest.mark.parametrize("text", ["def f(:", "x = '\0'", "(" * 100_000])
def test_every_failure_of_the_parser_is_a_syntax_error_or_none(text: str) -> None:
    with pytest.raises(SyntaxError):
        parse_module(text)
    assert try_parse(text) is None
    assert not is_python(text)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def f(a):\n    b = 1", ["f"]),
        ("async def f(): ...\nclass C:\n    x = 1", ["f", "C"]),
        ("import os.path\nimport numpy as np\nfrom a import b, c as d", ["os", "np", "b", "d"]),
        ("a, (b, *c) = x\nd: int = 1\ne += 1", ["a", "b", "c", "d", "e"]),
        ("x.y = 1\nx[z] = 2", []),
        ("if a:\n    b = 1\nelse:\n    def c(): ...", ["b", "c"]),
        ("try:\n    import a\nexcept ImportError:\n    a = None", ["a", "a"]),
        ("for i in x:\n    j = i", ["i", "j"]),
        ("with open(x) as file: ...", ["file"]),
        ("print(n := 1)\nf = lambda: (m := 1)", ["n", "f"]),
    ],
)
def test_the_names_that_statements_bind(code: str, names: list[str]) -> None:
    assert list(bound_names(ast.parse(code).body)) == names


@pytest.mark.parametrize(
    ("expression", "name"), [("f", "f"), ("a.b.c", "c"), ("a.b(1)", "b"), ("a.b(1)(2)", "b"), ("a[0]", ""), ("1", "")]
)
def test_the_last_name_of_an_expression(expression: str, name: str) -> None:
    assert last_name(ast.parse(expression, mode="eval").body) == name
