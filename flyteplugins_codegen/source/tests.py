"""Which tests can fail by a check of their own, read from the syntax tree."""

from __future__ import annotations

import ast
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import Final, NamedTuple, TypeAlias

from flyteplugins_codegen.source.python import parse_python

_ASSERTING_CONTEXTS: Final = frozenset({"raises", "warns", "deprecated_call"})
_FAILING: Final = frozenset({"pytest.fail", "self.fail"})
_OF_ASSERTIONS: Final = frozenset({"AssertionError", "Exception", "BaseException"})
_SETTING_UP: Final = ("test", "setup", "teardown", "setUp", "tearDown")
_REFLEXIVE: Final = (ast.Eq, ast.Is, ast.LtE, ast.GtE)


def has_check(module: ast.Module) -> bool:
    """Whether any check in the module can fail, and fail a test.

    None is an `assert` that is true whatever the code does (`assert True`, `assert x == x`, `assert (x, "text")`), one
    whose failure is caught on the spot, one that stands where nothing comes to, or in a function that nothing names.
    """
    mentioned = Counter(_mentions(module))
    try:
        return any(True for _ in _checks(module.body, mentioned))
    except RecursionError:  # nested too deeply to be looked at closely, such as hundreds of `elif`
        return any(isinstance(node, ast.Assert) for node in ast.walk(module))


def last_name(node: ast.expr) -> str:
    """`parametrize` of `pytest.mark.parametrize(...)`."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _mentions(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):  # a fixture
            yield node.arg


def _checks(body: Iterable[ast.stmt], mentioned: Counter[str]) -> Iterator[ast.AST]:
    """The checks of a block, up to where it is left for certain."""
    for node in body:
        yield from _checks_of(node, mentioned)
        if isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
            return


def _checks_of(node: ast.stmt, mentioned: Counter[str]) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assert):
        if not _is_idle(node.test):
            yield node
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_run(node, mentioned):
        return
    for field, block in _statement_blocks(node):
        if not _is_unreached(node, field) and not _is_forgiven(node, field):
            yield from _checks(block, mentioned)
    yield from (call for call in _calls(node) if _can_fail(call))


def _is_run(node: ast.FunctionDef | ast.AsyncFunctionDef, mentioned: Counter[str]) -> bool:
    return node.name.startswith(_SETTING_UP) or mentioned[node.name] > 0 or bool(node.decorator_list)


def _statement_blocks(node: ast.stmt) -> Iterator[tuple[str, list[ast.stmt]]]:
    for field in ("body", "orelse", "finalbody"):
        yield field, getattr(node, field, [])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield "handlers", part.body


def _is_unreached(node: ast.stmt, field: str) -> bool:
    """Whether a condition that is a constant keeps a block from running."""
    if field == "body" and isinstance(node, ast.If | ast.While):
        return isinstance(node.test, ast.Constant) and not node.test.value
    return (
        field == "orelse"
        and isinstance(node, ast.If)
        and isinstance(node.test, ast.Constant)
        and node.test.value is True
    )


def _is_forgiven(node: ast.stmt, field: str) -> bool:
    """Whether what fails in a block is caught by the statement that it belongs to, and fails nothing."""
    if field != "body":
        return False
    if isinstance(node, ast.Try):
        return any(_catches(handler.type) and not _goes_on(handler.body) for handler in node.handlers)
    if isinstance(node, ast.With | ast.AsyncWith):
        managers = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        return any(last_name(call) == "suppress" and any(map(_catches, call.args)) for call in managers)
    return False


def _catches(kind: ast.expr | None) -> bool:
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(each is None or last_name(each) in _OF_ASSERTIONS for each in kinds)


def _goes_on(handler: Iterable[ast.stmt]) -> bool:
    """Whether a handler raises or fails in turn."""
    nodes = [node for statement in handler for node in ast.walk(statement)]
    return any(
        isinstance(node, ast.Raise | ast.Assert) or (isinstance(node, ast.Call) and _can_fail(node)) for node in nodes
    )


def _calls(node: ast.stmt) -> Iterator[ast.Call]:
    """The calls of a statement outside of its blocks."""
    pending: list[ast.AST] = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
    while pending:
        each = pending.pop()
        if isinstance(each, ast.Call):
            yield each
        if not isinstance(each, ast.ExceptHandler):
            pending += [child for child in ast.iter_child_nodes(each) if not isinstance(child, ast.stmt)]


def _can_fail(call: ast.Call) -> bool:
    name = last_name(call)
    if name.startswith("assert"):
        same = len(call.args) > 1 and ast.dump(call.args[0]) == ast.dump(call.args[1])
        return not same and not (call.args and all(_is_constant(argument) for argument in call.args))
    is_failing = isinstance(call.func, ast.Attribute) and ast.unparse(call.func) in _FAILING
    return name in _ASSERTING_CONTEXTS or is_failing


def _is_idle(test: ast.expr) -> bool:
    """Whether an asserted expression is true whatever the code does."""
    match test:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if isinstance(operator, _REFLEXIVE):
            return ast.dump(left) == ast.dump(right) or (_is_constant(left) and _is_constant(right))
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_is_idle, values))
        case ast.BoolOp(values=values):
            return all(map(_is_idle, values))
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return bool(items)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return not value
    return isinstance(test, ast.Constant) and bool(test.value)


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


# The tests that a pytest module declares, read from its syntax tree and never by running it.

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Sizes: TypeAlias = Mapping[str, int]

_MAX_CASES = 10_000


def declared_tests(source: str) -> tuple[str, ...]:
    """The names of the tests, as `test_a`, `TestB::test_c` or, case by case, `test_d[0]`, `test_d[1]`.

    The number in brackets is the position of a case, not pytest's id for it. Raises SyntaxError for text that is not
    Python.
    """
    module = parse_module(source)
    sizes = _literal_sizes(module.body)
    found: dict[str, int] = {}
    for name, decorators in _tests_in(module.body, _module_marks(module.body)):
        found[name] = min(prod(_cases(decorator, sizes) for decorator in decorators), _MAX_CASES)
    return tuple(case for name, count in found.items() for case in _numbered(name, count))


def asserts_something(source: str) -> bool:
    """Whether any test can fail by a check of its own: an `assert`, `pytest.raises` or a method of unittest.

    What is true whatever the code does checks nothing (`asserting.py`); `assert False` stands where a test must not
    come to, as `pytest.fail` does. Raises SyntaxError for text that is not Python.
    """
    return has_check(parse_module(source))


def parse_module(source: str) -> ast.Module:
    """The syntax tree; every way in which text fails to be Python is a SyntaxError."""
    try:
        return parse_python(source)
    except SyntaxError:
        raise
    except (ValueError, MemoryError, RecursionError) as error:
        raise SyntaxError(f"the text cannot be read as Python: {str(error) or 'it is nested too deeply'}") from None


def _tests_in(body: Iterable[ast.stmt], marks: list[ast.expr]) -> Iterator[tuple[str, list[ast.expr]]]:
    for node in _flattened(body):
        if isinstance(node, _Function) and node.name.startswith("test") and not _is_fixture(node):
            yield node.name, [*marks, *node.decorator_list]
        elif isinstance(node, ast.ClassDef) and _is_test_class(node):
            inherited = [*marks, *node.decorator_list, *_module_marks(node.body)]
            for name, decorators in _tests_in(node.body, inherited):
                yield f"{node.name}::{name}", decorators


def _flattened(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the module is imported, those in its `if`, `try` and `with` blocks included."""
    for node in body:
        if isinstance(node, ast.If):
            if not _is_main_guard(node.test):
                yield from _flattened(node.body)
            yield from _flattened(node.orelse)
        elif isinstance(node, ast.Try):
            handlers = [statement for handler in node.handlers for statement in handler.body]
            yield from _flattened([*node.body, *handlers, *node.orelse, *node.finalbody])
        elif isinstance(node, ast.With):
            yield from _flattened(node.body)
        else:
            yield node


def _is_main_guard(test: ast.expr) -> bool:
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    return bool(names & {"__name__", "TYPE_CHECKING"})


def _is_fixture(node: _Function) -> bool:
    return any(last_name(decorator) == "fixture" for decorator in node.decorator_list)


def _is_test_class(node: ast.ClassDef) -> bool:
    if _sets_to_false(node.body, "__test__"):
        return False
    if any(last_name(base).endswith("TestCase") for base in node.bases):
        return True
    constructs = any(isinstance(item, _Function) and item.name in {"__init__", "__new__"} for item in node.body)
    return node.name.startswith("Test") and not constructs


def _sets_to_false(body: Iterable[ast.stmt], name: str) -> bool:
    return any(isinstance(value, ast.Constant) and value.value is False for value in _assigned(body, name))


def _module_marks(body: Iterable[ast.stmt]) -> list[ast.expr]:
    """What a module or a class applies to all its tests by `pytestmark = ...`."""
    marks = _assigned(body, "pytestmark")
    return [mark for value in marks for mark in (value.elts if isinstance(value, ast.List | ast.Tuple) else [value])]


def _assigned(body: Iterable[ast.stmt], name: str) -> list[ast.expr]:
    return [value for target, value in _assignments(body) if target == name]


def _assignments(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in body:
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value


def _literal_sizes(body: Iterable[ast.stmt]) -> dict[str, int]:
    """How many items the module's literal lists have, by name; a name that is assigned twice is not known."""
    assigned = list(_assignments(body))
    names = [name for name, _ in assigned]
    sizes = {name: _literal_size(value) for name, value in assigned if names.count(name) == 1}
    return {name: size for name, size in sizes.items() if size is not None}


def _literal_size(value: ast.expr) -> int | None:
    if isinstance(value, ast.List | ast.Tuple | ast.Set) and not any(isinstance(e, ast.Starred) for e in value.elts):
        return len(value.elts)
    return None


def _cases(decorator: ast.expr, sizes: _Sizes) -> int:
    """How many cases this decorator makes of one test: 1 for anything but a parametrisation that can be read."""
    if not isinstance(decorator, ast.Call) or last_name(decorator) != "parametrize":
        return 1
    named = [keyword.value for keyword in decorator.keywords if keyword.arg == "argvalues"]
    values = [*decorator.args[1:2], *named]
    if not values:
        return 1
    size = sizes.get(values[0].id) if isinstance(values[0], ast.Name) else _literal_size(values[0])
    return max(size or 1, 1)  # an empty list still makes one test, which pytest skips


def _numbered(name: str, count: int) -> Iterator[str]:
    return (f"{name}[{index}]" for index in range(count)) if count > 1 else iter((name,))


# Single test functions of a pytest module: found by the syntax tree, shown or taken out, all else left as it is.

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class DeclaredFunction(NamedTuple):
    """One test function: its name as `TestA::test_b`, its node, and the block of statements that it stands in."""

    name: str
    node: FunctionNode
    block: list[ast.stmt]


def find_test_functions(source: str) -> tuple[DeclaredFunction, ...]:
    """All test functions in order, those within classes and blocks included. Raises SyntaxError."""
    return tuple(_functions(parse_module(source), ""))


def function_of(test: str) -> str:
    """The name of the function that a test is a case of: `TestA::test_b` of `TestA::test_b[1-x]`."""
    return test.partition("[")[0]


def source_of(source: str, function: DeclaredFunction) -> str:
    """The function's lines, decorators included, as they stand in the source."""
    lines = _lines(source)
    return "".join(lines[_first_line(function.node) - 1 : function.node.end_lineno])


def without_tests(source: str, names: Iterable[str]) -> str:
    """The source without the test functions of these names; every other line stays as it is.

    A block that would be left empty gets a `pass`. A name that is not there changes nothing. Raises SyntaxError.
    """
    gone = set(names)
    functions = [function for function in find_test_functions(source) if function.name in gone]
    lines = _lines(source)
    for function in reversed(functions):  # from the end, so that the numbers of the lines before it stay right
        first, last = _first_line(function.node) - 1, function.node.end_lineno or function.node.lineno
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        while last < len(lines) and not lines[last].strip():
            last += 1
        lines[first:last] = [f"{indent}pass\n"] if _is_emptied(function, functions) else []
    return "".join(lines)


def _is_emptied(function: DeclaredFunction, gone: list[DeclaredFunction]) -> bool:
    """Whether nothing stays in an indented block, asked of the first function in it: that one makes room for a pass."""
    nodes = [each.node for each in gone]
    return (
        function.node.col_offset > 0
        and function.block[0] is function.node
        and all(any(statement is node for node in nodes) for statement in function.block)
    )


def _functions(parent: ast.AST, prefix: str) -> Iterator[DeclaredFunction]:
    for block in _blocks(parent):
        for node in block:
            if isinstance(node, FunctionNode):
                if node.name.startswith("test"):
                    yield DeclaredFunction(prefix + node.name, node, block)
            elif isinstance(node, ast.ClassDef):
                yield from _functions(node, f"{prefix}{node.name}::")
            else:
                yield from _functions(node, prefix)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements of a node, those of its handlers included."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(node, "handlers", ()):
        yield from _blocks(handler)


def _first_line(node: FunctionNode) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _lines(source: str) -> list[str]:
    """The lines as the parser counts them, each with its own end; `str.splitlines` knows more kinds of ends."""
    return list(io.StringIO(source, newline=""))


# How a test calls the script, as far as its text shows: options, their values, files written before, outputs read.

_OUTPUT: Final = re.compile(r"/var/outputs/([A-Za-z0-9_.\-]+)")
_OPTION: Final = re.compile(r"--([A-Za-z_]\w*)(?:=(.*))?\Z", re.DOTALL)
_WRITING: Final = frozenset({"write", "write_text", "write_bytes"})


class ScriptCall(NamedTuple):
    """What a test does with the script. None stands for a text that only running the test would tell.

    `is_single`: the test calls `main` once, with a list that it spells out. `values` are the texts of its `options`,
    `contents` what it writes to files, `outputs` the names below /var/outputs that it speaks of.
    """

    is_single: bool
    options: frozenset[str]
    values: dict[str, str | None]
    contents: frozenset[str | None]
    outputs: frozenset[str]


def read_call(function: FunctionNode) -> ScriptCall:
    """What the text of one test function shows."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    lists = [call.args[0] for call in calls if _name(call) == "main" and call.args]
    spelt = [argument for argument in lists if isinstance(argument, ast.List)]
    values = dict(_values([_text(element) for element in spelt[0].elts])) if spelt else {}
    constants = [node.value for node in ast.walk(function) if isinstance(node, ast.Constant)]
    return ScriptCall(
        is_single=len(lists) == len(spelt) == 1 and sum(_name(call) == "main" for call in calls) == 1,
        options=frozenset(values),
        values=values,
        contents=frozenset(_text(call.args[0]) for call in calls if _name(call) in _WRITING and call.args),
        outputs=frozenset(name for text in constants if isinstance(text, str) for name in _OUTPUT.findall(text)),
    )


def _values(parts: list[str | None]) -> Iterator[tuple[str, str | None]]:
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        option = _OPTION.match(part or "")
        if option is not None:
            yield option[1], following if option[2] is None else option[2]


def _text(node: ast.expr) -> str | None:
    """The text of a literal, or of `str()` of one."""
    if isinstance(node, ast.Call) and _name(node) == "str" and len(node.args) == 1:
        inner = node.args[0]
        return str(inner.value) if isinstance(inner, ast.Constant) else None
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
