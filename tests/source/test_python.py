from __future__ import annotations

import ast
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flyteplugins_codegen.source.python import parse_python


def test_many_threads_read_at_once_what_each_would_read_alone() -> None:
    source = Path(ast.__file__).read_text()
    expected, before = ast.dump(ast.parse(source)), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads take turns within a tree, which is what spoils it
    try:
        with ThreadPoolExecutor(4) as pool:
            trees = list(pool.map(parse_python, [source] * 16))
    finally:
        sys.setswitchinterval(before)
    assert {ast.dump(tree) for tree in trees} == {expected}


def test_what_is_no_python_says_so_and_holds_nobody_up() -> None:
    with pytest.raises(SyntaxError):
        parse_python("def f(:")
    assert ast.unparse(parse_python("x = 1")) == "x = 1"
