"""Mutants of a solution (`mutation/`): chosen among all changes, a bounded number, the same ones each time."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Literal, NamedTuple, TypeAlias

from flyteplugins_codegen.source.tests import parse_module

# The small mistakes that can be made in a piece of code, each as a change of the text at its place.

Kind = Literal["arithmetic", "comparison", "boundary", "constant", "deleted statement"]
Span: TypeAlias = tuple[int, int, int, int]  # first line, column in bytes, last line, column in bytes

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
# An operand that makes the changed operator give the same: x + 0 is x - 0, x * 1 is x / 1.
_NEUTRAL: Final[dict[type[ast.AST], int]] = {
    ast.Add: 0,
    ast.Sub: 0,
    ast.Mult: 1,
    ast.Div: 1,
    ast.FloorDiv: 1,
    ast.Pow: 1,
}
_FOR_PEOPLE: Final = frozenset(
    {"print", "add_argument", "ArgumentParser", "warn", "debug", "info", "warning", "error", "exception", "exit"}
)
_SHOWN_CHARS: Final = 60
_WITHOUT_EFFECT: Final = frozenset({"close", "flush", "mkdir", "makedirs", "basicConfig", "set_defaults"})


class Change(NamedTuple):
    """Text in place of what stands at a span of the code. `loops` says that a program may not end with it."""

    kind: Kind
    span: Span
    text: str
    description: str
    loops: bool = False


class _Place(NamedTuple):
    """Where a node stands: whether a condition that only guards a `raise`, whether in a `while` loop."""

    guards: bool = False
    loops: bool = False


def find_changes(source: bytes, node: ast.AST) -> Iterator[Change]:
    """All changes below a node of the source's tree, in the order of its text. `source` is UTF-8."""
    yield from _below(Text(source), node, _Place())


class Text:
    """A source by lines, of which spans are read."""

    def __init__(self, source: bytes) -> None:
        self._lines = source.splitlines(keepends=True)

    def at(self, span: Span) -> str:
        """The text of a span."""
        first, start, last, end = span
        lines = self._lines[first - 1 : last]
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][start:]
        return b"".join(lines).decode()


def _below(text: Text, node: ast.AST, place: _Place) -> Iterator[Change]:
    if _is_for_people(node):
        return
    if isinstance(node, ast.stmt):
        yield from _left_out(text, node, place)
    yield from _of_node(text, node, place)
    if isinstance(node, ast.While):
        place = place._replace(loops=True)
    for name, child in _children(node):
        guards = isinstance(node, ast.If) and name == "test" and all(isinstance(s, ast.Raise) for s in node.body)
        yield from _below(text, child, place._replace(guards=place.guards or guards))


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The nodes below that can be changed: no annotations, decorators or patterns."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params", "pattern", "bases", "msg"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield name, child


def _is_for_people(node: ast.AST) -> bool:
    """Messages, help, logs; and formatted texts, of which older Pythons do not tell the places of the parts."""
    if isinstance(node, ast.Call):
        function = node.func
        return (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")) in _FOR_PEOPLE
    return isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert)


def _of_node(text: Text, node: ast.AST, place: _Place) -> Iterator[Change]:
    match node:
        case ast.BinOp():
            yield from _of_operator(text, node, place)
        case ast.AugAssign() if type(node.op) in _ARITHMETIC:
            yield from _swapped(text, "arithmetic", _ARITHMETIC[type(node.op)], (node.target, node.value), place)
        case ast.Compare():
            yield from _of_comparison(text, node, place)
        case ast.BoolOp():
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from _swapped(text, "comparison", _COMPARISONS[type(node.op)], (left, right), place)
        case ast.UnaryOp():
            yield from _without_sign(text, node, place)
        case ast.Constant():
            yield from _of_constant(node, place)


def _of_operator(text: Text, node: ast.BinOp, place: _Place) -> Iterator[Change]:
    operands = (node.left, node.right)
    if any(isinstance(o, ast.JoinedStr) or isinstance(getattr(o, "value", None), str | bytes) for o in operands):
        return  # texts put together: another operator is an error in any run
    neutral = _NEUTRAL.get(type(node.op))
    if neutral is not None and any(isinstance(o, ast.Constant) and o.value == neutral for o in operands):
        return
    if type(node.op) in _ARITHMETIC:
        yield from _swapped(text, "arithmetic", _ARITHMETIC[type(node.op)], operands, place)


def _of_comparison(text: Text, node: ast.Compare, place: _Place) -> Iterator[Change]:
    operands = [node.left, *node.comparators]
    for operator, left, right in zip(node.ops, operands, operands[1:], strict=False):
        yield from _swapped(text, "comparison", _COMPARISONS[type(operator)], (left, right), place)
        if type(operator) in _BOUNDARIES and not place.guards:
            yield from _swapped(text, "boundary", _BOUNDARIES[type(operator)], (left, right), place)


def _swapped(
    text: Text, kind: Kind, signs: tuple[str, str], operands: tuple[ast.expr, ast.expr], place: _Place
) -> Iterator[Change]:
    """The operator between two operands by another one. Comments may stand there too, and parentheses."""
    left, right = operands
    span = (left.end_lineno or 0, left.end_col_offset or 0, right.lineno, right.col_offset)
    between = text.at(span)
    bare = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), between)
    found = re.search(re.escape(signs[0]).replace(r"\ ", r"[\s\\]+"), bare)
    if found:
        whole = between[: found.start()] + signs[1] + between[found.end() :]
        told = f"`{signs[1]}` for `{signs[0]}` between `{_shown(left)}` and `{_shown(right)}`"
        yield Change(kind, span, whole, told, place.loops)


def _without_sign(text: Text, node: ast.UnaryOp, place: _Place) -> Iterator[Change]:
    operand, sign = node.operand, "not" if isinstance(node.op, ast.Not) else "-"
    if isinstance(node.op, ast.Not | ast.USub) and not isinstance(operand, ast.Constant):
        span = (node.lineno, node.col_offset, operand.lineno, operand.col_offset)
        rest = text.at(span)[len(sign) :].lstrip()
        kind: Kind = "comparison" if sign == "not" else "arithmetic"
        yield Change(kind, span, rest, f"`{_shown(node)}` without its `{sign}`", place.loops)


def _of_constant(node: ast.Constant, place: _Place) -> Iterator[Change]:
    if isinstance(node.value, bool):
        changed = str(not node.value)
    elif isinstance(node.value, int | float):
        changed = repr(node.value + 1)
        if changed == repr(node.value) or changed in {"inf", "nan"}:
            return
    else:
        return
    told = f"`{changed}` for `{_shown(node)}`"
    yield Change("constant", _span(node), changed, told, place.loops)


def _left_out(text: Text, node: ast.stmt, place: _Place) -> Iterator[Change]:
    if _is_dispensable(node):
        lines = (node.end_lineno or node.lineno) - node.lineno
        told = f"without `{_shown(node)}`"
        if not (lines and ";" in text.at(_rest_of_line(node))):
            yield Change("deleted statement", _span(node), "pass" + "\n" * lines, told, place.loops)


def _is_dispensable(node: ast.stmt) -> bool:
    """Whether the code without it is still whole: what gives a name its value is needed by what follows."""
    match node:
        case ast.AugAssign() | ast.Continue() | ast.Break() | ast.Delete():
            return True
        case ast.Assign():
            return all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
        case ast.Expr(value=ast.Call(func=function) as call):
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            return name not in _WITHOUT_EFFECT and not _is_for_people(call)
    return False


def _rest_of_line(node: ast.stmt) -> Span:
    last, end = node.end_lineno or node.lineno, node.end_col_offset or 0
    return last, end, last, 1 << 20


def _span(node: ast.expr | ast.stmt) -> Span:
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 3]}..."


# What of a solution its tests exercise, by the names that they and it mention: a rough call graph, read and never
# run.

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Region(NamedTuple):
    """A function, as `main` or `Table.read`, or a statement of the module that gives a name its value."""

    name: str
    node: ast.stmt


def reachable_regions(module: ast.Module, tests: Iterable[str]) -> tuple[Region, ...]:
    """The functions and named values of the module that the tests lead to, in order. Raises SyntaxError.

    Where the tests mention none, those that `main` leads to.
    """
    regions = tuple(_regions(module.body))
    named = set().union(*(_mentioned(parse_module(source)) for source in tests))
    reached = _closure(regions, named)
    return reached or _closure(regions, {"main"})


def _closure(regions: tuple[Region, ...], names: set[str]) -> tuple[Region, ...]:
    """The regions that these names lead to, and those which these mention in turn."""
    found: set[Region] = set()
    while fresh := [region for region in regions if region not in found and _is_mentioned(region, names)]:
        found.update(fresh)
        names = names.union(*(_mentioned(region.node) for region in fresh))
    return tuple(region for region in regions if region in found)


def _is_mentioned(region: Region, names: set[str]) -> bool:
    owner, _, name = region.name.rpartition(".")
    is_special = name.startswith("__") and name.endswith("__")
    return (owner in names and (is_special or name in names)) if owner else name in names


def _regions(body: Iterable[ast.stmt], owner: str = "") -> Iterator[Region]:
    """Those of a module or a class. What stands under `if __name__` is no part of them, as no block of a module is."""
    for node in body:
        if isinstance(node, FunctionNode):
            yield Region(owner + node.name, node)
        elif isinstance(node, ast.ClassDef):
            yield from _regions(node.body, f"{owner}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not owner:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (Region(target.id, node) for target in targets[:1] if isinstance(target, ast.Name))


def _mentioned(tree: ast.AST) -> set[str]:
    """Every name, attribute and imported name in a tree."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found.update(alias.name for alias in node.names)
    return found


MOST_MUTANTS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A solution with one mistake. Every line but those of the mistake stands where it stood; `line` counts from 1."""

    kind: Kind
    function: str
    line: int
    description: str
    code: str

    @property
    def told(self) -> str:
        """The mutant in one line."""
        return f"line {self.line}, {self.function}: {self.description}"


def make_mutants(code: str, tests: Iterable[str] = (), *, most: int = MOST_MUTANTS) -> tuple[Mutant, ...]:
    """Mutants of what the tests exercise, in the order of their lines.

    Where there are more than `most`, they are spread over the functions and the kinds, and over each function's lines
    by a hash, so that the same code has the same mutants. Those that may never end come last. Raises SyntaxError.
    """
    source = code.encode()
    module = parse_module(code)
    found = [
        (region.name, change)
        for region in reachable_regions(module, tests)
        for change in _changes_in(source, region.node)
    ]
    chosen = _spread(list(dict.fromkeys(found)), most)
    mutants = [_mutant(source, function, change) for function, change in chosen]
    return tuple(sorted(mutants, key=lambda mutant: (mutant.line, mutant.description)))


def _changes_in(source: bytes, node: ast.AST) -> list[Change]:
    """All changes of a function; none of one that is nested too deeply to be walked, such as a sum of 1,000 terms."""
    try:
        return list(find_changes(source, node))
    except RecursionError:
        return []


def _spread(found: Sequence[tuple[str, Change]], most: int) -> list[tuple[str, Change]]:
    """As many, one of each kind in each function in turn."""
    groups: dict[tuple[bool, str, Kind], list[tuple[str, Change]]] = defaultdict(list)
    for function, change in found:
        groups[change.loops, function, change.kind].append((function, change))
    for group in groups.values():
        group.sort(key=_rank)
    turns = sorted(groups, key=lambda key: (key[0], _digest(key[1], key[2])))
    ending = _in_turn([groups[key] for key in turns if not key[0]])
    looping = _in_turn([groups[key] for key in turns if key[0]])
    return [*ending, *looping][:most]


def _in_turn(groups: Sequence[list[tuple[str, Change]]]) -> Iterator[tuple[str, Change]]:
    for number in range(max(map(len, groups), default=0)):
        yield from (group[number] for group in groups if number < len(group))


def _rank(entry: tuple[str, Change]) -> bytes:
    _, change = entry
    return _digest(change.span, change.text)


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
