"""What a pytest module holds, read from its syntax tree and never by running it.

The tests that it declares, whether any of them can fail, single test functions, and how a test calls the script.
"""

from __future__ import annotations

import ast
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, zip_longest
from math import prod
from typing import Final, NamedTuple

from flyteplugins_codegen.source.python import FunctionNode, first_line, last_name, parse_module

_ASSERTING_CONTEXTS: Final = frozenset({"raises", "warns", "deprecated_call"})
_FAILING: Final = frozenset({"pytest.fail", "self.fail"})
_CATCHING_ASSERTIONS: Final = frozenset({"AssertionError", "Exception", "BaseException"})
_COLLECTED_PREFIXES: Final = ("test", "setup", "teardown", "setUp", "tearDown")
_REFLEXIVE_OPERATORS: Final = (ast.Eq, ast.Is, ast.LtE, ast.GtE)
_MAX_CASES: Final = 10_000
_OUTPUT: Final = re.compile(r"/var/outputs/([A-Za-z0-9_.\-]+)")
_OPTION: Final = re.compile(r"--([A-Za-z_]\w*)(?:=(.*))?\Z", re.DOTALL)
_WRITING: Final = frozenset({"write", "write_text", "write_bytes"})


# --- the tests that a module declares ---------------------------------------------------------------------------------


def declared_tests(source: str) -> tuple[str, ...]:
    """The names of the tests, as `test_a`, `TestB::test_c` or, for parametrised tests, `test_d[0]`, `test_d[1]`.

    The number in brackets is the position of a case, not pytest's id for it. Raises SyntaxError.
    """
    module = parse_module(source)
    sizes = _literal_sizes(module.body)
    counts: dict[str, int] = {}
    for name, decorators in _tests_in(module.body, _module_marks(module.body)):
        counts[name] = min(prod(_cases(decorator, sizes) for decorator in decorators), _MAX_CASES)
    numbered = ([f"{name}[{index}]" for index in range(n)] if n > 1 else [name] for name, n in counts.items())
    return tuple(chain.from_iterable(numbered))


def _tests_in(body: Iterable[ast.stmt], marks: list[ast.expr]) -> Iterator[tuple[str, list[ast.expr]]]:
    for node in _flattened(body):
        if isinstance(node, FunctionNode) and node.name.startswith("test") and not _is_fixture(node):
            yield node.name, [*marks, *node.decorator_list]
        elif isinstance(node, ast.ClassDef) and _is_test_class(node):
            inherited = [*marks, *node.decorator_list, *_module_marks(node.body)]
            for name, decorators in _tests_in(node.body, inherited):
                yield f"{node.name}::{name}", decorators


def _flattened(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run on import, including those in `if`, `try` and `with` blocks."""
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


def _is_fixture(node: FunctionNode) -> bool:
    return any(last_name(decorator) == "fixture" for decorator in node.decorator_list)


def _is_test_class(node: ast.ClassDef) -> bool:
    if any(isinstance(value, ast.Constant) and value.value is False for value in _assigned(node.body, "__test__")):
        return False
    if any(last_name(base).endswith("TestCase") for base in node.bases):
        return True
    constructs = any(isinstance(item, FunctionNode) and item.name in {"__init__", "__new__"} for item in node.body)
    return node.name.startswith("Test") and not constructs


def _module_marks(body: Iterable[ast.stmt]) -> list[ast.expr]:
    """The marks that a module or a class applies to all its tests by `pytestmark = ...`."""
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
    """The lengths of the module's literal lists by name; names that are assigned twice are left out."""
    assigned = list(_assignments(body))
    names = [name for name, _ in assigned]
    sizes = {name: _literal_size(value) for name, value in assigned if names.count(name) == 1}
    return {name: size for name, size in sizes.items() if size is not None}


def _literal_size(value: ast.expr) -> int | None:
    if isinstance(value, ast.List | ast.Tuple | ast.Set) and not any(isinstance(e, ast.Starred) for e in value.elts):
        return len(value.elts)
    return None


def _cases(decorator: ast.expr, sizes: Mapping[str, int]) -> int:
    """How many cases this decorator makes of a test: 1 unless it is `parametrize` with values that can be counted."""
    if not isinstance(decorator, ast.Call) or last_name(decorator) != "parametrize":
        return 1
    named = [keyword.value for keyword in decorator.keywords if keyword.arg == "argvalues"]
    values = [*decorator.args[1:2], *named]
    if not values:
        return 1
    size = sizes.get(values[0].id) if isinstance(values[0], ast.Name) else _literal_size(values[0])
    return max(size or 1, 1)  # an empty list still makes one test, which pytest skips


# --- whether a test can fail ------------------------------------------------------------------------------------------


def asserts_something(source: str) -> bool:
    """Whether any test can fail by a check of its own: an `assert`, `pytest.raises` or a method of unittest.

    Not counted is an `assert` that is true whatever the code does (`assert True`, `assert x == x`,
    `assert (x, "text")`), one whose failure is caught on the spot, one in code that is never reached, or one in a
    function that nothing names. `assert False` counts, as `pytest.fail` does. Raises SyntaxError.
    """
    module = parse_module(source)
    mentioned = Counter(_mentions(module))
    try:
        return any(True for _ in _checks(module.body, mentioned))
    except RecursionError:  # nested too deeply for the rules, such as hundreds of `elif`
        return any(isinstance(node, ast.Assert) for node in ast.walk(module))


def _mentions(module: ast.Module) -> Iterator[str]:
    """Every name, attribute and parameter in the module."""
    for node in ast.walk(module):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):  # a fixture
            yield node.arg


def _checks(body: Iterable[ast.stmt], mentioned: Counter[str]) -> Iterator[ast.AST]:
    """The checks in a block, up to a statement that always leaves it."""
    for node in body:
        yield from _checks_of(node, mentioned)
        if isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
            return


def _checks_of(node: ast.stmt, mentioned: Counter[str]) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assert):
        if not _is_always_true(node.test):
            yield node
        return
    if isinstance(node, FunctionNode) and not _is_run(node, mentioned):
        return
    for field, block in _statement_blocks(node):
        if not _is_unreachable(node, field) and not _is_caught(node, field):
            yield from _checks(block, mentioned)
    yield from (call for call in _calls(node) if _can_fail(call))


def _is_run(node: FunctionNode, mentioned: Counter[str]) -> bool:
    return node.name.startswith(_COLLECTED_PREFIXES) or mentioned[node.name] > 0 or bool(node.decorator_list)


def _statement_blocks(node: ast.stmt) -> Iterator[tuple[str, list[ast.stmt]]]:
    for field in ("body", "orelse", "finalbody"):
        yield field, getattr(node, field, [])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield "handlers", part.body


def _is_unreachable(node: ast.stmt, field: str) -> bool:
    """Whether a constant condition keeps a block from running."""
    if field == "body" and isinstance(node, ast.If | ast.While):
        return isinstance(node.test, ast.Constant) and not node.test.value
    return (
        field == "orelse"
        and isinstance(node, ast.If)
        and isinstance(node.test, ast.Constant)
        and node.test.value is True
    )


def _is_caught(node: ast.stmt, field: str) -> bool:
    """Whether the statement that a block belongs to catches assertion errors raised in the block."""
    if field != "body":
        return False
    if isinstance(node, ast.Try):
        return any(_catches(handler.type) and not _fails_again(handler.body) for handler in node.handlers)
    if isinstance(node, ast.With | ast.AsyncWith):
        managers = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        return any(last_name(call) == "suppress" and any(map(_catches, call.args)) for call in managers)
    return False


def _catches(kind: ast.expr | None) -> bool:
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(item is None or last_name(item) in _CATCHING_ASSERTIONS for item in kinds)


def _fails_again(handler: Iterable[ast.stmt]) -> bool:
    """Whether an exception handler itself raises or asserts."""
    nodes = [node for statement in handler for node in ast.walk(statement)]
    return any(
        isinstance(node, ast.Raise | ast.Assert) or (isinstance(node, ast.Call) and _can_fail(node)) for node in nodes
    )


def _calls(node: ast.stmt) -> Iterator[ast.Call]:
    """The calls in a statement, without those in its blocks."""
    pending: list[ast.AST] = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Call):
            yield part
        if not isinstance(part, ast.ExceptHandler):
            pending += [child for child in ast.iter_child_nodes(part) if not isinstance(child, ast.stmt)]


def _can_fail(call: ast.Call) -> bool:
    name = last_name(call)
    if name.startswith("assert"):
        same = len(call.args) > 1 and ast.dump(call.args[0]) == ast.dump(call.args[1])
        return not same and not (call.args and all(_is_constant(argument) for argument in call.args))
    is_failing = isinstance(call.func, ast.Attribute) and ast.unparse(call.func) in _FAILING
    return name in _ASSERTING_CONTEXTS or is_failing


def _is_always_true(test: ast.expr) -> bool:
    """Whether an asserted expression is true whatever the code does."""
    match test:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if isinstance(operator, _REFLEXIVE_OPERATORS):
            return ast.dump(left) == ast.dump(right) or (_is_constant(left) and _is_constant(right))
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_is_always_true, values))
        case ast.BoolOp(values=values):
            return all(map(_is_always_true, values))
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return bool(items)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return not value
    return isinstance(test, ast.Constant) and bool(test.value)


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


# --- single test functions --------------------------------------------------------------------------------------------


class DeclaredFunction(NamedTuple):
    """One test function: its name, as `TestA::test_b`, its node, and the list of statements that holds it."""

    name: str
    node: FunctionNode
    block: list[ast.stmt]


def find_test_functions(source: str) -> tuple[DeclaredFunction, ...]:
    """All test functions in order, including those in classes and blocks. Raises SyntaxError."""
    return tuple(_test_functions(parse_module(source), ""))


def function_of(test: str) -> str:
    """The name of the function that a test is a case of: `TestA::test_b` of `TestA::test_b[1-x]`."""
    return test.partition("[")[0]


def source_of(source: str, function: DeclaredFunction) -> str:
    """The function's lines in the source, decorators included."""
    lines = source_lines(source)
    return "".join(lines[first_line(function.node) - 1 : function.node.end_lineno])


def without_tests(source: str, names: Iterable[str]) -> str:
    """The source without the test functions of these names; every other line stays as it is.

    A block that would become empty gets a `pass`. Unknown names are ignored. Raises SyntaxError.
    """
    removed = set(names)
    functions = [function for function in find_test_functions(source) if function.name in removed]
    lines = source_lines(source)
    for function in reversed(functions):  # from the end, so that the earlier line numbers stay valid
        first, last = first_line(function.node) - 1, function.node.end_lineno or function.node.lineno
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        while last < len(lines) and not lines[last].strip():
            last += 1
        lines[first:last] = [f"{indent}pass\n"] if _is_emptied(function, functions) else []
    return "".join(lines)


def _is_emptied(function: DeclaredFunction, removed: list[DeclaredFunction]) -> bool:
    """Whether the function is the first one in an indented block of which every statement is removed."""
    nodes = [other.node for other in removed]
    return (
        function.node.col_offset > 0
        and function.block[0] is function.node
        and all(any(statement is node for node in nodes) for statement in function.block)
    )


def _test_functions(parent: ast.AST, prefix: str) -> Iterator[DeclaredFunction]:
    for block in _blocks(parent):
        for node in block:
            if isinstance(node, FunctionNode):
                if node.name.startswith("test"):
                    yield DeclaredFunction(prefix + node.name, node, block)
            elif isinstance(node, ast.ClassDef):
                yield from _test_functions(node, f"{prefix}{node.name}::")
            else:
                yield from _test_functions(node, prefix)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements in a node, including those of its exception handlers."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(node, "handlers", ()):
        yield from _blocks(handler)


def source_lines(source: str) -> list[str]:
    """The lines as the parser counts them, each with its line end; `str.splitlines` splits at more characters."""
    return list(io.StringIO(source, newline=""))


# --- how a test calls the script --------------------------------------------------------------------------------------


class ScriptCall(NamedTuple):
    """How a test calls the script. None stands for a text that is only known when the test runs.

    `is_single`: the test calls `main` once, with a literal list. `values` are the texts of its `options`, `contents`
    what it writes to files, `outputs` the names below /var/outputs that it mentions.
    """

    is_single: bool
    options: frozenset[str]
    values: dict[str, str | None]
    contents: frozenset[str | None]
    outputs: frozenset[str]


def read_call(function: FunctionNode) -> ScriptCall:
    """The call of the script that the text of one test function shows."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    lists = [call.args[0] for call in calls if last_name(call) == "main" and call.args]
    literals = [argument for argument in lists if isinstance(argument, ast.List)]
    values = dict(_option_values([_text(element) for element in literals[0].elts])) if literals else {}
    constants = [node.value for node in ast.walk(function) if isinstance(node, ast.Constant)]
    return ScriptCall(
        is_single=len(lists) == len(literals) == 1 and sum(last_name(call) == "main" for call in calls) == 1,
        options=frozenset(values),
        values=values,
        contents=frozenset(_text(call.args[0]) for call in calls if last_name(call) in _WRITING and call.args),
        outputs=frozenset(name for text in constants if isinstance(text, str) for name in _OUTPUT.findall(text)),
    )


def _option_values(parts: list[str | None]) -> Iterator[tuple[str, str | None]]:
    for part, following in zip_longest(parts, parts[1:]):
        option = _OPTION.match(part or "")
        if option is not None:
            yield option[1], following if option[2] is None else option[2]


def _text(node: ast.expr) -> str | None:
    """The text of a string literal, or of `str()` of a literal."""
    if isinstance(node, ast.Call) and last_name(node) == "str" and len(node.args) == 1:
        inner = node.args[0]
        return str(inner.value) if isinstance(inner, ast.Constant) else None
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
