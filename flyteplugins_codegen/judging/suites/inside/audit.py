"""An audit hook that notices when a solution reaches for frames, objects or code of the tests and of this program.

A hook cannot be removed, and is called before an operation takes place. What it objects to is reported over the sealed
channel, and the process ends there. It looks more at who asks than at what is asked for.
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

    CodeOrigin: TypeAlias = tuple[str, str]  # the owner of a file, and its path in the library's folder
    OriginOf: TypeAlias = Callable[[str], CodeOrigin]
    Check: TypeAlias = Callable[[str, tuple[Any, ...]], str]  # what is wrong, or an empty text

UNTRUSTED, LIBRARY, OWN, TESTS = "untrusted", "library", "own", "tests"
CODE_NAMES: Final = frozenset(("__code__", "f_code", "gi_code", "cr_code", "ag_code"))
AUDIT_FILES: Final = ("<suite_runner>/audit.py",)
# Library code that only forwards a request: its caller is who asks. With the functions if it is not the whole file.
STATES: Final = ("getgeneratorstate", "getcoroutinestate", "getasyncgenstate")  # of inspect; they return no frame
FORWARDING: Final[Mapping[str, tuple[str, ...]]] = {
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
EXPECTED: Final[dict[int, str]] = {}  # by thread: the audit event that this module is about to raise
_get_frame: Final = sys._getframe  # noqa: SLF001  -- the only way to a caller's code
_CODE_OF: Final = {name: attrgetter(name) for name in CODE_NAMES}


def origin_finder(folders: tuple[str, ...], tests: str, own: tuple[str, ...]) -> OriginOf:
    """A function that finds the owner of a file. `folders` are the libraries', with a final slash, longest first."""

    def origin_of(file: str) -> CodeOrigin:
        if file == tests:
            return TESTS, ""
        if file.startswith(own):
            return OWN, ""
        if file.startswith("<frozen "):
            return LIBRARY, file
        folder = next((prefix for prefix in folders if file.startswith(prefix)), None)
        return (UNTRUSTED, "") if folder is None else (LIBRARY, file[len(folder) :])

    return origin_of


def owner_test(origin_of: OriginOf) -> Callable[[FunctionType], CodeOrigin]:
    """A function that finds the owner of a function."""
    return lambda function: origin_of(code_of(function, "__code__").co_filename)


def asker_test(origin_of: OriginOf) -> Callable[[int], str]:
    """A function that locates the caller so many frames up if that is untrusted code, else returns an empty text."""

    def asker(depth: int) -> str:
        frame = caller(depth)
        is_untrusted = frame is None or origin_of(code_of(frame).co_filename)[0] == UNTRUSTED
        return where(frame) if is_untrusted else ""

    return asker


def _expecting(event: str, operation: Callable[..., Any], *args: Any) -> Any:
    """Run an operation whose audit event the hook ignores; once, and in this thread only."""
    thread = get_ident()
    EXPECTED[thread] = event
    try:
        return operation(*args)
    finally:
        EXPECTED.pop(thread, None)


def caller(depth: int = 2) -> FrameType | None:
    """The frame so many levels above this function's caller, or None.

    By default the frame in which the event was raised, as the checks need it.
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


def objection(frame: FrameType | None, what: str, naming: Collection[str], origin_of: OriginOf) -> str:
    """What is wrong if the code is untrusted, or does not itself name the operation."""
    if frame is None:
        return f"the solution {what}"
    code = code_of(frame)
    whose, _ = origin_of(code.co_filename)
    is_allowed = whose == OWN or (whose != UNTRUSTED and not hides(code, naming))
    return "" if is_allowed else f"{where(frame)} {what}"


def hides(code: CodeType, naming: Collection[str]) -> bool:
    """Whether the code uses none of these names."""
    return set(naming).isdisjoint(_names(code))


def _names(code: CodeType) -> tuple[str, ...]:
    return code.co_names + code.co_freevars


def forwards(code: CodeType, origin_of: OriginOf) -> bool:
    """Whether it is library code that only forwards a request, so that its caller is who asks."""
    functions = FORWARDING.get(origin_of(code.co_filename)[1])
    if functions is None or code.co_name in STATES:
        return False
    return not functions or code.co_name in functions


def top_of(inside: str) -> str:
    """The top-level package or module of a path in a library's folder."""
    return inside.partition("/")[0].partition(".")[0]


def where(frame: FrameType | None) -> str:
    """The file and the line, as in `solution.py:3`."""
    if frame is None:
        return "the solution"
    return f"{code_of(frame).co_filename.rpartition('/')[2]}:{frame.f_lineno}"


FRAME_NAMES: Final = frozenset(("tb_frame", "gi_frame", "cr_frame", "ag_frame"))
FUNCTION_NAMES: Final = frozenset(("__code__", "__defaults__", "__kwdefaults__"))
# The names by which code accesses frames and the like.
ASKING: Final = FRAME_NAMES | {
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
# The beginning of a code object in marshal's form: its type, and three counts of arguments.
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
    """The audit hook. A read attribute is looked up by its own name, everything else by the event's name."""
    check = checks.get(args[1] if event == "object.__getattr__" else event)
    if check is None:
        return
    if expected and expected.get(thread()) == event:
        del expected[thread()]
        return
    wrong = check(event, args)
    if wrong:
        tamper(wrong)


def hook_values(origin_of: OriginOf, sealed: Collection[FunctionType], holding: Collection[int]) -> dict[str, Any]:
    """The keyword arguments of `on_event`, besides `tamper`.

    No code may look into the functions `sealed`, and no untrusted code at code objects whose id is in `holding`.
    """
    look, native, make = _looking(origin_of), _native(origin_of), _making_code(origin_of)
    into = _looking_into(origin_of, sealed, holding)
    checks: dict[str, Check] = dict.fromkeys((*LOOKING, *FRAME_NAMES), look)
    checks |= dict.fromkeys(FORBIDDEN, lambda event, _: f"the solution {FORBIDDEN[event]}")
    checks |= dict.fromkeys((*FUNCTION_NAMES, *CODE_NAMES), into)
    checks |= dict.fromkeys(("import", *NATIVE_EVENTS), native)
    checks |= dict.fromkeys(("code.__new__", "marshal.loads", "marshal.load"), make)
    checks |= {"open": _opening, "os.kill": _killing(os.getppid()), "exec": _executing(origin_of)}
    checks |= {"compile": _compiling(origin_of), "object.__setattr__": _setting(origin_of)}
    return {"checks": checks, "expected": EXPECTED, "thread": get_ident}


# --- checks: each says what is wrong with an event --------------------------------------------------------------------


def _looking(origin_of: OriginOf) -> Check:
    def check(event: str, args: tuple[Any, ...]) -> str:
        what = LOOKING.get(event) or f"took a frame ({args[1]}) of an exception, a generator or a coroutine"
        first = asker = caller()
        while asker is not None and forwards(code_of(asker), origin_of):
            asker = asker.f_back
        if asker is None or first is None:
            return f"the solution {what}"
        code = code_of(asker)
        whose, inside = origin_of(code.co_filename)
        if whose == OWN and code.co_filename not in AUDIT_FILES:
            return ""
        is_named = not hides(code, ASKING)
        is_kin = asker is not first and top_of(inside) == top_of(origin_of(code_of(first).co_filename)[1])
        return "" if whose in (LIBRARY, TESTS) and (is_named or is_kin) else f"{where(asker)} {what}"

    return check


def _looking_into(origin_of: OriginOf, sealed: Collection[FunctionType], holding: Collection[int]) -> Check:
    def check(_: str, args: tuple[Any, ...]) -> str:
        holder, name = args
        if type(holder) is FunctionType and holder in sealed:
            return "the solution looked into a function of the test runner"
        if name not in CODE_NAMES or id(code_of(holder, name)) not in holding:
            return ""
        frame, what = caller(), "looked into the code of a test"
        if name != "__code__":  # of a frame or a coroutine, which libraries look at to tell where something is
            return objection(frame, what, frozenset((name,)), origin_of)
        while frame is not None and origin_of(code_of(frame).co_filename)[0] != UNTRUSTED:
            frame = frame.f_back
        return f"{where(frame)} {what}" if frame is not None else ""

    return check


def _setting(origin_of: OriginOf) -> Check:
    def check(_: str, args: tuple[Any, ...]) -> str:
        holder, name = args[:2]
        if name in FUNCTION_NAMES and type(holder) is FunctionType:
            is_own = origin_of(code_of(holder, "__code__").co_filename)[0] == UNTRUSTED
        elif name == "__class__" and isinstance(holder, ModuleType):
            is_own = vars(holder).get("__name__") == "solution"
        else:
            is_own = name != "__bases__" or getattr(holder, "__module__", "") == "solution"
        what = f"replaced {name} of {getattr(holder, '__qualname__', 'a module')}"
        return "" if is_own else objection(caller(), what, frozenset((name,)), origin_of)

    return check


def _native(origin_of: OriginOf) -> Check:
    def check(event: str, args: tuple[Any, ...]) -> str:
        if event == "import" and args[0] not in NATIVE:
            return ""
        frame = caller()
        while frame is not None and top_of(origin_of(code_of(frame).co_filename)[1]) in IMPORTING:
            frame = frame.f_back
        if frame is not None and origin_of(code_of(frame).co_filename)[0] != UNTRUSTED:
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


def _executing(origin_of: OriginOf) -> Check:
    """Objects to `exec` or `eval` passed to a test or a testing library, where it would run among its names."""

    def check(event: str, _: tuple[Any, ...]) -> str:
        frame = caller()
        if frame is None:
            return ""
        code = code_of(frame)
        whose, inside = origin_of(code.co_filename)
        is_judging = whose == TESTS or top_of(inside) in JUDGING
        return f"the solution had {where(frame)} {event} code" if is_judging and hides(code, RUNNING) else ""

    return check


def _compiling(origin_of: OriginOf) -> Check:
    def check(_: str, args: tuple[Any, ...]) -> str:
        file = args[1]
        if type(file) is not str or origin_of(file)[0] == UNTRUSTED:
            return ""
        frame = caller()
        if frame is not None and top_of(origin_of(code_of(frame).co_filename)[1]) in IMPORTING:
            return ""
        return objection(frame, f"gave out its code for that of {file}", RUNNING, origin_of)

    return check


def _making_code(origin_of: OriginOf) -> Check:
    def check(event: str, args: tuple[Any, ...]) -> str:
        if event == "marshal.loads" and isinstance(args[0], bytes) and not CODE_RECORD.search(args[0]):
            return ""
        frame = caller()
        is_untrusted = frame is None or origin_of(code_of(frame).co_filename)[0] == UNTRUSTED
        return f"{where(frame)} made code out of data ({event})" if is_untrusted else ""

    return check
