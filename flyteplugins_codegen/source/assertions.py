"""Assertions about one function, as a model writes them: those that are worth running, each one line of Python."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from flyteplugins_codegen.parsing import parse_python

_LONGEST = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What an assertion says of a call. `value` is the literal that it is compared with, or whether it is true."""

    subject: str
    kind: Literal["equal", "unequal", "truth"]
    shown: str
    value: Any = field(compare=False)


def useful_assertions(texts: Iterable[str], function: str) -> tuple[str, ...]:
    """The `assert` statements of the texts that call the function, in order, each once and as one line.

    A text that is no Python is left out, as is what compares a thing with itself. Of assertions that contradict each
    other (two expectations of the same call) none is taken: nobody knows which is right. Nothing is run.
    """
    read = [_read(node, function) for text in texts for node in _asserts(text)]
    found = {(claim or text): (text, claim) for text, claim in reversed(read) if text}
    doubtful = _contradicted([claim for _, claim in found.values() if claim is not None])
    told = ((text, claim) for text, claim in reversed(found.values()))
    return tuple(text for text, claim in told if claim is None or claim.subject not in doubtful)


def _read(node: ast.Assert, function: str) -> tuple[str, _Claim | None]:
    """The assertion as one line, "" where it tells nothing of the function, and its claim."""
    try:
        return (ast.unparse(node), _claim(node.test, function)) if _tells(node, function) else ("", None)
    except RecursionError:  # nested far deeper than any test that a person would read
        return "", None


def _asserts(text: str) -> Iterator[ast.Assert]:
    """The assertions at the top level; those in loops and functions need what is around them."""
    if len(text) > _LONGEST:
        return
    try:
        body = parse_python(text.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from (node for node in body if isinstance(node, ast.Assert))


def _tells(node: ast.Assert, function: str) -> bool:
    compared = node.test
    if isinstance(compared, ast.Compare) and len(compared.ops) == 1:
        sides = (ast.dump(compared.left), ast.dump(compared.comparators[0]))
        if sides[0] == sides[1]:
            return False
    return _calls(node.test, function)


def _calls(node: ast.expr, function: str) -> bool:
    return any(
        isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == function
        for each in ast.walk(node)
    )


def _claim(test: ast.expr, function: str) -> _Claim | None:
    """What is claimed, None where it is neither a comparison of a call with a literal nor the truth of a call."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _Claim(subject=ast.dump(test.operand), kind="truth", shown="False", value=False)
    if isinstance(test, ast.Call):
        return _Claim(subject=ast.dump(test), kind="truth", shown="True", value=True)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    left, right = test.left, test.comparators[0]
    subject, expected = (left, right) if _calls(left, function) else (right, left)
    is_equal = isinstance(test.ops[0], ast.Eq | ast.Is)
    if not is_equal and not isinstance(test.ops[0], ast.NotEq | ast.IsNot):
        return None
    try:
        value = ast.literal_eval(expected)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    kind: Literal["equal", "unequal"] = "equal" if is_equal else "unequal"
    return _Claim(subject=ast.dump(subject), kind=kind, shown=repr(value), value=value)


def _contradicted(claims: Sequence[_Claim]) -> frozenset[str]:
    """The calls of which the claims do not agree."""
    by_subject: dict[str, list[_Claim]] = {}
    for claim in claims:
        by_subject.setdefault(claim.subject, []).append(claim)
    return frozenset(subject for subject, made in by_subject.items() if not _agree(made))


def _agree(claims: Sequence[_Claim]) -> bool:
    """Whether one value could satisfy all: the one that some of them name, where they name any."""
    named = [claim.value for claim in claims if claim.kind == "equal"]
    if named:
        return all(_holds(claim, named[0]) for claim in claims)
    return len({claim.value for claim in claims if claim.kind == "truth"}) <= 1


def _holds(claim: _Claim, value: Any) -> bool:
    if claim.kind == "truth":
        return bool(value) is claim.value
    return bool(claim.value == value) is (claim.kind == "equal")
