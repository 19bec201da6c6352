"""The code that is left alone: messages, the reading of arguments, and the writing of outputs.

A mistake there changes no computed value. It breaks every run, which the weakest test notices, or it changes nothing
that a description speaks of.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from flyteplugins_codegen.source.mutations.change import Place
from flyteplugins_codegen.source.python import FunctionNode, last_name

# Calls that only talk to people, or read the command line.
_COSMETIC_CALLS: Final = frozenset(
    {"print", "warn", "debug", "info", "warning", "error", "exception", "critical", "exit", "getLogger", "basicConfig"}
    | {"ArgumentParser", "add_argument", "add_argument_group", "add_subparsers", "parse_args", "parse_known_args"}
    | {"set_defaults", "TypeVar", "mkdir", "makedirs", "unlink", "rmtree"}
)
_ENDING_CALLS: Final = frozenset({"exit", "error"})
_WRITING_CALLS: Final = frozenset(
    {"write", "write_text", "write_bytes", "writelines", "writerow", "writerows", "writeheader", "dump", "dumps"}
    | {"to_csv", "to_json", "to_parquet", "to_excel", "to_markdown", "to_html", "to_string", "savefig", "writer"}
    | {"DictWriter", "write_csv", "write_parquet", "write_json", "save", "copyfile", "open"}
)
_FILE_METHODS: Final = frozenset({"write", "write_text", "write_bytes", "writerow", "writerows", "dump"})
_COMPUTING_CALLS: Final = frozenset(
    {"sum", "max", "min", "mean", "median", "count", "groupby", "sort_values", "sorted", "merge", "join_tables", "agg"}
    | {"drop_duplicates", "dropna", "fillna", "pivot_table", "nlargest", "nsmallest", "read_csv", "DictReader", "query"}
)
_OUTPUT_HELPER: Final = re.compile(
    r"_*(write|save|dump|emit|store|format|fmt|render|serialise|serialize|as_text|to_text|to_str|log|print|"
    r"parse_arg|build_parser|make_parser|get_arg|read_arg|usage)"
)
_PATH_NAME: Final = re.compile(r"(?i)(^|_)(path|dir|folder|root|out|outputs?|file|filename|base)s?$")
_UNCHANGED_FIELDS: Final = frozenset(
    {"annotation", "returns", "decorator_list", "type_params", "pattern", "bases", "msg"}
)
# Keywords whose numbers and flags are no rule of a job: how a file is read or written, how a frame is laid out.
_LAYOUT: Final = (
    "axis header indent level chunksize encoding maxsplit newline index index_col sep delimiter mode "
    "errors exist_ok parents sort_keys ensure_ascii dtype engine copy inplace ignore_index as_index "
    "observed low_memory strict names quoting lineterminator parse_dates date_format float_format "
    "validate suffixes nargs group_keys flags maxlen msg columns drop sort help numeric_only "
    "skipinitialspace timeout default "
)
_LAYOUT_KEYWORDS: Final = frozenset(_LAYOUT.split())


def children(node: ast.AST) -> Iterator[ast.AST]:
    """The child nodes that may be changed: no annotations, decorators, patterns, and no condition of a `raise`."""
    for name, value in ast.iter_fields(node):
        if name in _UNCHANGED_FIELDS or (name == "test" and _only_guards(node)):
            continue
        yield from (child for child in (value if isinstance(value, list) else [value]) if isinstance(child, ast.AST))


def is_irrelevant(place: Place, node: ast.AST) -> bool:
    """Whether nothing at or below a node is changed.

    f-strings belong here: older Pythons do not place their parts.
    """
    match node:
        case ast.Expr(value=ast.Call() as call) | (ast.Call() as call):
            return last_name(call) in _COSMETIC_CALLS
        case ast.keyword():
            return node.arg in _LAYOUT_KEYWORDS or is_written(place.parent(node))
        case ast.Constant():
            return is_written(place.parent(node)) or _counts_labels(place, node)
        case ast.If(test=part) | ast.Assign(value=part) if not isinstance(part, ast.Call):
            return _mentions_arguments(part)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return _is_output_helper(node)
    return isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert)


def is_written(node: ast.AST | None) -> bool:
    """Whether a call, or the call that is a statement, writes text or a file."""
    if isinstance(node, ast.Expr):
        node = node.value
    return isinstance(node, ast.Call) and last_name(node) in _WRITING_CALLS


def is_path(node: ast.BinOp) -> bool:
    """Whether `/` joins paths here."""
    if not isinstance(node.op, ast.Div):
        return False
    left = node.left
    if isinstance(left, ast.BinOp):
        return is_path(left)
    if isinstance(left, ast.Attribute) and left.attr == "parent":
        return True
    return last_name(left) == "Path" or bool(_PATH_NAME.search(last_name(left)))


def _only_guards(node: ast.AST) -> bool:
    """Whether a condition decides about an error only; negated, it would break every run."""
    if not isinstance(node, ast.If) or not all(map(_is_message, node.body)):
        return False
    last = node.body[-1]
    return isinstance(last, ast.Raise) or (isinstance(last, ast.Expr) and last_name(last.value) in _ENDING_CALLS)


def _is_message(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return last_name(node.value) in _COSMETIC_CALLS
    return isinstance(node, ast.Raise)


def _mentions_arguments(node: ast.AST) -> bool:
    names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
    return "argv" in names or any(isinstance(child, ast.Attribute) and child.attr == "argv" for child in ast.walk(node))


def _is_output_helper(node: FunctionNode) -> bool:
    """Whether a function only writes outputs, makes text of values, or reads the command line."""
    if node.name == "main":
        return False
    nodes = list(ast.walk(node))
    calls = {last_name(call) for call in nodes if isinstance(call, ast.Call)}
    if calls & _COMPUTING_CALLS:
        return False
    if _OUTPUT_HELPER.match(node.name):
        return True
    if any(isinstance(part, ast.AugAssign) or (isinstance(part, ast.BinOp) and not is_path(part)) for part in nodes):
        return False
    methods = {part.func.attr for part in nodes if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)}
    return bool(methods & _FILE_METHODS) or "ArgumentParser" in calls


def _counts_labels(place: Place, node: ast.AST) -> bool:
    """Whether a number is the start of an `enumerate` whose counter only stands in messages and labels."""
    call = next((above for above in place.above(node) if isinstance(above, ast.Call)), None)
    if call is None or last_name(call) != "enumerate" or node in call.args[:1]:
        return False
    loop = place.parent(call)
    target = getattr(loop, "target", None)
    if not isinstance(target, ast.Tuple) or not isinstance(target.elts[0], ast.Name):
        return False
    return target.elts[0].id not in _used_names(place.root)


def _used_names(node: ast.AST) -> set[str]:
    """The names that are read anywhere below a node, messages and f-strings left out."""
    found: set[str] = set()
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Raise | ast.JoinedStr) or (
            isinstance(part, ast.Call) and last_name(part) in _COSMETIC_CALLS
        ):
            continue
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            found.add(part.id)
        pending += ast.iter_child_nodes(part)
    return found
