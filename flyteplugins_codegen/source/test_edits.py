"""Two test modules as one: what the second adds stands after the first, under names that the first does not have."""

from __future__ import annotations

import ast
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any, Final, Literal

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.source.extraction.lines import split_lines
from flyteplugins_codegen.source.python import parse_python
from flyteplugins_codegen.source.tests import parse_module
from flyteplugins_codegen.text import LONGEST_SOURCE_CHARS

_IMPORTS: Final = (ast.Import, ast.ImportFrom)


def merge_tests(tests: str, added: str) -> str:
    """The tests with those that are added. Raises SyntaxError where either is not Python.

    Every line of `tests` stays as it is; imports that are added follow those that are there. Of what is added, an
    import or a definition that is there already, word for word, is left out; one whose name is taken gets another
    (`run` is `run_2` then), wherever what is added speaks of it. A `main` guard and `from __future__` go, as they would
    stand in the middle.
    """
    try:
        return _merged(tests, added)
    except RecursionError:
        raise SyntaxError("the tests are nested too deeply to be put together") from None


def _merged(tests: str, added: str) -> str:
    ours, theirs = parse_module(tests), parse_module(added)
    taken = {name for node in ours.body for name in _bound(node)}
    present = {ast.dump(node) for node in ours.body}
    wanted = [node for node in theirs.body if ast.dump(node) not in present and not _is_idle(node)]
    clashing = {name for node in wanted if not _is_shared(node) for name in _bound(node)} & taken
    used = taken | {name for node in ast.walk(theirs) for name in _bound(node)}
    names = {name: _unused(name, used) for name in sorted(clashing)}
    renamed = [_Renamed(names).visit(node) for node in wanted]
    imports = [node for node in renamed if isinstance(node, _IMPORTS)]
    parts = [_with_imports(tests, ours, imports).rstrip("\n")]
    parts += [ast.unparse(node) for node in renamed if node not in imports]
    return "\n\n\n".join(parts) + "\n"


def _with_imports(tests: str, module: ast.Module, added: Sequence[ast.stmt]) -> str:
    """The text with imports more, after the last one that it begins with, else at its end."""
    ends = [node.end_lineno or 0 for node in module.body if isinstance(node, _IMPORTS)]
    lines = list(io.StringIO(tests if tests.endswith("\n") else f"{tests}\n", newline=""))
    place = ends[-1] if ends else len(lines)
    return "".join([*lines[:place], *(f"{ast.unparse(node)}\n" for node in added), *lines[place:]])


def _is_idle(node: ast.stmt) -> bool:
    """Documentation, `from __future__`, and what runs only where the module is a program."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    if isinstance(node, ast.If):
        return any(isinstance(each, ast.Name) and each.id == "__name__" for each in ast.walk(node.test))
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_shared(node: ast.stmt) -> bool:
    """Whether it is an import that gives a module its own name, by which it is the same everywhere."""
    return isinstance(node, ast.Import) and all(alias.asname is None for alias in node.names)


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a statement gives a meaning."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
        case ast.Assign(targets=targets):
            yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _unused(name: str, used: set[str]) -> str:
    return next(f"{name}_{number}" for number in count(2) if f"{name}_{number}" not in used)


class _Renamed(ast.NodeTransformer):
    """Names by others, those of fixtures in the arguments of functions too."""

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


# Assertions about one function, as a model writes them: those that are worth running, each one line of Python.

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


# What a solution is checked by, as text: assertions taken apart into cases, and a test's `check` function.

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
