"""A function as it is asked for: its signature and docstring, after the imports and functions that it may use."""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.source.extraction.lines import split_lines
from flyteplugins_codegen.text import LONGEST_SOURCE_CHARS

# Reading Python as a syntax tree, by one thread at a time.

_lock = Lock()


def parse_python(source: str) -> ast.Module:
    """As `ast.parse`, from any thread. Raises SyntaxError, ValueError, RecursionError, MemoryError."""
    with _lock:
        return ast.parse(source)


_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_REMEDY = 'give a signature, best with a docstring: \'def add(a, b):\\n    """The sum."""\\n\''


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """`text` ends with the function called `name`, and is Python once a body follows, indented by `indent`.

    `preamble` is the rest of what the definition was read from. `source` is Python: the text, with a body that does
    nothing where it has none.
    """

    text: str
    name: str
    preamble: str
    indent: str
    source: str


def read_definition(text: str, name: str | None = None) -> FunctionDefinition:
    """The function of this name in the text, by default the last one. A body of `...` or `pass` counts as none.

    Raises:
        ArgumentTypeError: the text or the name is no str.
        RequestError: the text is too long or no Python, or defines no such function at its top level.
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(f"the definition is {type(text).__name__}; pass a str: {_REMEDY}")
    if len(text) > LONGEST_SOURCE_CHARS:
        raise RequestError(
            f"the definition has {len(text):,} characters, more than {LONGEST_SOURCE_CHARS:,}; {_REMEDY}"
        )
    text = "\n".join(split_lines(text)).rstrip() + "\n"
    source, module = _parsed(text)
    found = _find(module.body, name)
    lines = [f"{line}\n" for line in source.removesuffix("\n").split("\n")]
    first = min([found.lineno, *(decorator.lineno for decorator in found.decorator_list)]) - 1
    last = found.end_lineno or len(lines)
    preamble = "".join([*lines[:first], *lines[last:]])
    function = "".join(lines[first:last])
    return FunctionDefinition(
        text=preamble + _without_stub(function),
        name=found.name,
        preamble=preamble,
        indent=_indent(lines, found),
        source=preamble + function,
    )


def _parsed(text: str) -> tuple[str, ast.Module]:
    """The text as it is, or with a body where it ends after the signature."""
    module = _parse(text)
    if isinstance(module, ast.Module):
        return text, module
    with_body = f"{text}    pass\n"
    completed = _parse(with_body)
    if isinstance(completed, ast.Module):
        return with_body, completed
    at = f", line {module.lineno}" if isinstance(module, SyntaxError) and module.lineno else ""
    said = module.msg if isinstance(module, SyntaxError) else str(module) or "it is nested too deeply"
    raise RequestError(f"the definition is no Python{at}: {said}; it begins {text[:80]!r}; {_REMEDY}")


def _parse(text: str) -> ast.Module | Exception:
    try:
        return parse_python(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return error


def _find(body: Sequence[ast.stmt], name: str | None) -> _Function:
    if name is not None and not isinstance(name, str):
        raise ArgumentTypeError(f"the entry point is {type(name).__name__}; pass the function's name as a str")
    functions = {each.name: each for each in body if isinstance(each, _Function)}
    if not functions:
        raise RequestError(f"the definition holds no function; {_REMEDY}")
    if name is None:
        return list(functions.values())[-1]
    if name not in functions:
        raise RequestError(f"the definition has no function {name!r:.100}; it defines {', '.join(functions)}")
    return functions[name]


def _indent(lines: Sequence[str], function: _Function) -> str:
    first = function.body[0]
    before = lines[first.lineno - 1].encode()[: first.col_offset].decode()
    return before if before and not before.strip() else "    "  # a body on the signature's own line says nothing


def _without_stub(function: str) -> str:
    """The function's text without a last statement that stands for what is to be written."""
    (parsed,) = parse_python(function).body
    last = parsed.body[-1] if isinstance(parsed, _Function) else None
    if not isinstance(last, ast.Pass | ast.Expr) or (isinstance(last, ast.Expr) and not _is_ellipsis(last.value)):
        return function
    lines = function.split("\n")[: last.lineno]
    return "\n".join([*lines[:-1], lines[-1].encode()[: last.col_offset].decode().rstrip(" \t;")]).rstrip() + "\n"


def _is_ellipsis(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is ...


# The functions of a file, found and replaced by their names, read from its syntax tree.


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSpan:
    """One function of a file: `name` as in `Class.method`, its first and last line, counted from 1, with decorators."""

    name: str
    first_line: int
    last_line: int
    indent: str


def functions_of(source: str) -> dict[str, FunctionSpan]:
    """The functions and methods by name, in order; of several definitions of one name the last, as Python has it.

    Those inside functions are left out. Raises SyntaxError or ValueError for text that is no Python.
    """
    lines = source.split("\n")
    return {name: _span(name, node, lines) for name, node in _functions(parse_python(source).body, "")}


def replace_function(source: str, span: FunctionSpan, code: str) -> str:
    """The file with other code in the function's place, indented as that is. The file's line ends are kept."""
    line_end = "\r\n" if "\r\n" in source else "\n"
    body = textwrap.indent(textwrap.dedent(code.replace("\r\n", "\n")).strip("\n"), span.indent)
    lines = source.split("\n")
    last = "\r" if lines[span.last_line - 1].endswith("\r") else ""
    changed = body.replace("\n", line_end) + last
    return "\n".join([*lines[: span.first_line - 1], changed, *lines[span.last_line :]])


def _functions(body: Iterable[ast.stmt], prefix: str) -> Iterator[tuple[str, _Function]]:
    for node in body:
        if isinstance(node, _Function):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            parts = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
            yield from _functions([statement for part in parts for statement in part], prefix)


def _span(name: str, node: _Function, lines: list[str]) -> FunctionSpan:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    line = lines[first - 1]
    return FunctionSpan(
        name=name,
        first_line=first,
        last_line=node.end_lineno or node.lineno,
        indent=line[: len(line) - len(line.lstrip())],
    )


# What a piece of code imports, read from its syntax tree; the code never runs.

_TYPE_CHECKING = frozenset({"TYPE_CHECKING", "typing.TYPE_CHECKING", "t.TYPE_CHECKING"})
_IMPORTING_CALLS = frozenset({"importlib.import_module", "import_module", "__import__"})
_NO_DISTRIBUTION = sys.stdlib_module_names | {"__main__"}


def imported_names(code: str) -> tuple[str, ...]:
    """Full dotted names of the absolute imports, sorted: `from google.cloud import storage` is `google.cloud.storage`.

    Imports inside functions and `try` count, as do `importlib.import_module` and `__import__` with a literal. What
    stands under `if TYPE_CHECKING:` does not, for it never runs. Raises SyntaxError for code that does not parse.
    """
    return tuple(sorted({name for node in _running_nodes(_parse_imports(code)) for name in _names_of(node)}))


def imported_modules(code: str) -> tuple[str, ...]:
    """Top-level names of the absolute imports, sorted. Raises SyntaxError for code that does not parse."""
    return tuple(sorted({name.partition(".")[0] for name in imported_names(code)}))


def third_party_modules(code: str, own: Collection[str] = ("solution",)) -> tuple[str, ...]:
    """Imported top-level names that neither the standard library nor `own` provides. Raises SyntaxError."""
    return tuple(name for name in imported_modules(code) if name not in _NO_DISTRIBUTION and name not in own)


def third_party_names(code: str, own: Collection[str] = ("solution",)) -> tuple[str, ...]:
    """As `third_party_modules`, but full dotted names, by which namespace packages are told. Raises SyntaxError."""
    wanted = frozenset(third_party_modules(code, own))
    return tuple(name for name in imported_names(code) if name.partition(".")[0] in wanted)


def _parse_imports(code: str) -> ast.Module:
    try:
        return parse_python(code)
    except (ValueError, RecursionError, MemoryError) as error:
        # Null bytes, and nesting too deep for the parser: Python itself could not run it either.
        raise SyntaxError(f"the code cannot be parsed: {type(error).__name__} {error}") from error


def _running_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.If) and _dotted(node.test) in _TYPE_CHECKING:
            pending.extend(node.orelse)
        else:
            pending.extend(ast.iter_child_nodes(node))


def _names_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield from (node.module if alias.name == "*" else f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and _dotted(node.func) in _IMPORTING_CALLS and node.args:
        yield from _literal_module(node.args[0])


def _literal_module(argument: ast.expr) -> Iterator[str]:
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        name = argument.value
        if all(part.isidentifier() for part in name.split(".")):
            yield name


def _dotted(node: ast.expr) -> str:
    """`a.b` for the expression `a.b`, "" for anything that is not a plain dotted name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


# Whether a text is Python.


def is_python(text: str) -> bool:
    """Whether the text is Python as it stands. More than a million characters are not looked at: False."""
    if len(text) > LONGEST_SOURCE_CHARS:
        return False
    try:
        parse_python(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
