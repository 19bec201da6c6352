"""What stands in the tests' code, in their module's place and before a few doors of the interpreter: all sealed."""

from __future__ import annotations

import _imp
import signal
import sys
from functools import partial
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType

from flyteplugins_codegen.sandbox.suite_runner.equality import (
    SCALARS,
    wrong_with_class,
    wrong_with_comparison,
    wrong_with_membership,
)
from flyteplugins_codegen.sandbox.suite_runner.sealing import sealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Final, TypeAlias

    Tamper: TypeAlias = Callable[[str], None]

MADE_ONCE: Final = frozenset(("_signal", "_imp"))


# --- in the tests' code -----------------------------------------------------------------------------------------------


def calls_for_tests(
    send: Callable[..., None], tamper: Tamper, look: Callable[[], list[str]], **rest: Any
) -> dict[str, Any]:
    """The functions that `rewriting.compile_tests` puts into the code.

    `look` tells what is not as it was of what assertions rest on. `rest` are `is_trusted`, which tells whether a
    function is the tests' or a library's, `is_judged`, which tells whether this is the process that is judged and not a
    fork of it, and `end`, which ends it.
    """
    is_trusted = rest["is_trusted"]

    def told(wrong: str) -> None:
        if wrong:
            tamper(wrong)

    def looked() -> None:
        told("; ".join(look()))

    def compared(left: Any, right: Any) -> None:
        told(wrong_with_comparison(left, right, is_trusted))

    def contained(member: Any, container: Any) -> None:
        told(wrong_with_membership(member, container, is_trusted))

    def classed(value: Any) -> None:
        told(wrong_with_class(value, is_trusted))

    calls: dict[str, Any] = {
        "confirm": sealed(confirm, send=send, looked=looked),
        "failed": sealed(failed, send=send),
        "same": sealed(same, compared=compared, scalars=SCALARS),
        "differ": sealed(differ, compared=compared, scalars=SCALARS),
        "within": sealed(within, contained=contained),
        "without": sealed(without, contained=contained),
        "pair": sealed(pair, compared=compared, looked=looked),
        "plain": sealed(plain, classed=classed),
        "sound": sealed(sound, looked=looked),
    }
    return {**calls, "own": sealed(own, calls=dict(calls), is_judged=rest["is_judged"], end=rest["end"])}


def confirm(name: str, token: str, *, send: Callable[..., None], looked: Callable[[], None]) -> None:
    """Say that a test came to its end, with what its assertions rest on as it was."""
    looked()
    send("confirmed", "name", name, "token", token)


def failed(*, send: Callable[..., None]) -> None:
    """Say that an assertion of a test failed, whatever becomes of the exception."""
    send("assertion_failed")


def own(
    kind: str, *operands: Any, calls: Mapping[str, Any], is_judged: Callable[[], bool], end: Callable[[], None]
) -> Any:
    """Compare in a test's own body: in the process that is judged, and not in one that tries answers out."""
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


def pair(left: Any, right: Any, *, compared: Callable[[Any, Any], None], looked: Callable[[], None]) -> tuple[Any, Any]:
    """The first two arguments of an `assert...` method."""
    __tracebackhide__ = True
    looked()
    compared(left, right)
    return left, right


def sound(value: Any, *, looked: Callable[[], None]) -> Any:
    """The last argument of a function that was looked up just now, and might be another for this one call."""
    __tracebackhide__ = True
    looked()
    return value


def plain(value: Any, *, classed: Callable[[Any], None]) -> Any:
    """The first argument of `isinstance`."""
    __tracebackhide__ = True
    classed(value)
    return value


# --- in the place of the tests' module --------------------------------------------------------------------------------


def stand_in(names: dict[str, Any], asker: Callable[[int], str], tamper: Tamper) -> ModuleType:
    """A module for `sys.modules` that gives the tests' names to anyone but the solution.

    A solution gets functions and classes that are no tests (pickle looks them up for it); anything else, such as what
    the tests expect, is not its to read.
    """
    values = {"names": names, "asker": asker, "tamper": tamper}
    kind = type(
        "module",
        (ModuleType,),
        {
            "__getattribute__": sealed(
                read_name, **values, shared=(FunctionType, type), base=ModuleType.__getattribute__
            ),
            "__setattr__": sealed(set_name, **values),
            "__delattr__": sealed(delete_name, **values),
        },
    )
    module: ModuleType = kind(names["__name__"])
    return module


def read_name(  # noqa: PLR0913  -- all that it uses: see `sealing`
    module: ModuleType,
    name: str,
    *,
    names: dict[str, Any],
    asker: Callable[[int], str],
    tamper: Tamper,
    shared: tuple[type, ...],
    base: Callable[[ModuleType, str], Any],
) -> Any:
    """`module.name`."""
    if name == "__dict__":
        value: Any = names
    elif name not in names:
        return base(module, name)
    else:
        value = names[name]
        if name[:2] == "__" or (type(value) in shared and name[:4].lower() != "test"):
            return value
    where = asker(2)
    if where:
        tamper(f"{where} read the tests: {name}")
    return value


def set_name(
    _module: ModuleType, name: str, value: Any, *, names: dict[str, Any], asker: Callable[[int], str], tamper: Tamper
) -> None:
    """`module.name = value`."""
    where = asker(2)
    if where:
        tamper(f"{where} changed the tests: {name}")
    names[name] = value


def delete_name(
    _module: ModuleType, name: str, *, names: dict[str, Any], asker: Callable[[int], str], tamper: Tamper
) -> None:
    """`del module.name`."""
    where = asker(2)
    if where:
        tamper(f"{where} changed the tests: {name}")
    if name not in names:
        raise AttributeError(name)
    del names[name]


# --- doors of the interpreter -----------------------------------------------------------------------------------------


def guard_doors(tamper: Tamper) -> None:
    """Give no frame to a signal's handler, and no second `_signal` to anyone, which would have no such guard."""
    wrapped = {"partial": partial, "frameless": _without_frame}
    signals = vars(sys.modules["_signal"])
    known = (signal.default_int_handler, int)
    signals["signal"] = sealed(set_handler, original=signals["signal"], known=known, **wrapped)
    signals["getsignal"] = sealed(handler_of, original=signals["getsignal"], **wrapped)
    making = {"tamper": tamper, "spec_type": ModuleSpec, "once": MADE_ONCE}
    vars(_imp)["create_builtin"] = sealed(create_builtin, original=_imp.create_builtin, **making)


def _without_frame(handler: Callable[[int, Any], Any], number: int, _frame: Any) -> Any:
    return handler(number, None)


def set_handler(
    number: int, handler: Any, *, original: Any, known: tuple[Any, type], partial: Any, frameless: Any
) -> Any:
    """`_signal.signal`."""
    if handler is not known[0] and handler is not None and not isinstance(handler, known[1]):
        handler = partial(frameless, handler)
    before = original(number, handler)
    return before.args[0] if type(before) is partial and before.func is frameless else before


def handler_of(number: int, *, original: Any, partial: Any, frameless: Any) -> Any:
    """`_signal.getsignal`."""
    found = original(number)
    return found.args[0] if type(found) is partial and found.func is frameless else found


def create_builtin(spec: Any, *, original: Any, tamper: Tamper, spec_type: Any, once: frozenset[str]) -> Any:
    """`_imp.create_builtin`."""
    if type(spec) is not spec_type or spec.name in once:
        tamper("the solution made a second module of the interpreter's own")
    return original(spec)


def leave_main() -> None:
    """Put an empty module in the place of the program that runs, so that `import __main__` leads nowhere."""
    sys.modules["__main__"] = ModuleType("__main__")
