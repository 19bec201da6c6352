"""Python source read as a syntax tree and never run: parsing, names, imports, functions, definitions."""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final, TypeAlias

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.source.extraction.lines import split_lines
from flyteplugins_codegen.text import LONGEST_SOURCE_CHARS

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

PARSE_ERRORS: Final = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What Python's parser raises for text that it cannot read: null bytes are a ValueError, deep nesting the last two."""

_PARSER: Final = Lock()
_TYPE_CHECKING: Final = frozenset({"TYPE_CHECKING", "typing.TYPE_CHECKING", "t.TYPE_CHECKING"})
_IMPORTING_CALLS: Final = frozenset({"importlib.import_module", "import_module", "__import__"})
_NO_DISTRIBUTION: Final = sys.stdlib_module_names | {"__main__"}
_REMEDY: Final = 'give a signature, best with a docstring: \'def add(a, b):\\n    """The sum."""\\n\''


# --- parsing ----------------------------------------------------------------------------------------------------------


def parse_python(source: str) -> ast.Module:
    """`ast.parse`, one thread at a time. Raises one of `PARSE_ERRORS`."""
    with _PARSER:
        return ast.parse(source)


def try_parse(source: str) -> ast.Module | None:
    """The syntax tree, or None for text that is not Python."""
    try:
        return parse_python(source)
    except PARSE_ERRORS:
        return None


def parse_module(source: str) -> ast.Module:
    """The syntax tree. Raises SyntaxError for text that is not Python, whatever the parser raised."""
    try:
        return parse_python(source)
    except SyntaxError:
        raise
    except PARSE_ERRORS as error:
        raise SyntaxError(f"the text cannot be read as Python: {str(error) or 'it is nested too deeply'}") from None


def is_python(text: str) -> bool:
    """Whether the text is valid Python. Text of more than a million characters is not parsed: False."""
    return len(text) <= LONGEST_SOURCE_CHARS and try_parse(text) is not None


# --- names ------------------------------------------------------------------------------------------------------------


def bound_names(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """The names that statements bind in their own scope, by definitions, imports and assignments of any kind.

    The blocks of `if`, `try`, `with` and loops are searched, the bodies of functions, classes and lambdas are not.
    Variables of comprehensions count too.
    """
    for node in statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        else:
            yield from _stored_names(node)


def _stored_names(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield from bound_names([child])
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif not isinstance(child, ast.Lambda):
            yield from _stored_names(child)


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name or of the name that is called: `parametrize` of `pytest.mark.parametrize(...)`.

    "" for any other expression.
    """
    if isinstance(node, ast.Call):
        return last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def first_line(node: FunctionNode) -> int:
    """The number of a function's first line, from 1, its decorators included."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


# --- imports ----------------------------------------------------------------------------------------------------------


def imported_names(code: str) -> tuple[str, ...]:
    """Full dotted names of the absolute imports, sorted: `from google.cloud import storage` is `google.cloud.storage`.

    Imports inside functions and `try` count, as do `importlib.import_module` and `__import__` with a literal. Imports
    under `if TYPE_CHECKING:` never run and do not count. Raises SyntaxError for code that does not parse.
    """
    try:
        tree = parse_python(code)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(f"the code cannot be parsed: {type(error).__name__} {error}") from error
    return tuple(sorted({name for node in _running_nodes(tree) for name in _imports_of(node)}))


def imported_modules(code: str) -> tuple[str, ...]:
    """Top-level names of the absolute imports, sorted. Raises SyntaxError for code that does not parse."""
    return tuple(sorted({name.partition(".")[0] for name in imported_names(code)}))


def third_party_modules(code: str, own: Collection[str] = ("solution",)) -> tuple[str, ...]:
    """Imported top-level names that neither the standard library nor `own` provides. Raises SyntaxError."""
    return tuple(name for name in imported_modules(code) if name not in _NO_DISTRIBUTION and name not in own)


def third_party_names(code: str, own: Collection[str] = ("solution",)) -> tuple[str, ...]:
    """As `third_party_modules`, but full dotted names, which namespace packages need. Raises SyntaxError."""
    wanted = frozenset(third_party_modules(code, own))
    return tuple(name for name in imported_names(code) if name.partition(".")[0] in wanted)


def _running_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """All nodes of a tree except those under `if TYPE_CHECKING:`."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.If) and _dotted(node.test) in _TYPE_CHECKING:
            pending.extend(node.orelse)
        else:
            pending.extend(ast.iter_child_nodes(node))


def _imports_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield from (node.module if alias.name == "*" else f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and _dotted(node.func) in _IMPORTING_CALLS and node.args:
        name = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
        if isinstance(name, str) and all(part.isidentifier() for part in name.split(".")):
            yield name


def _dotted(node: ast.expr) -> str:
    """`a.b` for the expression `a.b`, "" for anything that is not a plain dotted name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


# --- the functions of a file ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSpan:
    """One function of a file: its name, as `Class.method`, its first and last line from 1, decorators included."""

    name: str
    first_line: int
    last_line: int
    indent: str


def functions_of(source: str) -> dict[str, FunctionSpan]:
    """The functions and methods by name, in order. Of several definitions of one name, the last one counts.

    Functions inside functions are left out. Raises SyntaxError or ValueError for text that is not Python.
    """
    lines = source.split("\n")
    return {name: _span(name, node, lines) for name, node in _named_functions(parse_python(source).body, "")}


def replace_function(source: str, span: FunctionSpan, code: str) -> str:
    """The file with `code` in place of the function, indented as the function was. Line ends of the file are kept."""
    line_end = "\r\n" if "\r\n" in source else "\n"
    body = textwrap.indent(textwrap.dedent(code.replace("\r\n", "\n")).strip("\n"), span.indent)
    lines = source.split("\n")
    last = "\r" if lines[span.last_line - 1].endswith("\r") else ""
    changed = body.replace("\n", line_end) + last
    return "\n".join([*lines[: span.first_line - 1], changed, *lines[span.last_line :]])


def _named_functions(body: Iterable[ast.stmt], prefix: str) -> Iterator[tuple[str, FunctionNode]]:
    for node in body:
        if isinstance(node, FunctionNode):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _named_functions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            parts = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
            yield from _named_functions([statement for part in parts for statement in part], prefix)


def _span(name: str, node: FunctionNode, lines: Sequence[str]) -> FunctionSpan:
    first = first_line(node)
    line = lines[first - 1]
    return FunctionSpan(
        name=name,
        first_line=first,
        last_line=node.end_lineno or node.lineno,
        indent=line[: len(line) - len(line.lstrip())],
    )


# --- a definition to be completed -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """A function to be written: its signature and docstring, after the imports and helpers that it may use.

    `text` ends with the function called `name`; it becomes a program when a body follows, indented by `indent`.
    `preamble` is everything else in the text that the definition was read from. `source` is valid Python: the preamble
    and the function as given, with a `pass` if it had no body.
    """

    text: str
    name: str
    preamble: str
    indent: str
    source: str


def read_definition(text: str, name: str | None = None) -> FunctionDefinition:
    """The function of this name in the text, by default the last one. A body of `...` or `pass` is dropped.

    Raises:
        ArgumentTypeError: the text or the name is not a str.
        RequestError: the text is too long, is not Python, or defines no such function at its top level.
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(f"the definition is {type(text).__name__}; pass a str: {_REMEDY}")
    if len(text) > LONGEST_SOURCE_CHARS:
        raise RequestError(
            f"the definition has {len(text):,} characters, more than {LONGEST_SOURCE_CHARS:,}; {_REMEDY}"
        )
    source, module = _parse_definition("\n".join(split_lines(text)).rstrip() + "\n")
    node = _find_function(module.body, name)
    lines = [f"{line}\n" for line in source.removesuffix("\n").split("\n")]
    first = first_line(node) - 1
    last = node.end_lineno or len(lines)
    preamble = "".join([*lines[:first], *lines[last:]])
    function = "".join(lines[first:last])
    return FunctionDefinition(
        text=preamble + _without_stub(function),
        name=node.name,
        preamble=preamble,
        indent=_body_indent(lines, node),
        source=preamble + function,
    )


def _parse_definition(text: str) -> tuple[str, ast.Module]:
    """The text and its tree, with a `pass` added where the text ends after a signature. Raises RequestError."""
    try:
        return text, parse_python(text)
    except PARSE_ERRORS as parse_error:
        error = parse_error
    with_body = f"{text}    pass\n"
    completed = try_parse(with_body)
    if completed is not None:
        return with_body, completed
    at = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    reason = error.msg if isinstance(error, SyntaxError) else str(error) or "it is nested too deeply"
    raise RequestError(f"the definition is no Python{at}: {reason}; it begins {text[:80]!r}; {_REMEDY}")


def _find_function(body: Sequence[ast.stmt], name: str | None) -> FunctionNode:
    if name is not None and not isinstance(name, str):
        raise ArgumentTypeError(f"the entry point is {type(name).__name__}; pass the function's name as a str")
    functions = {node.name: node for node in body if isinstance(node, FunctionNode)}
    if not functions:
        raise RequestError(f"the definition holds no function; {_REMEDY}")
    if name is None:
        return list(functions.values())[-1]
    if name not in functions:
        raise RequestError(f"the definition has no function {name!r:.100}; it defines {', '.join(functions)}")
    return functions[name]


def _body_indent(lines: Sequence[str], function: FunctionNode) -> str:
    first = function.body[0]
    before = lines[first.lineno - 1].encode()[: first.col_offset].decode()
    return before if before and not before.strip() else "    "  # a body on the signature's line has no indentation


def _without_stub(function: str) -> str:
    """The function's text without a `pass` or `...` at its end."""
    (parsed,) = parse_python(function).body
    last = parsed.body[-1] if isinstance(parsed, FunctionNode) else None
    is_ellipsis = isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant) and last.value.value is ...
    if last is None or not (isinstance(last, ast.Pass) or is_ellipsis):
        return function
    lines = function.split("\n")[: last.lineno]
    return "\n".join([*lines[:-1], lines[-1].encode()[: last.col_offset].decode().rstrip(" \t;")]).rstrip() + "\n"
