"""An audit hook that sees a solution reach for the frames, the objects and the code of those who judge it.

A hook cannot be removed, and is asked before an operation goes on: what it objects to is told over the sealed channel,
and the process ends there. It objects to who asks more than to what is asked for (`callers`).
"""

from __future__ import annotations

import os
import re
import sys
from _thread import get_ident
from operator import attrgetter
from types import FunctionType, ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from types import CodeType, FrameType
    from typing import Any, Final, TypeAlias

    Place: TypeAlias = tuple[str, str]  # whose a file is, and where it lies in the library's folder
    PlaceOf: TypeAlias = Callable[[str], Place]
    Check: TypeAlias = Callable[[str, tuple[Any, ...]], str]  # what is wrong, nothing where nothing is

# Whose code it is that asks for something, and what of this is not to be.

UNTRUSTED, LIBRARY, OWN, TESTS = "untrusted", "library", "own", "tests"
OF_CODE: Final = frozenset(("__code__", "f_code", "gi_code", "cr_code", "ag_code"))
OF_WATCH: Final = ("<suite_runner>/audit.py",)
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


OF_FRAMES: Final = frozenset(("tb_frame", "gi_frame", "cr_frame", "ag_frame"))
OF_FUNCTIONS: Final = frozenset(("__code__", "__defaults__", "__kwdefaults__"))
# The names by which code asks for frames and the like.
ASKING: Final = OF_FRAMES | {
    *("_getframe", "getframe", "get_frame", "currentframe", "f_back", "stack", "walk_stack", "walk_tb"),
    *("find_stack_level", "settrace", "setprofile", "register_callback"),
    *("get_objects", "get_referrers", "get_referents"),
}
RUNNING: Final = frozenset(("exec", "eval", "compile"))
JUDGING: Final = frozenset(("_pytest", "pluggy", "unittest", "contextlib", "functools"))
IMPORTING: Final = frozenset(("<frozen importlib", "importlib", "ctypes"))
NATIVE: Final = frozenset(
    ("ctypes", "_ctypes", "cffi", "_cffi_backend", "_testcapi", "_testinternalcapi", "_testlimitedcapi")
) | {"_interpreters", "_xxsubinterpreters"}
# What marshal keeps of code: its type, and how many arguments it takes, of three kinds.
CODE_RECORD: Final = re.compile(rb"[c\xe3].\0\0\0.\0\0\0.\0\0\0", re.DOTALL)
NATIVE_EVENTS: Final = (
    *("ctypes.dlopen", "ctypes.dlsym", "ctypes.dlsym/handle", "ctypes.string_at", "ctypes.wstring_at"),
    *("ctypes.cdata", "ctypes.cdata/buffer", "ctypes.addressof", "ctypes.call_function"),
)
WRITING: Final = 3  # open(2): the bits of the mode
FORBIDDEN: Final = {
    "sys.addaudithook": "added an audit hook",
    "cpython.PyInterpreterState_New": "made another interpreter",
    "sys.remote_exec": "had another process run code",
}
LOOKING: Final = {
    "sys._getframe": "looked at the frames of its callers",
    "sys._current_frames": "looked at the frames of all threads",
    "sys._current_exceptions": "looked at the exceptions of all threads",
    "sys.settrace": "set a trace function",
    "sys.setprofile": "set a profile function",
    "sys.monitoring.register_callback": "set a function that watches what runs",
    "gc.get_objects": "looked through all objects",
    "gc.get_referrers": "looked for what refers to an object",
    "gc.get_referents": "looked for what an object refers to",
}


def on_event(
    event: str,
    args: tuple[Any, ...],
    *,
    checks: Mapping[str, Check],
    expected: dict[int, str],
    thread: Callable[[], int],
    tamper: Callable[[str], None],
) -> None:
    """The audit hook. What is read of an object goes by the attribute's name, everything else by the event's."""
    check = checks.get(args[1] if event == "object.__getattr__" else event)
    if check is None:
        return
    if expected and expected.get(thread()) == event:
        del expected[thread()]
        return
    wrong = check(event, args)
    if wrong:
        tamper(wrong)


def hook_values(place_of: PlaceOf, sealed: Collection[FunctionType], holding: Collection[int]) -> dict[str, Any]:
    """What `on_event` needs, besides `tamper`.

    Nobody may look into the functions `sealed`, and no untrusted code at code of which the id is in `holding`.
    """
    look, native, make = _looking(place_of), _native(place_of), _making_code(place_of)
    into = _looking_into(place_of, sealed, holding)
    checks: dict[str, Check] = dict.fromkeys((*LOOKING, *OF_FRAMES), look)
    checks |= dict.fromkeys(FORBIDDEN, lambda event, _: f"the solution {FORBIDDEN[event]}")
    checks |= dict.fromkeys((*OF_FUNCTIONS, *OF_CODE), into)
    checks |= dict.fromkeys(("import", *NATIVE_EVENTS), native)
    checks |= dict.fromkeys(("code.__new__", "marshal.loads", "marshal.load"), make)
    checks |= {"open": _opening, "os.kill": _killing(os.getppid()), "exec": _executing(place_of)}
    checks |= {"compile": _compiling(place_of), "object.__setattr__": _setting(place_of)}
    return {"checks": checks, "expected": EXPECTED, "thread": get_ident}


# --- what is wrong ----------------------------------------------------------------------------------------------------


def _looking(place_of: PlaceOf) -> Check:
    def check(event: str, args: tuple[Any, ...]) -> str:
        what = LOOKING.get(event) or f"took a frame ({args[1]}) of an exception, a generator or a coroutine"
        first = asker = caller()
        while asker is not None and hands_on(code_of(asker), place_of):
            asker = asker.f_back
        if asker is None or first is None:
            return f"the solution {what}"
        code = code_of(asker)
        whose, inside = place_of(code.co_filename)
        if whose == OWN and code.co_filename not in OF_WATCH:
            return ""
        is_named = not hides(code, ASKING)
        is_kin = asker is not first and top_of(inside) == top_of(place_of(code_of(first).co_filename)[1])
        return "" if whose in (LIBRARY, TESTS) and (is_named or is_kin) else f"{where(asker)} {what}"

    return check


def _looking_into(place_of: PlaceOf, sealed: Collection[FunctionType], holding: Collection[int]) -> Check:
    def check(_: str, args: tuple[Any, ...]) -> str:
        holder, name = args
        if type(holder) is FunctionType and holder in sealed:
            return "the solution looked into a function of the test runner"
        if name not in OF_CODE or id(code_of(holder, name)) not in holding:
            return ""
        frame, what = caller(), "looked into the code of a test"
        if name != "__code__":  # of a frame or a coroutine, which libraries look at to tell where something is
            return objection(frame, what, frozenset((name,)), place_of)
        while frame is not None and place_of(code_of(frame).co_filename)[0] != UNTRUSTED:
            frame = frame.f_back
        return f"{where(frame)} {what}" if frame is not None else ""

    return check


def _setting(place_of: PlaceOf) -> Check:
    def check(_: str, args: tuple[Any, ...]) -> str:
        holder, name = args[:2]
        if name in OF_FUNCTIONS and type(holder) is FunctionType:
            is_own = place_of(code_of(holder, "__code__").co_filename)[0] == UNTRUSTED
        elif name == "__class__" and isinstance(holder, ModuleType):
            is_own = vars(holder).get("__name__") == "solution"
        else:
            is_own = name != "__bases__" or getattr(holder, "__module__", "") == "solution"
        what = f"replaced {name} of {getattr(holder, '__qualname__', 'a module')}"
        return "" if is_own else objection(caller(), what, frozenset((name,)), place_of)

    return check


def _native(place_of: PlaceOf) -> Check:
    def check(event: str, args: tuple[Any, ...]) -> str:
        if event == "import" and args[0] not in NATIVE:
            return ""
        frame = caller()
        while frame is not None and top_of(place_of(code_of(frame).co_filename)[1]) in IMPORTING:
            frame = frame.f_back
        if frame is not None and place_of(code_of(frame).co_filename)[0] != UNTRUSTED:
            return ""
        return f"{where(frame)} reached below Python ({args[0] if event == 'import' else event})"

    return check


def _opening(_: str, args: tuple[Any, ...]) -> str:
    path, _mode, flags = args
    if type(path) is not str or not path.startswith("/proc/") or not isinstance(flags, int):
        return ""
    return f"the solution opened {path}" if flags & WRITING or path.endswith("/mem") else ""


def _killing(parent: int) -> Check:
    def check(_: str, args: tuple[Any, ...]) -> str:
        return "the solution ended the process that watches the tests" if args[0] in (parent, -1) else ""

    return check


def _executing(place_of: PlaceOf) -> Check:
    """Whether `exec` or `eval` was handed to a test, or to a library that tests, and so runs among its names."""

    def check(event: str, _: tuple[Any, ...]) -> str:
        frame = caller()
        if frame is None:
            return ""
        code = code_of(frame)
        whose, inside = place_of(code.co_filename)
        is_judging = whose == TESTS or top_of(inside) in JUDGING
        return f"the solution had {where(frame)} {event} code" if is_judging and hides(code, RUNNING) else ""

    return check


def _compiling(place_of: PlaceOf) -> Check:
    def check(_: str, args: tuple[Any, ...]) -> str:
        file = args[1]
        if type(file) is not str or place_of(file)[0] == UNTRUSTED:
            return ""
        frame = caller()
        if frame is not None and top_of(place_of(code_of(frame).co_filename)[1]) in IMPORTING:
            return ""
        return objection(frame, f"gave out its code for that of {file}", RUNNING, place_of)

    return check


def _making_code(place_of: PlaceOf) -> Check:
    def check(event: str, args: tuple[Any, ...]) -> str:
        if event == "marshal.loads" and isinstance(args[0], bytes) and not CODE_RECORD.search(args[0]):
            return ""
        frame = caller()
        is_untrusted = frame is None or place_of(code_of(frame).co_filename)[0] == UNTRUSTED
        return f"{where(frame)} made code out of data ({event})" if is_untrusted else ""

    return check
