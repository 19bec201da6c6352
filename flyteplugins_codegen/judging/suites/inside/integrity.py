"""Protects what the tests rely on: the contents of libraries, the tests' module, `pytest.approx`, and a few builtins.

`note_libraries` and `note_asserting` remember what modules and classes consist of, and find later changes. The other
functions replace objects by sealed ones, which the solution can call but not look into.
"""

from __future__ import annotations

import _imp
import signal
import sys
from functools import partial
from importlib.machinery import ModuleSpec
from operator import is_
from types import FunctionType, ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any, Final, TypeAlias

    Names: TypeAlias = Mapping[str, Any]
    Holder: TypeAlias = tuple[
        str, Names, tuple[str, ...], tuple[Any, ...], frozenset[str] | None, Callable[[str, Any], bool]
    ]
    Differences: TypeAlias = Callable[[], list[str]]
    from collections.abc import Callable
    from typing import Any

    Tamper: TypeAlias = Callable[[str], None]

GUARDED: Final = frozenset(
    ("builtins", "pytest", "_pytest", "pluggy", "unittest", "importlib", "_frozen_importlib", "ast", "io", "os")
) | {"_frozen_importlib_external", "pathlib", "posix", "functools", "contextlib", "_signal", "_imp"}
ASSERTING: Final = ("approx", "raises", "warns", "fail")  # functions of pytest
# These modules replace functions of their own, or exist to be configured.
CHANGING: Final = frozenset(("asyncio", "logging", "multiprocessing", "sys", "threading", "warnings"))
DESCRIPTORS: Final = (property, classmethod, staticmethod)
TESTING: Final = ("numpy.testing", "pandas.testing", "pandas._testing")
MAX_TOLD: Final = 5


def note_libraries(plugins: Any, imported: Collection[str], patched: Collection[str]) -> Differences:
    """Remember pytest, unittest, importlib, builtins and the like, and the modules that the tests have `imported`.

    In the latter, the names in `patched` are left out: the tests may replace them. The returned function lists changes.
    """
    guarded = [name for name in sys.modules if name.partition(".")[0] in GUARDED]
    tested = [name for name in _called_modules(imported) if name not in guarded]
    modules = {name: sys.modules[name] for name in (*guarded, *tested)}
    known_plugins = set(plugins.get_plugins())
    holders: list[Holder] = []
    seen: set[int] = set()
    for name in guarded:
        _remember(name, vars(modules[name]), GUARDED, (holders, seen, ()))
    for name in tested:
        _remember(name, vars(modules[name]), (name.partition(".")[0],), (holders, seen, patched))

    def differences() -> list[str]:
        found = [
            f"sys.modules[{name!r}] was replaced" for name in modules if sys.modules.get(name) is not modules[name]
        ]
        found += changes(holders)
        if set(plugins.get_plugins()) - known_plugins:
            found.append("a plugin was registered with pytest")
        if sys.gettrace() is not None or sys.getprofile() is not None:
            found.append("a trace or profile function was set")
        return found[:MAX_TOLD]

    return differences


def note_asserting(tests: Names, imported: Collection[str], patched: Collection[str]) -> Differences:
    """Remember the few objects that an assertion relies on; the returned function lists changes, even during a test.

    `imported` are modules that the tests import; the names in `patched`, which the tests may replace, are left out.
    """
    import builtins
    import unittest.case

    names = [name for name in tests if name not in patched and not name.startswith("__")]
    holders = [_held("a name of the tests", tests, names)]
    classes = [part for part in tests.values() if isinstance(part, type) and part.__module__ == tests["__name__"]]
    holders += [_held(part.__name__, vars(part), _callables(vars(part))) for part in classes]
    cases = vars(unittest.case.TestCase)
    holders.append(_held("unittest.TestCase", cases, _callables(cases)))
    pytest = sys.modules["pytest"]
    asserting = {"pytest", "_pytest.assertion.rewrite", *(getattr(pytest, name).__module__ for name in ASSERTING)}
    for name in dict.fromkeys((*asserting, *_called_modules(imported))):
        now = vars(sys.modules[name])
        left_out = () if name in asserting else patched
        holders.append(_held(name, now, [each for each in _callables(now) if each not in left_out]))
    shadowing = [name for name in vars(builtins) if name not in tests and name not in patched]

    def differences() -> list[str]:
        found = changes(holders)
        found += [f"{name} was put before the builtin in the tests' module" for name in shadowing if name in tests]
        return found[:MAX_TOLD]

    return differences


def changes(holders: Iterable[Holder]) -> list[str]:
    """A sentence for each name that now has another object, and for each that was added to a class."""
    found = []
    for holder, now, names, parts, known, stays in holders:
        if not all(map(is_, map(now.get, names), parts)):
            pairs = [(name, part) for name, part in zip(names, parts, strict=True) if now.get(name) is not part]
            found += [f"{holder}.{name} was replaced" for name, part in pairs if stays(name, part)]
        if known is not None and len(now) != len(known):
            found += [f"{holder}.{name} was added" for name in _callables(now) if name not in known]
    return found


def _held(holder: str, now: Names, names: Iterable[str]) -> Holder:
    """A holder with these names, all of which must keep their objects."""
    kept = tuple(names)
    return holder, now, kept, tuple(now[name] for name in kept), _known(now), lambda _name, _part: True


def _held_whole(holder: str, now: Names, left_out: Collection[str]) -> Holder:
    """A holder with all names; functions, classes and the like must stay. Selecting them ahead would take longer."""
    return holder, now, tuple(now), tuple(now.values()), _known(now), lambda name, part: _is_kept(name, part, left_out)


def _known(now: Names) -> frozenset[str] | None:
    return None if type(now) is dict else frozenset(now)


def _is_kept(name: str, part: Any, left_out: Collection[str]) -> bool:
    return name not in left_out and (callable(part) or isinstance(part, DESCRIPTORS))


def _called_modules(imported: Collection[str]) -> list[str]:
    """The modules whose functions tests call, and those in which numpy and pandas keep their testing functions."""
    asked = [name for name in imported if name in sys.modules and name.partition(".")[0] not in CHANGING]
    return list(dict.fromkeys((*asked, *(name for name in sys.modules if name.startswith(TESTING)))))


def _callables(names: Names) -> list[str]:
    return [name for name, part in names.items() if _is_kept(name, part, ())]


def _remember(
    holder: str, names: Names, tops: Collection[str], remembered: tuple[list[Holder], set[int], Collection[str]]
) -> None:
    """Remember the names of a module or class, and once each class of the same libraries among them."""
    holders, seen, left_out = remembered
    holders.append(_held_whole(holder, names, left_out))
    classes = [(name, part) for name, part in names.items() if isinstance(part, type) and name not in left_out]
    for name, part in classes:
        if id(part) not in seen and part.__module__.partition(".")[0] in tops:
            seen.add(id(part))
            _remember(f"{holder}.{name}", vars(part), tops, remembered)


# --- sealed functions -------------------------------------------------------------------------------------------------

_BUILTINS: Final = globals()["__builtins__"]
SEALED: Final[set[FunctionType]] = set()


def sealed(function: Callable[..., Any], **values: Any) -> Any:
    """A copy of the function with its keyword-only parameters bound.

    What it needs is in its keyword-only defaults and nowhere else: reading those, or its code, raises an audit event,
    while anybody can read a closure's cells and a function's globals. So its globals are empty, and it uses no names
    but its parameters and the builtins.
    """
    copy = FunctionType(function.__code__, {"__builtins__": _BUILTINS}, function.__name__)
    copy.__kwdefaults__ = values
    SEALED.add(copy)
    return copy


MADE_ONCE: Final = frozenset(("_signal", "_imp"))


# --- the substitute for the tests' module -----------------------------------------------------------------------------


def substitute_module(names: dict[str, Any], asker: Callable[[int], str], tamper: Tamper) -> ModuleType:
    """A module for `sys.modules` that gives the tests' names to all code but the solution's.

    The solution gets functions and classes that are not tests, since pickle looks them up for it. It must not read
    anything else, such as expected values.
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


def read_name(  # noqa: PLR0913  -- a sealed function has no other names: see `sealed`
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


# --- pytest.approx ----------------------------------------------------------------------------------------------------


def mark_approximations(pytest: Any, asker: Callable[[int], str]) -> Callable[[Any], bool]:
    """Have `pytest.approx` mark what it makes for other code than the solution; a function that sees the mark."""
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


# --- signals and built-in modules -------------------------------------------------------------------------------------


def guard_doors(tamper: Tamper) -> None:
    """Pass no frame to signal handlers, and refuse a second `_signal` module, which would be without this guard."""
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
    """Replace the running program by an empty module, so that `import __main__` leads nowhere."""
    sys.modules["__main__"] = ModuleType("__main__")
