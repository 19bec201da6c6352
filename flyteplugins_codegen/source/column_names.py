"""The names of columns in a script and its tests, and the comparisons that look for nothing but these names."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from flyteplugins_codegen.source.python import last_name, parse_module

WRAPPERS: Final = frozenset({"list", "set", "sorted", "tuple", "frozenset", "str", "len", "dict", "map"})
WRAPPING_METHODS: Final = frozenset(
    {
        "strip",
        "rstrip",
        "lstrip",
        "lower",
        "split",
        "tolist",
        "to_list",
        "keys",
        "copy",
        "decode",
        "splitlines",
        "union",
    }
)
_HEADER_NAME: Final = re.compile(r"(?i)_*(head(er)?s?|fieldnames)(_?(line|row))?\Z")
_VALUE_CALLS: Final = frozenset({"isin", "eq", "ne", "between", "replace", "get", "startswith", "endswith", "join"})
_COLUMN_LISTS: Final = re.compile(r"(?i)col|field|head|key")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][\w .\-]*\Z")


_SEPARATORS: Final = re.compile(r"[,;\t|]")


class ColumnNames(NamedTuple):
    """The names that a script uses as keys, and these together with those in the headers of the tests' own tables."""

    keys: frozenset[str]
    in_headers: frozenset[str]


def columns_of(solution: str) -> frozenset[str]:
    """The names that a script uses as keys of rows, tables and objects; none for text that is no Python."""
    try:
        nodes = list(ast.walk(parse_module(solution)))
    except SyntaxError:
        return frozenset()
    return frozenset(name for node in nodes for name in _keys_in(node))


def header_columns(module: ast.Module) -> frozenset[str]:
    """The names in the first lines of the tables that a test module has as text."""
    texts = (node.value for node in ast.walk(module) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    lines = (text.lstrip().partition("\n")[0] for text in texts)
    parts = ([part.strip() for part in _SEPARATORS.split(line)] for line in lines)
    return frozenset(part for line in parts if len(line) > 1 and all(map(_IDENTIFIER.match, line)) for part in line)


def _keys_in(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Dict(keys=keys):
            yield from _texts(key for key in keys if key is not None)
        case ast.Subscript(slice=key):
            yield from _texts([key, *(key.elts if isinstance(key, ast.List | ast.Tuple) else [])])
        case ast.keyword(arg=str(name), value=value):
            yield name
            yield from _texts(value.elts) if isinstance(value, ast.List | ast.Tuple) else ()
        case ast.Call(args=arguments) if last_name(node) not in _VALUE_CALLS:
            lists = [argument for argument in arguments if isinstance(argument, ast.List | ast.Tuple)]
            yield from _texts(element for argument in lists for element in argument.elts)
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=elements) | ast.Tuple(elts=elements)):
            yield from _texts(elements) if _COLUMN_LISTS.search(name) else ()
        case ast.Constant(value=str(text)) if "," in text and "\n" not in text.strip():
            parts = [part.strip() for part in _SEPARATORS.split(text)]
            yield from parts if all(map(_IDENTIFIER.match, parts)) else ()


def _texts(nodes: Iterable[ast.expr]) -> Iterator[str]:
    yield from (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def names_columns(node: ast.expr, columns: Collection[str]) -> bool:
    """Whether a literal consists of names of columns: one, a header line, or several in brackets."""
    match node:
        case ast.Constant(value=str(text)) if text.strip():
            return all(part.strip().strip('"') in columns for part in _SEPARATORS.split(text))
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements) if elements:
            return all(isinstance(e, ast.Constant) and e.value in columns for e in elements)
        case ast.Call(func=ast.Name(id="set" | "list" | "sorted" | "frozenset"), args=[inner]):
            return names_columns(inner, columns)
    return False


def is_header(node: ast.expr, columns: ColumnNames) -> bool:
    """Whether a literal may be the first row of a table: several names, or one that the script uses as a key."""
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ","
    return names_columns(node, columns.in_headers if _SEPARATORS.search(text) else columns.keys)


def compares_columns(operator: ast.cmpop, left: ast.expr, right: ast.expr, columns: ColumnNames) -> bool:
    """Whether names of columns are looked for: in a first row, in a header line, or among the keys of an object."""
    if isinstance(operator, ast.In | ast.NotIn):
        return names_columns(left, columns.keys) and not isinstance(right, ast.List | ast.Tuple | ast.Set)
    for names, other in ((left, right), (right, left)):
        if _is_first(other) and is_header(names, columns):
            return True
        if _is_keys(other, names) and names_columns(names, columns.keys):
            return True
    return False


def _is_first(node: ast.expr) -> bool:
    core = unwrapped(node)
    match core:
        case ast.Subscript(slice=ast.Constant(value=0)):
            return True
        case ast.Call():
            return last_name(core) in {"next", "readline", "keys"}
        case ast.Name(id=name):
            return bool(_HEADER_NAME.match(name))
    return False


def _is_keys(node: ast.expr, names: ast.expr) -> bool:
    """Whether the keys of an object, as `set(data)` or `data.keys()`, are compared with several names."""
    if isinstance(names, ast.Constant) or not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name) and node.func.id in WRAPPERS and node.args:
        return not isinstance(node.args[0], ast.ListComp | ast.SetComp | ast.GeneratorExp)
    return last_name(node) == "keys"


def unwrapped(node: ast.expr) -> ast.expr:
    """What is wrapped in `list`, `sorted`, `strip` and the like."""
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in WRAPPERS and node.args:
            node = node.args[-1] if node.func.id == "map" else node.args[0]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in WRAPPING_METHODS:
            node = node.func.value
        else:
            break
    return node
