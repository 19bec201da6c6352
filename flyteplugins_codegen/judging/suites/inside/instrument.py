"""Compiles the tests so that the code of each test confirms its own end, in a way that nothing else can.

A call of `confirm`, with the test's name and a token that only the supervisor's secret makes, is inserted at the end of
each test function and before each of its own `return`s; a call of `failed` before each of its own `raise
AssertionError`; calls of `same` and the like replace comparisons, and see through an object that is equal to anything.
These functions and the tokens are *constants* of the compiled code: no name leads to them, and reading the constants of
code raises an audit event. pytest has rewritten the assertions before that, and every line number stays the same.
"""

from __future__ import annotations

import ast
import warnings
from _blake2 import blake2b
from operator import ge, gt, le, lt
from os import urandom

from flyteplugins_codegen.judging.suites.inside.equality import (
    SCALARS,
    wrong_with_class,
    wrong_with_comparison,
    wrong_with_membership,
    wrong_with_order,
)
from flyteplugins_codegen.judging.suites.inside.integrity import sealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import CodeType
    from typing import Any, Final, TypeAlias, TypeVar

    Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
    Node = TypeVar("Node", bound=ast.AST)
    Tamper: TypeAlias = Callable[[str], None]

FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES: Final = (*FUNCTIONS, ast.Lambda, ast.ClassDef)
EXPECTING: Final = frozenset(("raises", "suppress", "assertRaises", "assertRaisesRegex", "fails"))
COMPARING: Final = {ast.Eq: "same", ast.NotEq: "differ", ast.In: "within", ast.NotIn: "without"}
ORDERING: Final = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}


def token_for(name: str, secret: bytes) -> str:
    """The token of the test function of this name, `TestA::test_b`; the supervisor computes the same."""
    return blake2b(name.encode(), key=secret, digest_size=16).hexdigest()


def imported_modules(tree: ast.Module) -> tuple[str, ...]:
    """The modules that the tests import, anywhere in them."""
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found[node.module] = None
    return tuple(name for name in found if name.partition(".")[0] != "solution")


def identifiers(tree: ast.Module) -> frozenset[str]:
    """The names that the tests use, including attributes and imported names."""
    found = {getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(tree)}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return frozenset(found | {alias.name for node in imports for alias in node.names})


def _receivers(tree: ast.Module) -> frozenset[str]:
    """The names that the tests give to imported modules and objects, and `self`: assertions are looked up in them."""
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = {alias.asname or alias.name.partition(".")[0] for node in imports for alias in node.names}
    return frozenset(name for name in names | {"self"} if not name.startswith("@") and name != "solution")


def patched_names(tree: ast.Module) -> frozenset[str]:
    """The names that the tests may replace: assigned attributes, globals, and names in strings and keywords."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.Global):
            found.update(node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value.rpartition(".")[2])
        elif isinstance(node, ast.keyword) and node.arg:  # patch.multiple(module, name=...)
            found.add(node.arg)
    return frozenset(found)


def compile_tests(tree: ast.Module, path: str, secret: bytes, calls: Mapping[str, Any]) -> tuple[CodeType, set[int]]:
    """The code of the tests, and the ids of all code in it that holds a token. Changes the tree.

    `calls` come from `calls_for_tests`; in the tests' own bodies, `own` replaces the others and gets their name first.
    """
    from _pytest.assertion.rewrite import rewrite_asserts

    rewrite_asserts(tree, b"", path)
    unlike = urandom(16).hex()
    marks = {name: f"{name}:{unlike}" for name in calls}  # constants in the tree, replaced once the code is compiled
    for function, name in list(_test_functions(tree.body)):
        if not _is_generator(function):
            _confirm_ends(function, name, token_for(name, secret), marks)
            _report_failures(function.body, marks["failed"])
    _replace_comparisons(tree, _receivers(tree), marks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # of calling a constant
        code = compile(tree, path, "exec", dont_inherit=True, optimize=0)
    holding: set[int] = set()
    return _filled(code, {marks[name]: call for name, call in calls.items()}, calls["confirm"], holding), holding


def _test_functions(body: Iterable[ast.AST], prefix: str = "") -> Iterator[tuple[Function, str]]:
    """Each test function of the module and of its classes with its name, also those in `if` and `try` blocks."""
    for node in body:
        if isinstance(node, FUNCTIONS):
            if node.name.startswith("test"):
                yield node, prefix + node.name
        elif isinstance(node, ast.ClassDef):
            yield from _test_functions(node.body, f"{prefix}{node.name}::")
        else:
            yield from _test_functions(ast.iter_child_nodes(node), prefix)


def _own_nodes(function: ast.AST) -> list[ast.AST]:
    """The nodes of a function, without those of nested functions and classes."""
    found: list[ast.AST] = []
    waiting = [function]
    for node in waiting:
        inner = list(ast.iter_child_nodes(node))
        found += inner
        waiting += [each for each in inner if not isinstance(each, SCOPES)]
    return found


def _is_generator(function: Function) -> bool:
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in _own_nodes(function))


def _call(mark: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Constant(mark), list(arguments), [])


def _placed(node: Node, place: ast.AST) -> Node:
    """The node, after every part without a line number got that of another node."""
    for each in ast.walk(node):
        if isinstance(each, (ast.expr, ast.stmt)) and not hasattr(each, "lineno"):
            ast.copy_location(each, place)
    return node


def _confirm_ends(function: Function, name: str, token: str, marks: Mapping[str, str]) -> None:
    def confirming() -> ast.Call:
        return _call(marks["confirm"], ast.Constant(name), ast.Constant(token))

    for node in _own_nodes(function):
        if isinstance(node, ast.Return):
            value = node.value or ast.Constant(None)
            both = ast.Tuple([value, confirming()], ast.Load())  # the value is evaluated first, as before
            node.value = _placed(ast.Subscript(both, ast.Constant(0), ast.Load()), node)
    last = function.body[-1]
    function.body.append(_placed(ast.Expr(confirming()), last))


def _report_failures(body: list[ast.stmt], mark: str) -> None:
    """Insert the call before each `raise AssertionError(...)` that the test itself does not expect."""
    for index, node in reversed(list(enumerate(body))):
        if _raises_assertion(node):
            body.insert(index, _placed(ast.Expr(_call(mark)), node))
        elif not isinstance(node, SCOPES):
            for inner in _inner_bodies(node):
                _report_failures(inner, mark)


def _raises_assertion(node: ast.stmt) -> bool:
    raised = node.exc if isinstance(node, ast.Raise) else None
    return isinstance(raised, ast.Call) and isinstance(raised.func, ast.Name) and raised.func.id == "AssertionError"


def _inner_bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement, except those in which the test itself expects or catches an exception."""
    expects = isinstance(node, (ast.With, ast.AsyncWith)) and any(_is_expecting(item) for item in node.items)
    takes = bool(getattr(node, "handlers", ()))
    if not expects and not takes:
        yield from (field for name, field in ast.iter_fields(node) if name in ("body", "finalbody"))
    yield from (field for name, field in ast.iter_fields(node) if name == "orelse")
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _is_expecting(item: ast.withitem) -> bool:
    called = item.context_expr
    return isinstance(called, ast.Call) and _last_name(called.func) in EXPECTING


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _replace_comparisons(tree: ast.Module, receivers: frozenset[str], marks: Mapping[str, str]) -> None:
    """Replace comparisons by calls, and attribute lookups in objects that assertions rely on."""
    own = {id(node) for function, _ in _test_functions(tree.body) for node in _own_nodes(function)}

    def called(node: ast.expr, kind: str, *operands: ast.expr) -> ast.Call:
        if id(node) in own:
            return _placed(_call(marks["own"], ast.Constant(kind), *operands), node)
        return _placed(_call(marks[kind], *operands), node)

    def replaced(node: Any) -> Any:
        if not isinstance(node, ast.AST):
            return node
        _replace_in(node, replaced)
        if isinstance(node, ast.Compare) and not _is_unchanged(node):
            kind, *order = _comparison(node)
            return called(node, kind, *order, node.left, node.comparators[0])
        if isinstance(node, ast.Call):
            _replace_arguments(node, called)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in receivers:
            node.value = called(node, "sound", node.value)
        return node

    _replace_in(tree, replaced)


def _replace_in(tree: ast.AST, replaced: Callable[[Any], Any]) -> None:
    for name, field in ast.iter_fields(tree):
        if isinstance(field, list):
            field[:] = map(replaced, field)
        elif isinstance(field, ast.AST):
            setattr(tree, name, replaced(field))


def _replace_arguments(node: ast.Call, called: Callable[..., ast.Call]) -> None:
    """Wrap the first arguments of `assert...` methods and of `isinstance` in calls."""
    name = _last_name(node.func)
    if len(node.args) < 2 or any(isinstance(each, ast.Starred) for each in node.args[:2]):  # noqa: PLR2004  -- a pair
        return
    if name.startswith("assert"):
        both = called(node, "pair", *node.args[:2])
        node.args[:2] = [_placed(ast.Starred(both, ast.Load()), node)]
    elif name == "isinstance":
        node.args[0] = called(node, "plain", node.args[0])


def _is_unchanged(node: ast.Compare) -> bool:
    """Whether a comparison is a chain, one of identity, or part of pytest's explanations."""
    right = node.comparators[0]
    is_explaining = isinstance(right, ast.Call) and _last_name(right.func) == "locals"
    return len(node.ops) > 1 or is_explaining or isinstance(node.ops[0], (ast.Is, ast.IsNot))


def _comparison(node: ast.Compare) -> tuple[Any, ...]:
    """The name of the call that replaces a comparison, and the kind of order if it is one."""
    kind = type(node.ops[0])
    return (COMPARING[kind],) if kind in COMPARING else ("ordered", ast.Constant(ORDERING[kind]))


def _filled(code: CodeType, values: Mapping[str, Any], confirm: Callable[..., None], holding: set[int]) -> CodeType:
    """The code with the marks among its constants replaced by their values."""
    inner = type(code)
    constants = tuple(
        _filled(each, values, confirm, holding)
        if isinstance(each, inner)
        else values.get(each, each)
        if isinstance(each, str)
        else each
        for each in code.co_consts
    )
    made = code.replace(co_consts=constants)
    if any(each is confirm for each in constants):
        holding.add(id(made))
    return made


# --- the functions that the tests' code calls; all are sealed ---------------------------------------------------------


def calls_for_tests(
    send: Callable[..., None], tamper: Tamper, look: Callable[[], list[str]], **rest: Any
) -> dict[str, Any]:
    """The functions that `compile_tests` puts into the code.

    `look` lists changes to what assertions rely on. `rest` are `owner_of`, which finds the owner of a function;
    `is_of_tests`, whether the tests made an object that is equal to more than itself; `is_judged`, whether this is the
    candidate's process and not a fork of it; and `end`, which ends the process.
    """
    owner_of, is_of_tests = rest["owner_of"], rest["is_of_tests"]

    def report(wrong: str) -> None:
        if wrong:
            tamper(wrong)

    def looked() -> None:
        report("; ".join(look()))

    def compared(left: Any, right: Any) -> None:
        report(wrong_with_comparison(left, right, owner_of, is_of_tests))

    def contained(member: Any, container: Any) -> None:
        report(wrong_with_membership(member, container, owner_of, is_of_tests))

    def arranged(left: Any, right: Any) -> None:
        report(wrong_with_order(left, right, owner_of))

    def classed(value: Any) -> None:
        report(wrong_with_class(value, owner_of))

    calls: dict[str, Any] = {
        "confirm": sealed(confirm, send=send, looked=looked),
        "failed": sealed(failed, send=send),
        "same": sealed(same, compared=compared, scalars=SCALARS),
        "differ": sealed(differ, compared=compared, scalars=SCALARS),
        "within": sealed(within, contained=contained),
        "without": sealed(without, contained=contained),
        "ordered": sealed(ordered, arranged=arranged, orders={"lt": lt, "le": le, "gt": gt, "ge": ge}),
        "pair": sealed(pair, compared=compared),
        "plain": sealed(plain, classed=classed),
        "sound": sealed(sound, looked=looked),
    }
    return {**calls, "own": sealed(own, calls=dict(calls), is_judged=rest["is_judged"], end=rest["end"])}


def confirm(name: str, token: str, *, send: Callable[..., None], looked: Callable[[], None]) -> None:
    """Confirm the end of a test, after a look for changes to what its assertions rely on."""
    looked()
    send("confirmed", "name", name, "token", token)


def failed(*, send: Callable[..., None]) -> None:
    """Report that an assertion of a test failed, whatever happens to the exception."""
    send("assertion_failed")


def own(
    kind: str, *operands: Any, calls: Mapping[str, Any], is_judged: Callable[[], bool], end: Callable[[], None]
) -> Any:
    """Compare in a test's own body, but end a forked process: it might try out answers."""
    __tracebackhide__ = True
    if not is_judged():
        end()
    return calls[kind](*operands)


def same(left: Any, right: Any, *, compared: Callable[[Any, Any], None], scalars: frozenset[type]) -> Any:
    """`left == right`."""
    __tracebackhide__ = True
    if type(left) not in scalars or type(right) not in scalars:
        compared(left, right)
    return left == right


def differ(left: Any, right: Any, *, compared: Callable[[Any, Any], None], scalars: frozenset[type]) -> Any:
    """`left != right`."""
    __tracebackhide__ = True
    if type(left) not in scalars or type(right) not in scalars:
        compared(left, right)
    return left != right


def within(member: Any, container: Any, *, contained: Callable[[Any, Any], None]) -> bool:
    """`member in container`."""
    __tracebackhide__ = True
    contained(member, container)
    return member in container


def without(member: Any, container: Any, *, contained: Callable[[Any, Any], None]) -> bool:
    """`member not in container`."""
    __tracebackhide__ = True
    contained(member, container)
    return member not in container


def ordered(
    order: str, left: Any, right: Any, *, arranged: Callable[[Any, Any], None], orders: Mapping[str, Any]
) -> Any:
    """`left < right`, or another order."""
    __tracebackhide__ = True
    arranged(left, right)
    return orders[order](left, right)


def pair(left: Any, right: Any, *, compared: Callable[[Any, Any], None]) -> tuple[Any, Any]:
    """The first two arguments of an `assert...` method, after a look at them."""
    __tracebackhide__ = True
    compared(left, right)
    return left, right


def sound(value: Any, *, looked: Callable[[], None]) -> Any:
    """A module or a test, after a look for changes; a name is about to be looked up in it."""
    __tracebackhide__ = True
    looked()
    return value


def plain(value: Any, *, classed: Callable[[Any], None]) -> Any:
    """The first argument of `isinstance`, after a look at its class."""
    __tracebackhide__ = True
    classed(value)
    return value
