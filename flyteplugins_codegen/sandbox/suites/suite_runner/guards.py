"""What stands in the place of the tests' module and of `pytest.approx`, and before doors of the interpreter: sealed."""

from __future__ import annotations

import _imp
import signal
import sys
from functools import partial
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType

from flyteplugins_codegen.sandbox.suites.suite_runner.sealing import sealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final, TypeAlias

    Tamper: TypeAlias = Callable[[str], None]

MADE_ONCE: Final = frozenset(("_signal", "_imp"))


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
            "__module__": names["__name__"],
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


# --- what tests approximate by ----------------------------------------------------------------------------------------


def mark_approximations(pytest: Any, asker: Callable[[int], str]) -> Callable[[Any], bool]:
    """Have `pytest.approx` mark what it makes for others than the solution; what tells by the mark is returned."""
    mark = object()
    marking = sealed(approx, original=pytest.approx, asker=asker, mark=mark)
    marking.__module__ = pytest.approx.__module__
    pytest.approx = marking

    def is_marked(value: Any) -> bool:
        return type(value).__module__.startswith("_pytest") and getattr(value, "of_tests", None) is mark

    return is_marked


def approx(*args: Any, original: Callable[..., Any], asker: Callable[[int], str], mark: object, **options: Any) -> Any:
    """`pytest.approx`."""
    made = original(*args, **options)
    if not asker(2):
        made.of_tests = mark
    return made


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
