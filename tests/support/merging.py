"""Functions as a benchmark's author writes them, and things in a module that are none of those."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from os import system

from flyteplugins_codegen.evaluation.eval_framework.snippets import ExecutionResult

__all__ = ["borrowed", "line_by_line", "prints_42", "system", "tests_first"]


def line_by_line(code: str, test_code: str) -> str:
    return code + "\n" + test_code


def tests_first(code: str, test_code: str) -> str:
    return f"TESTS = {test_code!r}\n{code}\nexec(TESTS)"


def prints_42(output: str) -> ExecutionResult:
    return ExecutionResult(output == "42", output)


def inner() -> Callable[[], None]:
    def within() -> None:
        return None

    return within


class Author:
    def method(self) -> None:
        return None


borrowed = inner()
applied = partial(line_by_line, "x = 1")
