"""Mutants of a solution: copies with one small mistake each, in the code that its tests exercise.

The same code and tests always give the same mutants. Nothing is run here: what the tests exercise is estimated by a
rough call graph of the names that they mention.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Literal, NamedTuple, TypeAlias

from flyteplugins_codegen.source.python import FunctionNode, last_name, parse_module

MutationKind = Literal["arithmetic", "comparison", "boundary", "constant", "deleted statement"]
SourceSpan: TypeAlias = tuple[int, int, int, int]  # first line, column in bytes, last line, column in bytes

MOST_MUTANTS: Final = 16
_ARITHMETIC: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
_COMPARISONS: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
_BOUNDARIES: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
}
# Operands with which the changed operator gives the same result: x + 0 is x - 0, x * 1 is x / 1.
_NEUTRAL: Final[dict[type[ast.AST], int]] = {
    ast.Add: 0,
    ast.Sub: 0,
    ast.Mult: 1,
    ast.Div: 1,
    ast.FloorDiv: 1,
    ast.Pow: 1,
}
# Calls that only talk to people: messages, help texts, logs.
_COSMETIC_CALLS: Final = frozenset(
    {"print", "add_argument", "ArgumentParser", "warn", "debug", "info", "warning", "error", "exception", "exit"}
)
_EXCERPT_CHARS: Final = 60
_LONGEST_LINE_BYTES: Final = 1 << 20
_WITHOUT_EFFECT: Final = frozenset({"close", "flush", "mkdir", "makedirs", "basicConfig", "set_defaults"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A solution with one mistake. All other lines keep their numbers; `line` counts from 1."""

    kind: MutationKind
    function: str
    line: int
    description: str
    code: str

    @property
    def summary(self) -> str:
        """The mutant in one line."""
        return f"line {self.line}, {self.function}: {self.description}"


def make_mutants(code: str, tests: Iterable[str] = (), *, most: int = MOST_MUTANTS) -> tuple[Mutant, ...]:
    """At most `most` mutants of the code that the tests exercise, in the order of their lines. Raises SyntaxError.

    If there are more, the choice is spread over functions and kinds, and within those by a hash, so that the same code
    gets the same mutants. Mutants that may never end are chosen last.
    """
    source = code.encode()
    module = parse_module(code)
    changes = [
        (region.name, change)
        for region in reachable_regions(module, tests)
        for change in _changes_in(source, region.node)
    ]
    chosen = _spread(list(dict.fromkeys(changes)), most)
    mutants = [_mutant(source, function, change) for function, change in chosen]
    return tuple(sorted(mutants, key=lambda mutant: (mutant.line, mutant.description)))


def _changes_in(source: bytes, node: ast.AST) -> list[Change]:
    """All changes in a node; none if it is nested too deeply to be walked, such as a sum of 1,000 terms."""
    try:
        return list(find_changes(source, node))
    except RecursionError:
        return []


def _spread(changes: Sequence[tuple[str, Change]], most: int) -> list[tuple[str, Change]]:
    """The first `most` changes, taking one of each kind in each function in turn."""
    groups: dict[tuple[bool, str, MutationKind], list[tuple[str, Change]]] = defaultdict(list)
    for function, change in changes:
        groups[change.loops, function, change.kind].append((function, change))
    for group in groups.values():
        group.sort(key=lambda entry: _digest(entry[1].span, entry[1].text))
    order = sorted(groups, key=lambda key: (key[0], _digest(key[1], key[2])))
    ending = _in_turn([groups[key] for key in order if not key[0]])
    looping = _in_turn([groups[key] for key in order if key[0]])
    return [*ending, *looping][:most]


def _in_turn(groups: Sequence[list[tuple[str, Change]]]) -> Iterator[tuple[str, Change]]:
    for number in range(max(map(len, groups), default=0)):
        yield from (group[number] for group in groups if number < len(group))


def _digest(*parts: object) -> bytes:
    return blake2b(repr(parts).encode(), digest_size=8).digest()


def _mutant(source: bytes, function: str, change: Change) -> Mutant:
    first, start, last, end = change.span
    lines = source.splitlines(keepends=True)
    before = b"".join(lines[: first - 1]) + lines[first - 1][:start]
    after = lines[last - 1][end:] + b"".join(lines[last:])
    return Mutant(
        kind=change.kind,
        function=function,
        line=first,
        description=change.description,
        code=(before + change.text.encode() + after).decode(),
    )


# --- the changes of a piece of code -----------------------------------------------------------------------------------


class Change(NamedTuple):
    """A replacement for a span of the code. `loops` says that the changed program may never end."""

    kind: MutationKind
    span: SourceSpan
    text: str
    description: str
    loops: bool = False


class _Context(NamedTuple):
    """Where a node is: in a condition that only guards a `raise`, in a `while` loop."""

    guards: bool = False
    loops: bool = False


def find_changes(source: bytes, node: ast.AST) -> Iterator[Change]:
    """All changes at and below a node, in the order of the text. `source` is UTF-8."""
    yield from _changes_below(SourceText(source), node, _Context())


class SourceText:
    """The lines of a source, to read spans from."""

    def __init__(self, source: bytes) -> None:
        self._lines = source.splitlines(keepends=True)

    def at(self, span: SourceSpan) -> str:
        """The text of a span."""
        first, start, last, end = span
        lines = self._lines[first - 1 : last]
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][start:]
        return b"".join(lines).decode()


def _changes_below(text: SourceText, node: ast.AST, context: _Context) -> Iterator[Change]:
    if _is_cosmetic(node):
        return
    if isinstance(node, ast.stmt):
        yield from _without_statement(text, node, context)
    yield from _changes_of(text, node, context)
    if isinstance(node, ast.While):
        context = context._replace(loops=True)
    for name, child in _children(node):
        guards = isinstance(node, ast.If) and name == "test" and all(isinstance(s, ast.Raise) for s in node.body)
        yield from _changes_below(text, child, context._replace(guards=context.guards or guards))


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The child nodes that may be changed, with their field names: no annotations, decorators or patterns."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params", "pattern", "bases", "msg"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield name, child


def _is_cosmetic(node: ast.AST) -> bool:
    """Whether nothing below is changed: messages, help, logs, and f-strings, whose parts older Pythons do not place."""
    if isinstance(node, ast.Call):
        return last_name(node) in _COSMETIC_CALLS
    return isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert)


def _changes_of(text: SourceText, node: ast.AST, context: _Context) -> Iterator[Change]:
    match node:
        case ast.BinOp():
            yield from _operator_changes(text, node, context)
        case ast.AugAssign() if type(node.op) in _ARITHMETIC:
            yield from _swapped(text, "arithmetic", _ARITHMETIC[type(node.op)], (node.target, node.value), context)
        case ast.Compare():
            yield from _comparison_changes(text, node, context)
        case ast.BoolOp():
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from _swapped(text, "comparison", _COMPARISONS[type(node.op)], (left, right), context)
        case ast.UnaryOp():
            yield from _without_sign(text, node, context)
        case ast.Constant():
            yield from _constant_changes(node, context)


def _operator_changes(text: SourceText, node: ast.BinOp, context: _Context) -> Iterator[Change]:
    operands = (node.left, node.right)
    if any(isinstance(o, ast.JoinedStr) or isinstance(getattr(o, "value", None), str | bytes) for o in operands):
        return  # strings: another operator would fail in any run
    neutral = _NEUTRAL.get(type(node.op))
    if neutral is not None and any(isinstance(o, ast.Constant) and o.value == neutral for o in operands):
        return
    if type(node.op) in _ARITHMETIC:
        yield from _swapped(text, "arithmetic", _ARITHMETIC[type(node.op)], operands, context)


def _comparison_changes(text: SourceText, node: ast.Compare, context: _Context) -> Iterator[Change]:
    operands = [node.left, *node.comparators]
    for operator, left, right in zip(node.ops, operands, operands[1:], strict=False):
        yield from _swapped(text, "comparison", _COMPARISONS[type(operator)], (left, right), context)
        if type(operator) in _BOUNDARIES and not context.guards:
            yield from _swapped(text, "boundary", _BOUNDARIES[type(operator)], (left, right), context)


def _swapped(
    text: SourceText, kind: MutationKind, signs: tuple[str, str], operands: tuple[ast.expr, ast.expr], context: _Context
) -> Iterator[Change]:
    """Another operator between two operands, where comments and parentheses may be too."""
    left, right = operands
    span = (left.end_lineno or 0, left.end_col_offset or 0, right.lineno, right.col_offset)
    between = text.at(span)
    bare = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), between)
    match = re.search(re.escape(signs[0]).replace(r"\ ", r"[\s\\]+"), bare)
    if match:
        replacement = between[: match.start()] + signs[1] + between[match.end() :]
        description = f"`{signs[1]}` for `{signs[0]}` between `{_excerpt(left)}` and `{_excerpt(right)}`"
        yield Change(kind, span, replacement, description, context.loops)


def _without_sign(text: SourceText, node: ast.UnaryOp, context: _Context) -> Iterator[Change]:
    operand, sign = node.operand, "not" if isinstance(node.op, ast.Not) else "-"
    if isinstance(node.op, ast.Not | ast.USub) and not isinstance(operand, ast.Constant):
        span = (node.lineno, node.col_offset, operand.lineno, operand.col_offset)
        rest = text.at(span)[len(sign) :].lstrip()
        kind: MutationKind = "comparison" if sign == "not" else "arithmetic"
        yield Change(kind, span, rest, f"`{_excerpt(node)}` without its `{sign}`", context.loops)


def _constant_changes(node: ast.Constant, context: _Context) -> Iterator[Change]:
    if isinstance(node.value, bool):
        changed = str(not node.value)
    elif isinstance(node.value, int | float):
        changed = repr(node.value + 1)
        if changed == repr(node.value) or changed in {"inf", "nan"}:
            return
    else:
        return
    yield Change("constant", _span(node), changed, f"`{changed}` for `{_excerpt(node)}`", context.loops)


def _without_statement(text: SourceText, node: ast.stmt, context: _Context) -> Iterator[Change]:
    if _is_dispensable(node):
        lines = (node.end_lineno or node.lineno) - node.lineno
        last, end = node.end_lineno or node.lineno, node.end_col_offset or 0
        if not (lines and ";" in text.at((last, end, last, _LONGEST_LINE_BYTES))):
            yield Change(
                "deleted statement", _span(node), "pass" + "\n" * lines, f"without `{_excerpt(node)}`", context.loops
            )


def _is_dispensable(node: ast.stmt) -> bool:
    """Whether the code still runs without the statement; assignments to names are needed by what follows."""
    match node:
        case ast.AugAssign() | ast.Continue() | ast.Break() | ast.Delete():
            return True
        case ast.Assign():
            return all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
        case ast.Expr(value=ast.Call(func=function) as call):
            return last_name(function) not in _WITHOUT_EFFECT and not _is_cosmetic(call)
    return False


def _span(node: ast.expr | ast.stmt) -> SourceSpan:
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _excerpt(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= _EXCERPT_CHARS else f"{text[: _EXCERPT_CHARS - 3]}..."


# --- the code that tests exercise -------------------------------------------------------------------------------------


class CodeRegion(NamedTuple):
    """A function, named `main` or `Table.read`, or a module-level assignment."""

    name: str
    node: ast.stmt


def reachable_regions(module: ast.Module, tests: Iterable[str]) -> tuple[CodeRegion, ...]:
    """The functions and assignments of the module that the tests lead to, in order. Raises SyntaxError.

    If the tests mention none, those that `main` leads to.
    """
    regions = tuple(_regions(module.body))
    names = set().union(*(_mentioned(parse_module(source)) for source in tests))
    return _closure(regions, names) or _closure(regions, {"main"})


def _closure(regions: tuple[CodeRegion, ...], names: set[str]) -> tuple[CodeRegion, ...]:
    """The regions that these names mention, directly or through other regions."""
    reached: set[CodeRegion] = set()
    while new := [region for region in regions if region not in reached and _is_mentioned(region, names)]:
        reached.update(new)
        names = names.union(*(_mentioned(region.node) for region in new))
    return tuple(region for region in regions if region in reached)


def _is_mentioned(region: CodeRegion, names: set[str]) -> bool:
    owner, _, name = region.name.rpartition(".")
    is_special = name.startswith("__") and name.endswith("__")
    return (owner in names and (is_special or name in names)) if owner else name in names


def _regions(body: Iterable[ast.stmt], owner: str = "") -> Iterator[CodeRegion]:
    """The regions of a module or a class, without those in blocks such as `if __name__ == ...`."""
    for node in body:
        if isinstance(node, FunctionNode):
            yield CodeRegion(owner + node.name, node)
        elif isinstance(node, ast.ClassDef):
            yield from _regions(node.body, f"{owner}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not owner:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (CodeRegion(target.id, node) for target in targets[:1] if isinstance(target, ast.Name))


def _mentioned(tree: ast.AST) -> set[str]:
    """Every name, attribute and imported name in a tree."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            names.update(alias.name for alias in node.names)
    return names
