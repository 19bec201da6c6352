"""What the libraries that judge are made of, noted before the solution is imported, and what is not as it was."""

from __future__ import annotations

import sys
from operator import is_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any, Final, TypeAlias

    Names: TypeAlias = Mapping[str, Any]
    # A module or class, what it holds now, names and what they stood for, all names of a class, and which are to stay
    Holder: TypeAlias = tuple[
        str, Names, tuple[str, ...], tuple[Any, ...], frozenset[str] | None, Callable[[str, Any], bool]
    ]
    Differences: TypeAlias = Callable[[], list[str]]

GUARDED: Final = frozenset(
    ("builtins", "pytest", "_pytest", "pluggy", "unittest", "importlib", "_frozen_importlib", "ast", "io", "os")
) | {"_frozen_importlib_external", "pathlib", "posix", "functools", "contextlib", "_signal", "_imp"}
ASSERTING: Final = ("approx", "raises", "warns", "fail")  # of pytest's
# They replace functions of theirs themselves, or are made to be told others.
CHANGING: Final = frozenset(("asyncio", "logging", "multiprocessing", "sys", "threading", "warnings"))
DESCRIPTORS: Final = (property, classmethod, staticmethod)
TESTING: Final = ("numpy.testing", "pandas.testing", "pandas._testing")
MAX_TOLD: Final = 5


def note_libraries(plugins: Any, imported: Collection[str], patched: Collection[str]) -> Differences:
    """Note pytest, unittest, importlib, builtins and the like, and the modules that the tests have `imported`.

    In the latter, what the tests may replace themselves is left out: `patched`, by name.
    """
    guarded = [name for name in sys.modules if name.partition(".")[0] in GUARDED]
    tested = [name for name in _asked_of(imported) if name not in guarded]
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
        found += changes(holders)
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
    pytest = sys.modules["pytest"]
    asserting = {"pytest", "_pytest.assertion.rewrite", *(getattr(pytest, name).__module__ for name in ASSERTING)}
    for name in dict.fromkeys((*asserting, *_asked_of(imported))):
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
    """A sentence for each name that stands for something else by now, or that a class did not have."""
    found = []
    for holder, now, names, parts, known, stays in holders:
        if not all(map(is_, map(now.get, names), parts)):
            pairs = [(name, part) for name, part in zip(names, parts, strict=True) if now.get(name) is not part]
            found += [f"{holder}.{name} was replaced" for name, part in pairs if stays(name, part)]
        if known is not None and len(now) != len(known):
            found += [f"{holder}.{name} was added" for name in _callables(now) if name not in known]
    return found


def _held(holder: str, now: Names, names: Iterable[str]) -> Holder:
    """These names, each of which is to stay."""
    kept = tuple(names)
    return holder, now, kept, tuple(now[name] for name in kept), _known(now), lambda _name, _part: True


def _held_whole(holder: str, now: Names, left_out: Collection[str]) -> Holder:
    """All names, of which functions, classes and the like are to stay: to pick those out ahead takes longer."""
    return holder, now, tuple(now), tuple(now.values()), _known(now), lambda name, part: _is_kept(name, part, left_out)


def _known(now: Names) -> frozenset[str] | None:
    return None if type(now) is dict else frozenset(now)


def _is_kept(name: str, part: Any, left_out: Collection[str]) -> bool:
    return name not in left_out and (callable(part) or isinstance(part, DESCRIPTORS))


def _asked_of(imported: Collection[str]) -> list[str]:
    """The modules of which tests call functions, and those in which numpy and pandas keep what their tests call."""
    asked = [name for name in imported if name in sys.modules and name.partition(".")[0] not in CHANGING]
    return list(dict.fromkeys((*asked, *(name for name in sys.modules if name.startswith(TESTING)))))


def _callables(names: Names) -> list[str]:
    return [name for name, part in names.items() if _is_kept(name, part, ())]


def _take(
    holder: str, names: Names, tops: Collection[str], noted: tuple[list[Holder], set[int], Collection[str]]
) -> None:
    """Note a module's or class's names, and each class of the same libraries that they lead to once: many share it."""
    holders, seen, left_out = noted
    holders.append(_held_whole(holder, names, left_out))
    classes = [(name, part) for name, part in names.items() if isinstance(part, type) and name not in left_out]
    for name, part in classes:
        if id(part) not in seen and part.__module__.partition(".")[0] in tops:
            seen.add(id(part))
            _take(f"{holder}.{name}", vars(part), tops, noted)
