"""Whether a pytest module asserts a value of every output of a script, read from its syntax tree.

Data flow is followed without order and without paths: a name depends on every output that anything assigned to it
depends on. A comparison, or a call that is not known to only read, counts as an assertion wherever it stands, unless it
certainly pins no value (see `assertions`). So an output is reported only where no assertion can depend on it, and what
is not understood counts as asserted.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from flyteplugins_codegen.source.assertions import (
    LISTING_CALLS,
    PLAIN_CALLS,
    READING_CALLS,
    asks_whether_there,
    idle_nodes,
    is_detail,
    is_weak_call,
    is_weak_comparison,
    negated_null_tests,
)
from flyteplugins_codegen.source.column_names import (
    WRAPPERS,
    WRAPPING_METHODS,
    ColumnNames,
    columns_of,
    header_columns,
    names_columns,
)
from flyteplugins_codegen.source.python import FunctionNode, bound_names, last_name, parse_module

_Source: TypeAlias = str | FunctionNode  # an output, or what a function is called with
_Key: TypeAlias = tuple[FunctionNode | None, str]  # a name of a function or the module; "": what it is called with
_Link: TypeAlias = tuple[frozenset[str], frozenset[str]]  # outputs that are compared with each other
_ANY: Final = "/"  # no name of an output: it stands for all of them
_BUILTINS: Final = frozenset(vars(builtins))
_TYPED_READERS: Final = frozenset({"json", "pandas", "polars", "pickle", "yaml", "pyarrow", "numpy", "duckdb"})
_MOST_STEPS: Final = 8
_MOST_VISITS: Final = 100_000  # of nodes, to compare what operands are computed from


def unasserted_outputs(sources: Iterable[str], outputs: Collection[str], solution: str = "") -> tuple[str, ...]:
    """The outputs of which certainly no test in these modules asserts a value. Raises SyntaxError.

    No value is asserted by `x is not None`, `len(x) > 0`, `x >= 0`, a type, a name of a column, or that a file exists.
    Names of columns are taken from the `solution`, if it is Python. An output that is only compared with other outputs
    is asserted if they are.
    """
    columns = columns_of(solution) | frozenset(outputs)
    asserted: set[str] = set()
    links: list[_Link] = []
    for source in sources:
        module = parse_module(source)
        try:
            flow = _DataFlow(module, outputs)
            names = ColumnNames(columns, columns | header_columns(module))
            asserted |= flow.asserted(names)
            links += flow.links()
        except RecursionError:  # nested too deeply to be followed
            return ()
    size = -1
    while size != (size := len(asserted)):
        for one, other in links:
            asserted |= (other if one <= asserted else set()) | (one if other <= asserted else set())
    return () if _ANY in asserted else tuple(name for name in outputs if name not in asserted)


class _DataFlow:
    """Which outputs the names, functions and expressions of a module depend on.

    A set of them may hold a function itself: it stands for whatever the function is called with, so that a helper that
    reads the output that it is told has not read all of them.
    """

    def __init__(self, module: ast.Module, outputs: Collection[str]) -> None:
        self._patterns = {name: re.compile(rf"(^|.*/){re.escape(name)}([./].*)?\Z", re.DOTALL) for name in outputs}
        self._nodes = list(ast.walk(module))
        self._functions = {node.name: node for node in self._nodes if isinstance(node, FunctionNode)}
        self._classes = {node.name for node in self._nodes if isinstance(node, ast.ClassDef)}
        self._scopes = dict(_scopes(module, ()))
        self._locals = {node: _local_names(node) for node in self._nodes if isinstance(node, FunctionNode)}
        self._known: dict[_Key, set[_Source]] = defaultdict(set)
        self._values: dict[_Key, list[ast.AST]] = defaultdict(list)
        for name in _solution_names(self._nodes):
            self._known[None, name].add(_ANY)
        for function in self._functions.values():
            for name in _parameters(function):
                self._known[self._key(name, function.body[0])].add(function)
        self._imported = {
            name
            for node in self._nodes
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in bound_names([node])
        }
        self._plainly_assigned = set(self._plain_targets())
        self._idle = idle_nodes(module) | set(negated_null_tests(self._nodes))
        self._visits = 0
        self._follow()

    def _plain_targets(self) -> Iterator[_Key]:
        for node in self._nodes:
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name) as target])
                    | ast.NamedExpr(target=ast.Name(id=name) as target)
                ):
                    yield self._key(name, target)

    def asserted(self, columns: ColumnNames) -> set[str]:
        """The outputs that some assertion may depend on."""
        idle = self._idle | {
            part
            for node in self._nodes
            if isinstance(node, ast.Compare) and self._is_weak(node, columns)
            for part in ast.walk(node)
            if isinstance(part, ast.Compare | ast.BinOp)
        }
        found: set[_Source] = set()
        for node in self._nodes:
            if node not in idle and self._is_assertion(node, columns):
                found |= self._taint(node)
        size = -1
        while size != (size := len(found)):
            for function in [source for source in found if not isinstance(source, str)]:
                found |= self._known[function, ""]
        return {source for source in found if isinstance(source, str)}

    def links(self) -> Iterator[_Link]:
        """The outputs that are compared with nothing but each other."""
        for node in self._nodes:
            sides = self._sides(node) if isinstance(node, ast.Compare) and node not in self._idle else []
            for one, other in pairwise(sides):
                if one and other and one != other:
                    yield one, other

    def _key(self, name: str, node: ast.AST) -> _Key:
        """The name as it is known where the node stands: of the innermost function that has it, or of the module.

        `self` and `cls` are shared by all methods.
        """
        functions = [scope for scope in self._scopes[node] if name in self._locals[scope]]
        return (functions[-1] if functions and name not in {"self", "cls"} else None), name

    def _follow(self) -> None:
        """Repeat the flow through every assignment, call and return until nothing is added."""
        flows = [flow for node in self._nodes for flow in self._flows_of(node)]
        for keys, value in flows:
            for key in keys:
                self._values[key].append(value)
        size = -1
        while size != (size := sum(map(len, self._known.values()))):
            for keys, value in flows:
                taint = self._taint(value)
                for key in keys:
                    self._known[key] |= taint - {key[0]} if key[1] == "" else taint

    def _flows_of(self, node: ast.AST) -> Iterator[tuple[list[_Key], ast.AST]]:
        match node:
            case ast.Assign(targets=targets, value=value):
                yield from ((self._roots(target), value) for target in targets)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.AugAssign(target=target, value=value):
                yield self._roots(target), value
            case ast.NamedExpr(target=target, value=value):
                yield self._roots(target), value
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                yield self._roots(target), value
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                yield self._roots(target), value
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._flows_of_function(node)
            case ast.Call():
                yield from self._flows_of_call(node)

    def _flows_of_function(self, node: FunctionNode) -> Iterator[tuple[list[_Key], ast.AST]]:
        """A function's name stands for all that it mentions; its parameters get fixtures and what decorators give."""
        own: list[_Key] = list({(None, node.name), self._key(node.name, node)})
        given: list[_Key] = [(node, "")]
        yield from ((own, statement) for statement in node.body)
        yield from ((given, decorator) for decorator in node.decorator_list)
        fixtures = [self._functions[name] for name in _parameters(node) if name in self._functions]
        yield from ((given, statement) for fixture in fixtures for statement in fixture.body)

    def _flows_of_call(self, node: ast.Call) -> Iterator[tuple[list[_Key], ast.AST]]:
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        function = self._functions.get(last_name(node))
        if function is not None:
            given: list[_Key] = [(function, "")]
            yield from ((given, argument) for argument in arguments)
            yield from ((self._roots(argument), node) for argument in arguments)  # a list that it fills
        elif isinstance(node.func, ast.Attribute):  # rows.append(value), but not json.loads(value)
            roots = [root for root in self._roots(node.func.value) if root[1] not in self._imported]
            yield from ((roots, argument) for argument in arguments)

    def _roots(self, target: ast.AST) -> list[_Key]:
        """The names in a target: `a` and `b` of `a, b.c[d]`; those in an index are counted too."""
        return [self._key(node.id, node) for node in ast.walk(target) if isinstance(node, ast.Name)]

    def _taint(self, node: ast.AST) -> set[_Source]:
        """The outputs that an expression or statement may depend on."""
        found: set[_Source] = set()
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                found |= self._known[self._key(part.id, part)] - {self._functions.get(part.id)}
            elif isinstance(part, ast.Attribute) and part.attr in self._functions:
                found |= self._known[None, part.attr] - {self._functions[part.attr]}
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                found |= {name for name, pattern in self._patterns.items() if pattern.match(part.value)}
            elif isinstance(part, ast.Call):
                found |= self._taint_of_reading(part)
        return found

    def _taint_of_reading(self, call: ast.Call) -> set[_Source]:
        """All outputs for reading a folder, or a file whose name is not seen here."""
        if last_name(call) in LISTING_CALLS:
            return {_ANY}
        if last_name(call) not in READING_CALLS or last_name(call) == "read":
            return set()
        path = [call.func.value] if isinstance(call.func, ast.Attribute) else []
        parts = [part for node in (*path, *call.args[:1]) for part in ast.walk(node)]
        is_dynamic = any(isinstance(part, ast.JoinedStr) for part in parts)
        is_told = any(isinstance(part, ast.Name) and self._known[self._key(part.id, part)] for part in parts)
        return set() if is_told or (not is_dynamic and any(map(_is_file_name, parts))) else {_ANY}

    def _is_assertion(self, node: ast.AST, columns: ColumnNames) -> bool:
        match node:
            case ast.Compare():
                return not (self._is_weak(node, columns) or self._compares_outputs(node))
            case ast.BinOp():
                return not isinstance(node.op, ast.Div | ast.Add)
            case ast.Assert(test=ast.Subscript()):
                return bool(self._imported & _TYPED_READERS)  # in text, every cell that is not empty is true
            case ast.Assert(test=ast.UnaryOp(op=ast.Not()) as test):
                return not asks_whether_there(test)
            case ast.Call():
                called = [last_name(node)]
                called += [last_name(argument) for argument in node.args[:1]] if called[0] in {"map", "filter"} else []
                is_known = set(called) <= PLAIN_CALLS | self._functions.keys() | self._classes | {""}
                return not (is_known or is_weak_call(node, columns))
        return isinstance(node, ast.Match)

    def _is_weak(self, node: ast.Compare, columns: ColumnNames) -> bool:
        """Whether a comparison pins no value, as it stands or with what its names stand for."""
        left, *others = [self._resolved(operand) for operand in (node.left, *node.comparators)]
        resolved = ast.Compare(left=left, ops=node.ops, comparators=others)
        looks_for_columns = isinstance(node.ops[0], ast.In) and self._loops_over_columns(node.left, columns)
        return looks_for_columns or is_weak_comparison(node, columns) or is_weak_comparison(resolved, columns)

    def _loops_over_columns(self, node: ast.expr, columns: ColumnNames) -> bool:
        """Whether a name stands for names of columns, as in `all(name in row for name in ("a", "b"))`."""
        values = self._values[self._key(node.id, node)] if isinstance(node, ast.Name) else []
        return bool(values) and all(
            isinstance(value, ast.expr) and names_columns(self._resolved(value), columns.keys) for value in values
        )

    def _resolved(self, node: ast.expr, steps: int = 0) -> ast.expr:
        """An expression in which names, in wrappers such as `list` too, stand for the only value assigned to them."""
        match node:
            case ast.Name():
                value = self._only_value(node)
                return self._resolved(value, steps + 1) if value is not None and steps < _MOST_STEPS else node
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=arguments) if name in WRAPPING_METHODS:
                inner = ast.Attribute(value=self._resolved(value, steps), attr=name, ctx=ast.Load())
                return ast.Call(func=inner, args=arguments, keywords=[])
            case ast.Call(func=ast.Name(id=name) as function, args=[argument]) if name in WRAPPERS:
                return ast.Call(func=function, args=[self._resolved(argument, steps)], keywords=[])
            case ast.Subscript(value=value, slice=index):
                return ast.Subscript(value=self._resolved(value, steps), slice=index, ctx=ast.Load())
        return node

    def _only_value(self, node: ast.Name) -> ast.expr | None:
        key = self._key(node.id, node)
        values = self._values[key] if key in self._plainly_assigned else []
        value = values[0] if len(values) == 1 else None
        return value if isinstance(value, ast.expr) else None

    # --- outputs that are compared with outputs ---

    def _compares_outputs(self, node: ast.Compare) -> bool:
        """Whether an output is compared with itself, or outputs with nothing but each other."""
        operands = [node.left, *node.comparators]
        if len({self._spelled(operand) for operand in operands}) == 1:
            return True
        return all(self._sides(node))

    def _sides(self, node: ast.Compare) -> list[frozenset[str]]:
        """The outputs that each operand is computed from, without anything else; none for an operand with more."""
        return [self._computed_from(operand) for operand in (node.left, *node.comparators)]

    def _computed_from(self, node: ast.expr) -> frozenset[str]:
        taint = self._taint(node)
        names = frozenset(source for source in taint if isinstance(source, str))
        if len(names) < len(taint) or _ANY in names or not self._is_pure(node, ()):
            return frozenset()
        return names

    def _is_pure(self, node: ast.AST, above: tuple[_Key, ...]) -> bool:
        """Whether an expression takes nothing but outputs: no expected value, no input, no argument of a test."""
        parts: Sequence[ast.AST]
        self._visits += 1
        match node:
            case ast.Name():
                return self._is_pure_name(node, above)
            case ast.Constant(value=value):
                return isinstance(value, str) and self._is_path(value)
            case ast.Subscript(value=value):
                parts = [value]
            case ast.Call(func=function, args=arguments, keywords=keywords):
                given = [*arguments, *(keyword.value for keyword in keywords)]
                with_numbers = last_name(node) == "round"
                parts = [function, *(part for part in given if not is_detail(part, with_numbers=with_numbers))]
            case _:
                parts = [p for p in ast.iter_child_nodes(node) if isinstance(p, ast.expr | ast.comprehension)]
        is_opaque = isinstance(node, ast.Lambda | ast.Dict | ast.JoinedStr) or self._visits > _MOST_VISITS
        return not is_opaque and all(self._is_pure(part, above) for part in parts)

    def _is_pure_name(self, node: ast.Name, above: tuple[_Key, ...]) -> bool:
        key = self._key(node.id, node)
        values = self._values[key]
        is_argument = key[0] is not None and (key[0], "") in above and node.id in _parameters(key[0])
        if key in above or is_argument or node.id in self._imported or (node.id in _BUILTINS and not values):
            return True
        function = self._functions.get(node.id) if key[0] is None else None
        if function is not None:
            values = [part.value for part in ast.walk(function) if isinstance(part, ast.Return) and part.value]
            above = (*above, (function, ""))
        is_followed = bool(values) and node.id not in {"self", "cls"} and len(above) < _MOST_STEPS
        return is_followed and all(self._is_pure(value, (*above, key)) for value in values)

    def _is_path(self, text: str) -> bool:
        is_output = any(pattern.match(text) for pattern in self._patterns.values())
        return is_output or text.strip("/") in {"", "var", "outputs", "var/outputs"}

    def _spelled(self, node: object, above: tuple[_Key, ...] = ()) -> str:
        """An expression as text in which names stand for the only value that is assigned to them."""
        if isinstance(node, list):
            return ",".join(self._spelled(part, above) for part in node)
        if not isinstance(node, ast.AST):
            return repr(node)
        self._visits += 1
        if isinstance(node, ast.Name):
            key, value = self._key(node.id, node), self._only_value(node)
            is_followed = key not in above and len(above) < _MOST_STEPS and self._visits < _MOST_VISITS
            if value is not None and is_followed:
                return self._spelled(value, (*above, key))
            return node.id
        fields = (self._spelled(value, above) for name, value in ast.iter_fields(node) if name != "ctx")
        return f"{type(node).__name__}({';'.join(fields)})"


def _solution_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names of what is taken from the solution other than `main`, whose results may stand for any output."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "solution":
            yield from (alias.asname or alias.name for alias in node.names if _computes(alias.name))
        elif isinstance(node, ast.Attribute) and last_name(node.value) == "solution" and _computes(node.attr):
            yield "solution"


def _is_file_name(node: ast.AST) -> bool:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_text and not str(getattr(node, "value", "")).rstrip("/").endswith("outputs")


def _computes(name: str) -> bool:
    return name != "main" and not name.isupper()  # `OUTPUTS` is a folder


def _parameters(node: FunctionNode) -> list[str]:
    arguments = node.args
    several = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *several)]


def _scopes(node: ast.AST, above: tuple[FunctionNode, ...]) -> Iterator[tuple[ast.AST, tuple[FunctionNode, ...]]]:
    """Every node with the functions that it stands in, from the outside in; a function's own name is outside it."""
    yield node, above
    for field, value in ast.iter_fields(node):
        is_inside = isinstance(node, FunctionNode) and field in {"body", "args"}
        inner = (*above, node) if is_inside and isinstance(node, FunctionNode) else above
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _scopes(child, inner)


def _local_names(function: FunctionNode) -> set[str]:
    """The names that a function binds itself, without those that it declares as global or nonlocal."""
    shared = {name for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    return {*_parameters(function), *bound_names(function.body)} - shared
