"""What a solution is checked by, as text: assertions taken apart into cases, and a test's `check` function."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.models.lengths import LONGEST_SOURCE_CHARS
from flyteplugins_codegen.parsing import parse_python
from flyteplugins_codegen.source.replies.lines import split_lines

# What a following check may need, and no check itself.
_PREPARING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


def assertion_cases(text: str) -> tuple[str, ...]:
    """Each statement that checks something, with the imports and assignments before it: `assert f(1) == 2`, or a loop.

    Cases are run in turn in one namespace, so that what a case prepares the later ones have too. Text without any
    statement gives none.

    Raises:
        ArgumentTypeError: the assertions are no str.
        RequestError: they are too long, or no Python.
    """
    starts = _starts(_parsed(text, "the assertions").body)
    lines = split_lines(text)
    return tuple("\n".join(lines[start:end]).strip("\n") for start, end in pairwise([*starts, len(lines)]))


def _starts(body: Sequence[ast.stmt]) -> list[int]:
    """The first lines, from 0, of the cases; what comes before the first is its own, as is what follows the last."""
    checking = [number for number, statement in enumerate(body) if not isinstance(statement, _PREPARING)]
    firsts = [0, *(number + 1 for number in checking[:-1])] if checking else []
    return sorted({body[first].lineno - 1 for first in firsts})


def require_check(test: str) -> None:
    """Raise RequestError for a test that defines no `check(candidate)`; ArgumentTypeError where it is no str."""
    names = {each.name for each in _parsed(test, "the test").body if isinstance(each, ast.FunctionDef)}
    if "check" not in names:
        raise RequestError(
            "the test defines no function check(candidate), which is how it is run; write "
            "'def check(candidate):\\n    assert candidate(1) == 2\\n', or pass plain asserts as `assertions`"
        )


def _parsed(text: str, what: str) -> ast.Module:
    if not isinstance(text, str):
        raise ArgumentTypeError(f"{what}: {type(text).__name__}; pass Python source as a str")
    if len(text) > LONGEST_SOURCE_CHARS:
        told = f"{len(text):,} characters, more than {LONGEST_SOURCE_CHARS:,}"
        raise RequestError(f"{what}: {told}; give fewer or shorter checks")
    try:
        return parse_python(text)
    except SyntaxError as error:
        at = f", line {error.lineno}" if error.lineno else ""
        raise RequestError(f"{what}{at}: no Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise RequestError(f"{what} cannot be read as Python: {str(error) or 'nested too deeply'}") from None
