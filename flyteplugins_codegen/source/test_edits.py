"""Test code as text: merging two test modules, selecting useful assertions, splitting assertions into cases."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any, Final, Literal

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.source.extraction.lines import split_lines
from flyteplugins_codegen.source.python import PARSE_ERRORS, bound_names, parse_module, parse_python, try_parse
from flyteplugins_codegen.source.tests import source_lines
from flyteplugins_codegen.text import LONGEST_SOURCE_CHARS

_IMPORTS: Final = (ast.Import, ast.ImportFrom)
_LONGEST_CHARS: Final = 100_000
# Statements that prepare a check and check nothing themselves.
_PREPARING: Final = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


# --- merging two modules ----------------------------------------------------------------------------------------------


def merge_tests(tests: str, added: str) -> str:
    """One test module of two. Raises SyntaxError if either is not Python.

    Every line of `tests` stays as it is, and the added imports follow its imports. Statements of `added` that are in
    `tests` already, word for word, are left out. A name in `added` that is taken gets another one everywhere in `added`
    (`run` becomes `run_2`). A `main` guard, docstrings and `from __future__` imports of `added` are dropped.
    """
    try:
        return _merged(tests, added)
    except RecursionError:
        raise SyntaxError("the tests are nested too deeply to be put together") from None


def _merged(tests: str, added: str) -> str:
    ours, theirs = parse_module(tests), parse_module(added)
    taken = set(bound_names(ours.body))
    present = {ast.dump(node) for node in ours.body}
    wanted = [node for node in theirs.body if ast.dump(node) not in present and not _is_droppable(node)]
    clashing = taken.intersection(bound_names(node for node in wanted if not _is_plain_import(node)))
    used = taken.union(bound_names(node for node in ast.walk(theirs) if isinstance(node, ast.stmt)))
    names = {name: _unused(name, used) for name in sorted(clashing)}
    renamed = [_Renamer(names).visit(node) for node in wanted]
    imports = [node for node in renamed if isinstance(node, _IMPORTS)]
    parts = [_with_imports(tests, ours, imports).rstrip("\n")]
    parts += [ast.unparse(node) for node in renamed if node not in imports]
    return "\n\n\n".join(parts) + "\n"


def _with_imports(tests: str, module: ast.Module, added: Sequence[ast.stmt]) -> str:
    """The text with more imports after its last top-level import, or at its end if it has none."""
    ends = [node.end_lineno or 0 for node in module.body if isinstance(node, _IMPORTS)]
    lines = source_lines(tests if tests.endswith("\n") else f"{tests}\n")
    position = ends[-1] if ends else len(lines)
    return "".join([*lines[:position], *(f"{ast.unparse(node)}\n" for node in added), *lines[position:]])


def _is_droppable(node: ast.stmt) -> bool:
    """Whether the statement is a docstring, `from __future__`, or a block that runs only if the module is a program."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    if isinstance(node, ast.If):
        return any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test))
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_plain_import(node: ast.stmt) -> bool:
    """Whether it imports modules under their own names, which mean the same in both modules."""
    return isinstance(node, ast.Import) and all(alias.asname is None for alias in node.names)


def _unused(name: str, used: set[str]) -> str:
    return next(f"{name}_{number}" for number in count(2) if f"{name}_{number}" not in used)


class _Renamer(ast.NodeTransformer):
    """Replaces names, including those of fixtures in the parameters of functions."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._names.get(node.arg, node.arg)
        return self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        node.arg = self._names.get(node.arg, node.arg) if node.arg else None
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> ast.AST:
        bound = node.asname or node.name.partition(".")[0]
        if bound in self._names:
            node.asname = self._names[bound]
        return node


# --- useful assertions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What an assertion says of a call: it equals or differs from the literal `value`, or its truth is `value`.

    `subject` is the call's syntax tree as text, `text` the value as text.
    """

    subject: str
    kind: Literal["equal", "unequal", "truth"]
    text: str
    value: Any = field(compare=False)


def useful_assertions(texts: Iterable[str], function: str) -> tuple[str, ...]:
    """The `assert` statements of the texts that call the function, in order, each once and on one line.

    Texts that are not Python are skipped, and so are assertions that compare an expression with itself. Assertions that
    contradict each other (two expectations of one call) are all dropped, because either may be wrong. Nothing is run.
    """
    read = [_read(node, function) for text in texts for node in _asserts(text)]
    unique = {(claim or text): (text, claim) for text, claim in reversed(read) if text}
    doubtful = _contradicted([claim for _, claim in unique.values() if claim is not None])
    in_order = reversed(unique.values())
    return tuple(text for text, claim in in_order if claim is None or claim.subject not in doubtful)


def _read(node: ast.Assert, function: str) -> tuple[str, _Claim | None]:
    """The assertion on one line, "" if it does not test the function, and its claim."""
    try:
        return (ast.unparse(node), _claim(node.test, function)) if _tests_function(node, function) else ("", None)
    except RecursionError:  # nested deeper than any readable test
        return "", None


def _asserts(text: str) -> Iterator[ast.Assert]:
    """The assertions at the top level; those in loops and functions depend on the code around them."""
    module = try_parse(text.strip()) if len(text) <= _LONGEST_CHARS else None
    yield from (node for node in (module.body if module else ()) if isinstance(node, ast.Assert))


def _tests_function(node: ast.Assert, function: str) -> bool:
    """Whether the assertion calls the function and does not compare an expression with itself."""
    test = node.test
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and ast.dump(test.left) == ast.dump(test.comparators[0]):
        return False
    return _calls(test, function)


def _calls(node: ast.expr, function: str) -> bool:
    calls = (part for part in ast.walk(node) if isinstance(part, ast.Call))
    return any(isinstance(call.func, ast.Name) and call.func.id == function for call in calls)


def _claim(test: ast.expr, function: str) -> _Claim | None:
    """The claim, or None if the test is neither a comparison of a call with a literal nor the truth of a call."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _Claim(subject=ast.dump(test.operand), kind="truth", text="False", value=False)
    if isinstance(test, ast.Call):
        return _Claim(subject=ast.dump(test), kind="truth", text="True", value=True)
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
    return _Claim(subject=ast.dump(subject), kind=kind, text=repr(value), value=value)


def _contradicted(claims: Sequence[_Claim]) -> frozenset[str]:
    """The calls whose claims contradict each other."""
    by_subject: dict[str, list[_Claim]] = {}
    for claim in claims:
        by_subject.setdefault(claim.subject, []).append(claim)
    return frozenset(subject for subject, group in by_subject.items() if not _agree(group))


def _agree(claims: Sequence[_Claim]) -> bool:
    """Whether one value can satisfy all claims: the first expected value, if any claim states one."""
    expected = [claim.value for claim in claims if claim.kind == "equal"]
    if expected:
        return all(_holds(claim, expected[0]) for claim in claims)
    return len({claim.value for claim in claims if claim.kind == "truth"}) <= 1


def _holds(claim: _Claim, value: Any) -> bool:
    if claim.kind == "truth":
        return bool(value) is claim.value
    return bool(claim.value == value) is (claim.kind == "equal")


# --- assertions and `check` functions as cases ------------------------------------------------------------------------


def assertion_cases(text: str) -> tuple[str, ...]:
    """The text split into cases: each checking statement (an `assert`, a loop) with the preparing ones before it.

    Cases run one after another in one namespace, so later cases can use what earlier ones prepared. Text without any
    statement has no case.

    Raises:
        ArgumentTypeError: the assertions are not a str.
        RequestError: they are too long, or not Python.
    """
    starts = _starts(_parsed(text, "the assertions").body)
    lines = split_lines(text)
    return tuple("\n".join(lines[start:end]).strip("\n") for start, end in pairwise([*starts, len(lines)]))


def _starts(body: Sequence[ast.stmt]) -> list[int]:
    """The first line of each case, from 0. Lines before the first check and after the last belong to those."""
    checking = [number for number, statement in enumerate(body) if not isinstance(statement, _PREPARING)]
    firsts = [0, *(number + 1 for number in checking[:-1])] if checking else []
    return sorted({body[first].lineno - 1 for first in firsts})


def require_check(test: str) -> None:
    """Raise RequestError for a test that defines no `check(candidate)`, ArgumentTypeError if it is not a str."""
    names = {node.name for node in _parsed(test, "the test").body if isinstance(node, ast.FunctionDef)}
    if "check" not in names:
        raise RequestError(
            "the test defines no function check(candidate), which is how it is run; write "
            "'def check(candidate):\\n    assert candidate(1) == 2\\n', or pass plain asserts as `assertions`"
        )


def _parsed(text: str, what: str) -> ast.Module:
    if not isinstance(text, str):
        raise ArgumentTypeError(f"{what}: {type(text).__name__}; pass Python source as a str")
    if len(text) > LONGEST_SOURCE_CHARS:
        raise RequestError(
            f"{what}: {len(text):,} characters, more than {LONGEST_SOURCE_CHARS:,}; give fewer or shorter checks"
        )
    try:
        return parse_python(text)
    except SyntaxError as error:
        at = f", line {error.lineno}" if error.lineno else ""
        raise RequestError(f"{what}{at}: no Python: {error.msg}") from None
    except PARSE_ERRORS as error:
        raise RequestError(f"{what} cannot be read as Python: {str(error) or 'nested too deeply'}") from None
