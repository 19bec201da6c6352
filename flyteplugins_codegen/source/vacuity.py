"""Whether a pytest module asserts a value of every output of a script, read from its syntax tree.

Data flow is followed without order and without paths: a name depends on every output that anything assigned to it
depends on. A comparison, or a call that is not known to only read, counts as an assertion wherever it stands. So an
output is reported only where no assertion can depend on it, and what is not understood counts as asserted.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Final, TypeAlias

from flyteplugins_codegen.source.python import FunctionNode, bound_names, last_name, parse_module

_Source: TypeAlias = str | FunctionNode  # an output, or what a function is called with
_Key: TypeAlias = tuple[FunctionNode | None, str]  # a name of a function or the module; "": what it is called with
_ANY: Final = "/"  # no name of an output: it stands for all of them
_READING_CALLS: Final = frozenset(
    {"read_text", "read_bytes", "read", "open", "load", "read_csv", "read_json", "read_parquet", "read_excel"}
    | {"readlines", "readline", "iterdir", "glob", "rglob", "listdir", "scandir", "walk", "loadtxt", "genfromtxt"}
)
_LISTING_CALLS: Final = frozenset({"iterdir", "glob", "rglob", "listdir", "scandir", "walk"})
# Calls whose result tells nothing but that an output is there and can be read.
_PLAIN: Final = (
    "exists is_file is_dir isfile isdir stat getsize float int str bool len list dict tuple set frozenset sorted "
    "reversed isinstance type hasattr callable repr Path joinpath Decimal strip rstrip lstrip split splitlines lower "
    "upper decode encode replace partition removesuffix loads reader DictReader StringIO BytesIO next iter items keys "
    "values get fromisoformat print write write_text write_bytes writerow writerows to_csv to_dict tolist mkdir append "
    "enumerate zip round abs sum max min isfinite isdigit isnumeric isspace main close approx fixture parametrize join "
    "relative_to as_posix assertTrue assertIsNotNone assertIsInstance setitem setattr setenv chdir copy unlink "
    "DataFrame sort_values reset_index"
)
_PLAIN_CALLS: Final = _READING_CALLS | frozenset(_PLAIN.split())
_STRUCTURE: Final = frozenset({"columns", "dtypes", "dtype", "fieldnames", "st_size"})
_SIGNS: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def unasserted_outputs(sources: Iterable[str], outputs: Collection[str]) -> tuple[str, ...]:
    """The outputs of which certainly no test in these modules asserts a value. Raises SyntaxError.

    No value is asserted by `x is not None`, `len(x) > 0`, `x >= 0`, a type, a name of a column, or that a file exists.
    """
    asserted: set[str] = set()
    for source in sources:
        module = parse_module(source)
        try:
            asserted |= _DataFlow(module, outputs).asserted()
        except RecursionError:  # nested too deeply to be followed
            return ()
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
        for name in _solution_names(self._nodes):
            self._known[None, name].add(_ANY)
        for function in self._functions.values():
            for name in _parameters(function):
                self._known[self._key(name, function.body[0])].add(function)
        self._follow()

    def asserted(self) -> set[str]:
        """The outputs that some assertion may depend on."""
        found: set[_Source] = set()
        for node in self._nodes:
            if self._is_assertion(node):
                found |= self._taint(node)
        size = -1
        while size != (size := len(found)):
            for function in [source for source in found if not isinstance(source, str)]:
                found |= self._known[function, ""]
        return {source for source in found if isinstance(source, str)}

    def _key(self, name: str, node: ast.AST) -> _Key:
        """The name as it is known where the node stands: of the innermost function that has it, or of the module.

        `self` and `cls` are shared by all methods.
        """
        functions = [scope for scope in self._scopes[node] if name in self._locals[scope]]
        return (functions[-1] if functions and name not in {"self", "cls"} else None), name

    def _follow(self) -> None:
        """Repeat the flow through every assignment, call and return until nothing is added."""
        flows = [flow for node in self._nodes for flow in self._flows_of(node)]
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
        own: list[_Key] = [(None, node.name)]
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
        elif isinstance(node.func, ast.Attribute):  # rows.append(value)
            yield from ((self._roots(node.func.value), argument) for argument in arguments)

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
        if last_name(call) in _LISTING_CALLS:
            return {_ANY}
        if last_name(call) not in _READING_CALLS or last_name(call) == "read":
            return set()
        path = [call.func.value] if isinstance(call.func, ast.Attribute) else []
        parts = [part for node in (*path, *call.args[:1]) for part in ast.walk(node)]
        is_dynamic = any(isinstance(part, ast.JoinedStr) for part in parts)
        is_told = any(isinstance(part, ast.Name) and self._known[self._key(part.id, part)] for part in parts)
        return set() if is_told or (not is_dynamic and any(map(_is_file_name, parts))) else {_ANY}

    def _is_assertion(self, node: ast.AST) -> bool:
        match node:
            case ast.Compare():
                return not _is_weak(node)
            case ast.BinOp():
                return not isinstance(node.op, ast.Div | ast.Add)
            case ast.Match():
                return True
            case ast.Assert(test=ast.Subscript() | ast.UnaryOp(op=ast.Not())):
                return not _asks_whether_there(node.test)
            case ast.Call():
                return not ({last_name(node)} & (_PLAIN_CALLS | self._functions.keys() | self._classes))
        return False


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


def _is_weak(node: ast.Compare) -> bool:
    """Whether a comparison pins no value: with None, nothing or 0 by order, of a type, of columns."""
    operands = [node.left, *node.comparators]
    if any(_is_structure(operand) for operand in operands):
        return True
    if isinstance(node.ops[0], ast.NotEq | ast.IsNot) and any(_is_nothing(operand) for operand in operands):
        return True
    bounds = [operand.value for operand in operands if isinstance(operand, ast.Constant)]
    return all(isinstance(operator, _SIGNS) for operator in node.ops) and bool(bounds) and set(bounds) <= {0, 1}


def _is_structure(node: ast.expr) -> bool:
    """Whether an operand is a type, the columns of a table, or the names in a folder without what its files hold."""
    called = {last_name(part) for part in ast.walk(node) if isinstance(part, ast.Call)}
    if called & _LISTING_CALLS and not called & (_READING_CALLS - _LISTING_CALLS):
        return True
    return any(
        (isinstance(part, ast.Attribute) and part.attr in _STRUCTURE)
        or (isinstance(part, ast.Call) and last_name(part) == "type")
        for part in ast.walk(node)
    )


def _asks_whether_there(node: ast.expr) -> bool:
    """Whether a truth value is that of a file's existence; that of a part of an output is a value of it."""
    return isinstance(node, ast.UnaryOp) and last_name(node.operand) in {"exists", "is_file", "is_dir", "isfile"}


def _is_nothing(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return value is None or value in ("", b"", 0)
        case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]):
            return True
    return False
