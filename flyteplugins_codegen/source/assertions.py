"""Which parts of a pytest module may pin a value, and which never do, read one by one from its syntax tree.

No value is pinned by existence, size, a type, a format, names of columns, an order by 0, or where a failure changes
nothing. Whatever is not listed here may pin one.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from flyteplugins_codegen.source.column_names import (
    ColumnNames,
    compares_columns,
    is_header,
    names_columns,
    unwrapped,
)
from flyteplugins_codegen.source.python import FunctionNode, last_name

LISTING_CALLS: Final = frozenset({"iterdir", "glob", "rglob", "listdir", "scandir", "walk"})
READING_CALLS: Final = LISTING_CALLS | frozenset(
    {"read_text", "read_bytes", "read", "open", "load", "read_csv", "read_json", "read_parquet", "read_excel"}
    | {"readlines", "readline", "loadtxt", "genfromtxt", "read_table", "scan_csv", "read_feather", "read_ndjson"}
)
# Calls whose result, or whose truth, tells nothing but that an output is there and can be read.
_PLAIN: Final = (
    "exists is_file is_dir isfile isdir stat getsize float int str bool len list dict tuple set frozenset sorted "
    "reversed isinstance type hasattr callable repr Path PurePath joinpath Decimal Fraction strip rstrip lstrip split "
    "rsplit splitlines lower upper title casefold decode encode replace partition rpartition removesuffix removeprefix "
    "loads reader DictReader StringIO BytesIO TextIOWrapper next iter items keys values get fromisoformat strptime "
    "to_datetime to_numeric print write write_text write_bytes writerow writerows to_csv to_dict to_dicts tolist "
    "to_list to_numpy to_records mkdir makedirs append extend add update pop setdefault enumerate zip zip_longest map "
    "filter round abs sum max min isfinite isdigit isnumeric isdecimal isalpha isalnum isspace main close approx "
    "fixture parametrize join relative_to as_posix assertTrue assertIsNotNone assertIsInstance setitem setattr setenv "
    "chdir copy unlink remove rmtree copyfile copytree touch DataFrame Series array asarray sort_values reset_index "
    "set_index sort head tail iterrows itertuples iter_rows rows astype cast notna notnull all any is_numeric_dtype "
    "is_float_dtype is_integer_dtype is_string_dtype is_object_dtype run check_call check_output Popen communicate "
    "Counter OrderedDict defaultdict deque islice chain count index find describe rename drop select with_columns "
    "collect format info debug warning log pprint dump dumps readouterr import_module reload spec_from_file_location "
    "getattr vars id hash date datetime time timedelta fspath seek range ord divmod mean median groupby group_by "
    "assertFalse assertIsNot assertLogs subTest TestCase"
)
PLAIN_CALLS: Final = READING_CALLS | frozenset(_PLAIN.split())
_NULL_TESTS: Final = frozenset({"isnan", "isinf", "isna", "isnull", "is_null", "is_nan"})
_STRUCTURE: Final = frozenset({"columns", "dtypes", "dtype", "fieldnames", "st_size", "schema", "suffix", "__class__"})
_SIGNS: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_BOUNDS: Final = frozenset({-1, 0, 1, 100, float("inf"), float("-inf")})
_MANY_BOUNDS: Final = frozenset({-1, 0, 1, float("inf"), float("-inf")})
_FAILURES: Final = frozenset({"nan", "none", "null", "inf", "error", "traceback", "exception", "nat", "0", "0.0"})
_MOST_DETAIL_CHARS: Final = 40
_QUIET_CALLS: Final = frozenset({"print", "skip", "info", "debug", "warning", "log", "exception", "warn", "error"})
_CATCHING: Final = frozenset({"AssertionError", "Exception", "BaseException"})
_SET_METHODS: Final = frozenset({"issubset", "issuperset"})
_UNITTEST: Final[dict[str, ast.cmpop]] = {
    **dict.fromkeys(
        ("assertEqual", "assertListEqual", "assertSetEqual", "assertCountEqual", "assertTupleEqual"), ast.Eq()
    ),
    "assertNotEqual": ast.NotEq(),
    "assertIsNot": ast.IsNot(),
    "assertIn": ast.In(),
    "assertNotIn": ast.NotIn(),
    "assertGreater": ast.Gt(),
    "assertGreaterEqual": ast.GtE(),
    "assertLess": ast.Lt(),
    "assertLessEqual": ast.LtE(),
}
# --- where a failure changes nothing ----------------------------------------------------------------------------------


def idle_nodes(module: ast.Module) -> set[ast.AST]:
    """The nodes whose results no test depends on.

    They stand in a `try` that swallows a failure, after a `return`, in a function that nothing names or a test that is
    skipped, or they are compared and nothing depends on it.
    """
    nodes = list(ast.walk(module))
    mentions = Counter(_mentions(nodes))
    parts = (part for node in nodes for part in _idle_parts(node, mentions))
    return {node for part in parts for node in ast.walk(part)}


def _mentions(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names that are read, and all texts: a fixture may stand in `usefixtures`, an attribute in `getattr`."""
    for node in nodes:
        match node:
            case (
                ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(name=name)
            ):
                yield name
            case ast.Constant(value=str(name)):
                yield name


def _idle_parts(node: ast.AST, mentions: Counter[str]) -> Iterator[ast.AST]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield from _after_the_end(block)
    match node:
        case ast.Try(body=body, handlers=handlers) if any(map(_swallows, handlers)):
            yield from body
        case ast.With(items=items, body=body) if any(_suppresses(item.context_expr) for item in items):
            yield from body
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if _never_runs(node, mentions):
            yield node
        case ast.Expr(value=ast.Compare()):
            yield node
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Compare()) if not mentions[name]:
            yield node
        case ast.If(test=test, body=body, orelse=orelse) if all(map(_is_quiet, [*body, *orelse])):
            yield test


def _after_the_end(block: list[ast.stmt]) -> list[ast.stmt]:
    for number, node in enumerate(block, 1):
        if isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
            return block[number:]
        if isinstance(node, ast.Expr) and last_name(node.value) == "skip" and isinstance(node.value, ast.Call):
            return block[number:]
    return []


def _swallows(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    is_caught = any(kind is None or last_name(kind) in _CATCHING for kind in kinds)
    return is_caught and all(map(_is_quiet, handler.body))


def _suppresses(manager: ast.expr) -> bool:
    return (
        isinstance(manager, ast.Call)
        and last_name(manager) == "suppress"
        and any(last_name(kind) in _CATCHING for kind in manager.args)
    )


def _is_quiet(node: ast.stmt) -> bool:
    """Whether a statement does nothing, or only talks to people."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return last_name(node.value) in _QUIET_CALLS
    return isinstance(node, ast.Pass | ast.Continue) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _never_runs(node: FunctionNode | ast.ClassDef, mentions: Counter[str]) -> bool:
    if any(last_name(decorator) == "skip" for decorator in node.decorator_list):
        return True
    if isinstance(node, ast.ClassDef):
        is_test = node.name.startswith("Test") or bool(node.bases)
        return not is_test and not mentions[node.name] and not node.decorator_list
    is_collected = node.name.startswith(("test", "setup", "teardown", "setUp", "tearDown", "__"))
    return not is_collected and not mentions[node.name] and not node.decorator_list


# --- assertions that pin no value -------------------------------------------------------------------------------------


def is_weak_comparison(node: ast.Compare, columns: ColumnNames) -> bool:
    """Whether a comparison pins no value: with nothing or bounds such as 0, of a type, of columns, of a format."""
    operands = [node.left, *node.comparators]
    if any(_is_structure(operand) for operand in operands):
        return True
    if isinstance(node.ops[0], ast.NotEq | ast.IsNot | ast.NotIn) and any(map(_is_nothing, operands)):
        return True
    is_by_order = all(isinstance(operator, _SIGNS) for operator in node.ops)
    if is_by_order and (_is_bounded_loosely(operands) or len(set(map(_table_of, operands))) == 1):
        return True
    return len(node.ops) == 1 and compares_columns(node.ops[0], node.left, operands[1], columns)


def is_weak_call(node: ast.Call, columns: ColumnNames) -> bool:
    """Whether a method that asserts, or asks about text or sets, asks for no value: see `is_weak_comparison`."""
    name = last_name(node)
    if name in _UNITTEST and len(node.args) > 1:
        left, right = node.args[:2]
        return is_weak_comparison(ast.Compare(left=left, ops=[_UNITTEST[name]], comparators=[right]), columns)
    if name in {"match", "fullmatch", "search", "compile", "findall"}:
        return bool(node.args) and _is_format(node.args[0])
    if name in {"startswith", "endswith"} and node.args and isinstance(node.args[0], ast.Constant):
        text = str(node.args[0].value)
        return not any(map(str.isalnum, text)) or text == "Z" or is_header(node.args[0], columns)
    if name in _SET_METHODS and isinstance(node.func, ast.Attribute) and node.args:
        sides = [node.func.value, node.args[0]]
        return any(map(_is_structure, sides)) or any(names_columns(side, columns.keys) for side in sides)
    return False


def negated_null_tests(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The calls in `not math.isnan(x)` and `not frame.isna().any()`."""
    for node in nodes:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            calls = [part for part in ast.walk(node.operand) if isinstance(part, ast.Call)]
            if any(last_name(call) in _NULL_TESTS for call in calls):
                yield from calls
        elif isinstance(node, ast.Compare) and all(
            isinstance(o, ast.Constant) and not o.value for o in node.comparators
        ):
            calls = [part for part in ast.walk(node.left) if isinstance(part, ast.Call)]
            if any(last_name(call) in _NULL_TESTS for call in calls):  # frame.isna().sum() == 0
                yield from (node, *calls)


def asks_whether_there(node: ast.expr) -> bool:
    """Whether a truth value is that of a file's existence, or that there is any row."""
    if not isinstance(node, ast.UnaryOp):
        return False
    operand = node.operand
    is_empty = isinstance(operand, ast.Attribute) and operand.attr == "empty"
    return is_empty or last_name(operand) in {"exists", "is_file", "is_dir", "isfile", *_NULL_TESTS, "any"}


def _is_structure(node: ast.expr) -> bool:
    """Whether an operand is a type, the columns of a table, or the names in a folder without what its files hold."""
    called = {last_name(part) for part in ast.walk(node) if isinstance(part, ast.Call)}
    if called & LISTING_CALLS and not called & (READING_CALLS - LISTING_CALLS):
        return True
    core = unwrapped(node)
    if isinstance(core, ast.Subscript):  # the number of columns
        index = core.slice.value if isinstance(core.slice, ast.Constant) else None
        is_width = isinstance(core.value, ast.Attribute) and core.value.attr == "shape" and index == 1
        return is_width or _is_structure(core.value)
    if isinstance(core, ast.Attribute):
        is_part = core.attr in {"kind", "name", "__name__", "itemsize", "values"}
        return core.attr in _STRUCTURE or (is_part and _is_structure(core.value))
    return isinstance(core, ast.Call) and last_name(core) in {"type", "getsize"}


def _is_bounded_loosely(operands: list[ast.expr]) -> bool:
    bounds = [_number(operand) for operand in operands]
    known = {bound for bound in bounds if bound is not None}
    others = [operand for operand, bound in zip(operands, bounds, strict=True) if bound is None]
    if len(others) != 1 or not known:
        return False
    if isinstance(others[0], ast.Call) and last_name(others[0]) == "len":
        return True
    return known <= (_BOUNDS if len(known) > 1 else _MANY_BOUNDS)


def _table_of(node: ast.expr) -> str:
    """The variable that a cell is of: `rows` of `float(rows[0]["n"])`; the expression itself for anything else."""
    is_cell = False
    while isinstance(node, ast.Subscript | ast.Call):
        if isinstance(node, ast.Call) and not (last_name(node) in {"float", "int"} and node.args):
            break
        is_cell |= isinstance(node, ast.Subscript)
        node = node.value if isinstance(node, ast.Subscript) else node.args[0]
    return node.id if is_cell and isinstance(node, ast.Name) else ast.dump(node)


def _number(node: ast.expr) -> float | None:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            positive = _number(operand)
            return None if positive is None else -positive
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value="inf" | "-inf" as text)]):
            return float(text)
        case ast.Attribute(attr="inf"):
            return float("inf")
    return None


def _is_nothing(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str(value)):
            return not value or value.lower() in _FAILURES
        case ast.Constant(value=value):
            return value is None or (not isinstance(value, bool) and value in (b"", 0))
        case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return all(map(_is_nothing, elements))
        case ast.Call(func=ast.Name(id="set" | "list" | "dict" | "tuple"), args=[]):
            return True
    return False


def _is_format(node: ast.expr) -> bool:
    """Whether a regular expression has no literal text: `[0-9]+`, but not `total: [0-9]+`."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    bare = re.sub(r"\\.|\[[^\]]*\]|\{[^}]*\}|\(\?[^)]*\)?", "", node.value)
    return not any(map(str.isalnum, bare.replace("T", "").replace("Z", "")))


def is_detail(node: ast.expr, *, with_numbers: bool) -> bool:
    """Whether an argument only says how something is read: an encoding, a separator, a key, a number of digits."""
    if not isinstance(node, ast.Constant):
        return False
    if isinstance(node.value, str):
        return "\n" not in node.value.strip("\n") and len(node.value) < _MOST_DETAIL_CHARS
    return node.value is None or isinstance(node.value, bool) or with_numbers
