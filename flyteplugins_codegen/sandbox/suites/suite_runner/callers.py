"""Whose code it is that asks for something, and what of this is not to be.

Code is a library's where its file lies in a library's folder. A library may look at frames (logging, warnings and
pandas do), unless it does so for somebody else. It does for its caller where that is what it is for (`inspect`), and
for whoever handed it a function where its code does not name what is asked at all (`executor.submit(sys._getframe)`).
"""

from __future__ import annotations

import sys
from _thread import get_ident
from operator import attrgetter
from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from types import CodeType, FrameType
    from typing import Any, Final, TypeAlias

    Place: TypeAlias = tuple[str, str]  # whose a file is, and where it lies in the library's folder
    PlaceOf: TypeAlias = Callable[[str], Place]

UNTRUSTED, LIBRARY, OWN, TESTS = "untrusted", "library", "own", "tests"
OF_CODE: Final = frozenset(("__code__", "f_code", "gi_code", "cr_code", "ag_code"))
OF_WATCH: Final = ("<suite_runner>/watch.py", "<suite_runner>/callers.py")
# Library code that hands on what it gets: whoever calls it is who asks. The functions, where not all of a file are.
STATES: Final = ("getgeneratorstate", "getcoroutinestate", "getasyncgenstate")  # of inspect, which hands out no frame
HANDING: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("inspect.py", "bdb.py", "pdb.py", "trace.py", "profile.py", "cProfile.py", "cgitb.py", "dis.py"), ()
    ),
    "_pytest/_code/code.py": (),
    "logging/__init__.py": ("currentframe", "<lambda>"),
    "traceback.py": ("walk_stack", "walk_tb"),
    "threading.py": ("settrace", "setprofile", "settrace_all_threads", "setprofile_all_threads"),
    "asyncio/base_tasks.py": ("_task_get_stack",),
    "asyncio/graph.py": ("capture_call_graph", "_build_graph_for_future"),
}
EXPECTED: Final[dict[int, str]] = {}  # by thread: the audit event that an operation of this file's is about to raise
_get_frame: Final = sys._getframe  # noqa: SLF001  -- the only way to a caller's code
_CODE_OF: Final = {name: attrgetter(name) for name in OF_CODE}


def places(folders: tuple[str, ...], tests: str, own: tuple[str, ...]) -> PlaceOf:
    """What tells whose a file is. `folders` are those of libraries, with a slash at their end, the longest first."""

    def place_of(file: str) -> Place:
        if file == tests:
            return TESTS, ""
        if file.startswith(own):
            return OWN, ""
        if file.startswith("<frozen "):
            return LIBRARY, file
        folder = next((each for each in folders if file.startswith(each)), None)
        return (UNTRUSTED, "") if folder is None else (LIBRARY, file[len(folder) :])

    return place_of


def owner_test(place_of: PlaceOf) -> Callable[[FunctionType], Place]:
    """What tells whose a function is."""
    return lambda function: place_of(code_of(function, "__code__").co_filename)


def asker_test(place_of: PlaceOf) -> Callable[[int], str]:
    """What tells where the untrusted code is that called, so many frames up; nothing if it was other code."""

    def asker(depth: int) -> str:
        frame = caller(depth)
        is_untrusted = frame is None or place_of(code_of(frame).co_filename)[0] == UNTRUSTED
        return where(frame) if is_untrusted else ""

    return asker


def _expecting(event: str, operation: Callable[..., Any], *args: Any) -> Any:
    """Do what raises an audit event without being asked about it; once, and in this thread only."""
    thread = get_ident()
    EXPECTED[thread] = event
    try:
        return operation(*args)
    finally:
        EXPECTED.pop(thread, None)


def caller(depth: int = 2) -> FrameType | None:
    """The frame so many above that of this function's caller; None where there is none.

    By default, for the checks, the one in which the event was raised.
    """
    try:
        frame: FrameType = _expecting("sys._getframe", _get_frame, 2 + depth)
    except ValueError:
        return None
    return frame


def code_of(holder: Any, name: str = "f_code") -> CodeType:
    """The code of a frame, or by another name of a function, a generator or a coroutine."""
    code: CodeType = _expecting("object.__getattr__", _CODE_OF[name], holder)
    return code


def objection(frame: FrameType | None, what: str, naming: Collection[str], place_of: PlaceOf) -> str:
    """What is wrong if untrusted code asks, or code that does not name what it does."""
    if frame is None:
        return f"the solution {what}"
    code = code_of(frame)
    whose, _ = place_of(code.co_filename)
    is_allowed = whose == OWN or (whose != UNTRUSTED and not hides(code, naming))
    return "" if is_allowed else f"{where(frame)} {what}"


def hides(code: CodeType, naming: Collection[str]) -> bool:
    """Whether code uses none of these names."""
    return set(naming).isdisjoint(_names(code))


def _names(code: CodeType) -> tuple[str, ...]:
    return code.co_names + code.co_freevars


def hands_on(code: CodeType, place_of: PlaceOf) -> bool:
    """Whether it is a library's that hands on what it gets, so that whoever calls it is who asks."""
    functions = HANDING.get(place_of(code.co_filename)[1])
    if functions is None or code.co_name in STATES:
        return False
    return not functions or code.co_name in functions


def top_of(inside: str) -> str:
    """The package, or the module without one; the kind of a frozen one."""
    return inside.partition("/")[0].partition(".")[0]


def where(frame: FrameType | None) -> str:
    """The file and the line, as in `solution.py:3`."""
    if frame is None:
        return "the solution"
    return f"{code_of(frame).co_filename.rpartition('/')[2]}:{frame.f_lineno}"
