"""What the libraries that judge are made of, noted before the solution is imported, and what is not as it was."""

from __future__ import annotations

import sys
from operator import is_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any, Final, TypeAlias

    Names: TypeAlias = Mapping[str, Any]
    Holder: TypeAlias = tuple[str, Names, tuple[str, ...], tuple[Any, ...]]  # and what the names stood for
    Differences: TypeAlias = Callable[[], list[str]]

GUARDED: Final = frozenset(
    ("builtins", "pytest", "_pytest", "pluggy", "unittest", "importlib", "_frozen_importlib", "ast", "io", "os")
) | {"_frozen_importlib_external", "pathlib", "posix", "functools", "contextlib", "_signal", "_imp"}
ASSERTING: Final = ("pytest", "_pytest.raises", "_pytest.python_api", "_pytest.outcomes", "_pytest.assertion.rewrite")
DESCRIPTORS: Final = (property, classmethod, staticmethod)
MAX_TOLD: Final = 5


def note_libraries(plugins: Any, imported: Collection[str], patched: Collection[str]) -> Differences:
    """Note pytest, unittest, importlib, builtins and the like, and the modules that the tests have `imported`.

    In the latter, what the tests may replace themselves is left out: `patched`, by name.
    """
    guarded = [name for name in sys.modules if name.partition(".")[0] in GUARDED]
    tested = [name for name in dict.fromkeys((*imported, *_testing())) if name in sys.modules and name not in guarded]
    modules = {name: sys.modules[name] for name in (*guarded, *tested)}
    known_plugins = set(plugins.get_plugins())
    holders: list[Holder] = []
    seen: set[int] = set()
    for name in guarded:
        _take(name, vars(modules[name]), GUARDED, (holders, seen, ()))
    for name in tested:
        _take(name, vars(modules[name]), (name.partition(".")[0],), (holders, seen, patched))

    def differences() -> list[str]:
        found = [
            f"sys.modules[{name!r}] was replaced" for name in modules if sys.modules.get(name) is not modules[name]
        ]
        found += replaced(holders)
        if set(plugins.get_plugins()) - known_plugins:
            found.append("a plugin was registered with pytest")
        if sys.gettrace() is not None or sys.getprofile() is not None:
            found.append("a trace or profile function was set")
        return found[:MAX_TOLD]

    return differences


def note_asserting(tests: Names, imported: Collection[str], patched: Collection[str]) -> Differences:
    """Note the few things that an assertion rests on, so that they can be held against what is there while it is made.

    `imported` are modules that the tests import; what they may replace themselves, `patched`, is left out.
    """
    import builtins
    import unittest.case

    names = [name for name in tests if name not in patched and not name.startswith("__")]
    holders = [_held("a name of the tests", tests, names)]
    classes = [part for part in tests.values() if isinstance(part, type) and part.__module__ == tests["__name__"]]
    holders += [_held(part.__name__, vars(part), _callables(vars(part))) for part in classes]
    cases = vars(unittest.case.TestCase)
    holders.append(_held("unittest.TestCase", cases, _callables(cases)))
    for name in dict.fromkeys((*ASSERTING, *_testing(), *imported)):
        if name in sys.modules:
            now = vars(sys.modules[name])
            left_out = () if name in ASSERTING else patched
            holders.append(_held(name, now, [each for each in _callables(now) if each not in left_out]))
    shadowing = [name for name in vars(builtins) if name not in tests and name not in patched]

    def differences() -> list[str]:
        found = replaced(holders)
        found += [f"{name} was put before the builtin in the tests' module" for name in shadowing if name in tests]
        return found[:MAX_TOLD]

    return differences


def replaced(holders: Iterable[Holder]) -> list[str]:
    """A sentence for each name that stands for something else by now; one that is gone stands for nothing."""
    found = []
    for holder, now, names, parts in holders:
        if not all(map(is_, map(now.get, names), parts)):
            found += [
                f"{holder}.{name} was replaced"
                for name, part in zip(names, parts, strict=True)
                if now.get(name) is not part
            ]
    return found


def _held(holder: str, now: Names, names: Iterable[str]) -> Holder:
    kept = tuple(names)
    return holder, now, kept, tuple(now[name] for name in kept)


def _testing() -> list[str]:
    """The loaded modules that libraries offer for tests."""
    return [name for name in sys.modules if name in ("numpy.testing", "pandas.testing") or name.endswith(_PRIVATE)]


_PRIVATE: Final = ("numpy.testing._private.utils", "pandas._testing", "pandas._testing.asserters")


def _callables(names: Names) -> list[str]:
    return [name for name, part in names.items() if callable(part) or isinstance(part, DESCRIPTORS)]


def _take(
    holder: str, names: Names, tops: Collection[str], noted: tuple[list[Holder], set[int], Collection[str]]
) -> None:
    """Note a module's or class's names, and each class of the same libraries that they lead to once: many share it."""
    holders, seen, left_out = noted
    held = _held(holder, names, [name for name in _callables(names) if name not in left_out])
    holders.append(held)
    for name, part in zip(held[2], held[3], strict=True):
        if isinstance(part, type) and id(part) not in seen and part.__module__.partition(".")[0] in tops:
            seen.add(id(part))
            _take(f"{holder}.{name}", vars(part), tops, noted)
