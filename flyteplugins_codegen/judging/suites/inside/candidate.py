"""The candidate's process: it prepares the tests, imports the solution, and runs the tests with pytest."""

from __future__ import annotations

import ast
import builtins
import os
import sys
from contextlib import suppress
from importlib import import_module
from types import ModuleType, SimpleNamespace

from flyteplugins_codegen.judging.suites.inside.audit import (
    NATIVE,
    UNTRUSTED,
    asker_test,
    hook_values,
    on_event,
    origin_finder,
    owner_test,
)
from flyteplugins_codegen.judging.suites.inside.instrument import (
    calls_for_tests,
    compile_tests,
    identifiers,
    imported_modules,
    patched_names,
)
from flyteplugins_codegen.judging.suites.inside.integrity import (
    SEALED,
    guard_doors,
    leave_main,
    mark_approximations,
    note_asserting,
    note_libraries,
    sealed,
    substitute_module,
)
from flyteplugins_codegen.judging.suites.inside.reporting import (
    add_phase,
    describer,
    fail,
    fields,
    files_of,
    new_result,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any, Final, TypeAlias

    Send: TypeAlias = Callable[..., None]

# These plugins keep pytest's configuration, which leads to everything, where any code finds it, or are of no use here;
# the last two collect garbage five times at the end. Assertions are rewritten and explained without the first.
BLOCKED: Final = (
    *("assertion", "debugging", "cacheprovider", "doctest", "pastebin", "setuponly", "setupplan", "stepwise"),
    *("threadexception", "unraisableexception"),
)
OPTIONS: Final = (
    *("-q", "--no-header", "--color=no", "--tb=short", "--noconftest", "-c", os.devnull),
    *(part for name in BLOCKED for part in ("-p", f"no:{name}")),
)


def make_plugin(hookimpl: Any, **hooks: Callable[..., Any]) -> ModuleType:
    """A plugin whose hooks call `begin`, `make_module`, `refuse`, `start`, `report`, `finish` and `end`."""
    plugin = ModuleType("judge")
    first = hookimpl(tryfirst=True)
    names = vars(plugin)
    names["pytest_collection"] = first(sealed(pytest_collection, act=hooks["begin"]))
    names["pytest_pycollect_makemodule"] = first(sealed(pytest_pycollect_makemodule, act=hooks["make_module"]))
    names["pytest_exception_interact"] = sealed(pytest_exception_interact, act=hooks["refuse"])
    names["pytest_runtest_logstart"] = sealed(pytest_runtest_logstart, act=hooks["start"])
    reporting = sealed(pytest_runtest_makereport, act=hooks["report"])
    names["pytest_runtest_makereport"] = hookimpl(wrapper=True, tryfirst=True)(reporting)
    names["pytest_runtest_logfinish"] = sealed(pytest_runtest_logfinish, act=hooks["finish"])
    names["pytest_sessionfinish"] = hookimpl(trylast=True)(sealed(pytest_sessionfinish, act=hooks["end"]))
    return plugin


def pytest_collection(session: Any, *, act: Callable[[Any], None]) -> None:
    """Import the solution before the tests, so that its failure to import is reported as such."""
    act(session)


def pytest_pycollect_makemodule(module_path: Any, parent: Any, *, act: Callable[[Any, Any], Any]) -> Any:
    """Collect the tests from memory."""
    return act(module_path, parent)


def pytest_exception_interact(node: Any, call: Any, *, act: Callable[[BaseException], None]) -> None:
    """Report why the tests could not be collected."""
    if not hasattr(node, "runtest"):
        act(call.excinfo.value)


def pytest_runtest_logstart(nodeid: str, *, act: Callable[[str], None]) -> None:
    """Report that a test starts, and give it an empty folder for its outputs."""
    act(nodeid)


def pytest_runtest_makereport(
    item: Any, call: Any, *, act: Callable[[str, Any, BaseException | None], None]
) -> Generator[None, Any, Any]:
    """Pass on the report of a phase, with the exception that it was made from."""
    # Read before the yield: pytest replaces a unittest.SkipTest by an exception of its own and keeps only the text.
    raised = call.excinfo.value if call.excinfo else None
    report = yield
    # For unittest's cases the exception is set by pytest's own hook.
    act(item.nodeid, report, raised or (call.excinfo.value if call.excinfo else None))
    return report


def pytest_runtest_logfinish(nodeid: str, *, act: Callable[[str], None]) -> None:
    """Report the result of a test."""
    act(nodeid)


def pytest_sessionfinish(*, act: Callable[[], None]) -> None:
    """Look for changes once more, when the last test has cleaned up."""
    act()


def explain_assertions() -> None:
    """Have failed comparisons explained in full, as pytest does, but without access to its configuration."""
    from _pytest.assertion import util
    from _pytest.assertion.highlight import dummy_highlighter

    explain = sealed(explain_comparison, compare=util.assertrepr_compare, highlighter=dummy_highlighter)
    vars(util).update(_reprcompare=explain, _config=SimpleNamespace(get_verbosity=lambda _=None: 2))


def explain_comparison(op: str, left: Any, right: Any, *, compare: Callable[..., Any], highlighter: Any) -> str | None:
    """The lines that explain why a comparison failed, as pytest's rewritten assertions take them."""
    lines = compare(
        op=op, left=left, right=right, verbose=2, highlighter=highlighter, assertion_text_diff_style="ndiff"
    )
    return "\n~".join(line.replace("\n", "\\n") for line in lines).replace("%", "%%") or None


OUTPUTS_VARIABLE: Final = "FLYTE_CODEGEN_OUTPUTS"
IMPORT_FAILED, TAMPERED = 70, 72
SOLUTION, TEST_MODULE = "solution", "test_solution"
# Attributes that lead from a function to its module and its caller's names without an audit event.
LEADING: Final = ("__globals__", "__closure__", "cell_contents")
_exit: Final = os._exit


def run_tests(pytest: Any, send: Send, app: str, handed_over: list[bytes]) -> int:
    """Run the tests; the exit status. `handed_over` holds the tests and the supervisor's secret, and is emptied."""
    import tempfile

    os.chdir(app)
    sys.argv[:] = ["pytest"]
    path_options = [f"--rootdir={app}", f"--confcutdir={app}", f"--basetemp={tempfile.mkdtemp(prefix='tests-')}/t"]
    path = f"{app}/{TEST_MODULE}.py"
    run, flush = pytest.main, sys.stdout.flush
    plugin = make_plugin(pytest.hookimpl, **_hooks(pytest, send, path, handed_over))
    status = int(run([*OPTIONS, *path_options, path], plugins=[plugin]))
    send("end", "status", str(status))
    flush()
    return status


def tamperer(send: Send) -> Callable[[str], None]:
    """A function that reports tampering and ends the process, so that nothing after it counts."""

    def tamper(text: str) -> None:
        send("tampered", "text", text)
        _exit(TAMPERED)

    return tamper


def _hooks(pytest: Any, send: Send, path: str, handed_over: list[bytes]) -> dict[str, Callable[..., Any]]:
    """The functions that the hooks of the plugin call."""
    app = path.rpartition("/")[0]
    solution = _lines_of(f"{app}/{SOLUTION}.py")
    tests = handed_over[0].decode(errors="replace").splitlines()
    describe = describer({f"{SOLUTION}.py": solution, f"{TEST_MODULE}.py": tests})
    origin_of = origin_finder(_library_folders(app), path, ("<suite_runner>/", f"{app}/runner.py"))
    judge = SimpleNamespace(pytest=pytest, send=send, tamper=tamperer(send), path=path, describe=describe)
    judge.origin_of, judge.solution, judge.differences, judge.asserting = origin_of, solution, list, list

    def begin(session: Any) -> None:
        vars(session.config.option).update(trace=False, usepdb=False)  # options of blocked plugins that others read
        try:
            prepare(judge, session.config.pluginmanager, handed_over)
        except Exception as error:  # noqa: BLE001  -- nothing of the solution has run yet: it is not to blame
            send("unprepared", "message", f"{type(error).__name__}: {error}")
            _exit(TAMPERED)
        import_solution(judge)

    def make_module(module_path: Any, parent: Any) -> Any:
        module = pytest.Module.from_parent(parent, path=module_path)
        vars(module)["_getobj"] = sealed(get_tests, act=lambda: execute_tests(judge))
        return module

    def refuse(error: BaseException) -> None:
        send("collect_failed", *describe(error))

    def end() -> None:
        for text in judge.differences():
            send("tampered", "text", text)

    return {"begin": begin, "make_module": make_module, "refuse": refuse, "end": end, **_test_hooks(judge)}


def _test_hooks(judge: SimpleNamespace) -> dict[str, Callable[..., Any]]:
    results: dict[str, dict[str, Any]] = {}
    clear = clearer(os.environ.get(OUTPUTS_VARIABLE, "/var/outputs"))

    def start(nodeid: str) -> None:
        judge.send("started", "name", nodeid)
        clear()

    def report(nodeid: str, report: Any, raised: BaseException | None) -> None:
        result = results.setdefault(nodeid, new_result())
        add_phase(result, report, raised, judge.describe)
        # A test marked as expected to fail may raise any other exception.
        is_given_up = not hasattr(report, "wasxfail") or isinstance(raised, judge.pytest.xfail.Exception)
        if report.skipped and raised is not None and is_given_up and _is_untrusted(raised, judge):
            why = f"the solution skipped the test, which is not its own to skip: {type(raised).__name__}"
            fail(result, "failed", ("message", why, *judge.describe(raised)[-2:]))

    def finish(nodeid: str) -> None:
        judge.send("finished", "name", nodeid, *fields(results.pop(nodeid, new_result())))

    return {"start": start, "report": report, "finish": finish}


def _is_untrusted(error: BaseException, judge: SimpleNamespace) -> bool:
    """Whether untrusted code is in the traceback of an exception."""
    return any(judge.origin_of(file)[0] == UNTRUSTED for file in files_of(error))


# --- before the solution ----------------------------------------------------------------------------------------------


def prepare(judge: SimpleNamespace, plugins: Any, handed_over: list[bytes]) -> None:
    """Compile the tests, import what they import, remember the libraries' contents, and add the audit hook."""
    tests, secret = handed_over
    handed_over.clear()
    try:
        tree = ast.parse(tests, judge.path)
        judge.imported, judge.patched = imported_modules(tree), patched_names(tree)
        judge.identifiers = identifiers(tree)
        judge.is_marked = mark_approximations(judge.pytest, asker_test(judge.origin_of))
        # Builtins of their own, unless the tests mention that they change the shared ones.
        judge.builtins = builtins if b"builtins" in tests else dict(vars(builtins))
        judge.code, holding = compile_tests(tree, judge.path, secret, _calls(judge))
    except (SyntaxError, RecursionError) as error:
        judge.send("collect_failed", *judge.describe(error))
        judge.send("end", "status", str(IMPORT_FAILED))
        _exit(IMPORT_FAILED)
    libraries = dict.fromkeys(f"{name.partition('.')[0]}.testing" for name in judge.imported if b"testing" in tests)
    for name in (*judge.imported, *libraries):
        _import_if_there(name)
    explain_assertions()
    judge.pytest.mark._config = None  # noqa: SLF001  -- it only warns of unknown marks, and leads to everything
    guard_doors(judge.tamper)
    leave_main()
    judge.differences = note_libraries(plugins, judge.imported, judge.patched)
    SEALED.add(judge.send)
    sys.addaudithook(sealed(on_event, tamper=judge.tamper, **hook_values(judge.origin_of, SEALED, holding)))


def _calls(judge: SimpleNamespace) -> dict[str, Any]:
    pid, getpid = os.getpid(), os.getpid
    return calls_for_tests(
        judge.send,
        judge.tamper,
        lambda: judge.asserting(),  # noqa: PLW0108  -- the attribute is replaced later
        owner_of=owner_test(judge.origin_of),
        is_of_tests=lambda value: judge.is_marked(value) or _is_any(value, judge.identifiers),
        is_judged=lambda: getpid() == pid,
        end=lambda: _exit(TAMPERED),
    )


def _is_any(value: Any, identifiers: frozenset[str]) -> bool:
    """Whether it is `unittest.mock.ANY`, in tests that mention it."""
    mock = sys.modules.get("unittest.mock")
    return mock is not None and value is mock.ANY and "ANY" in identifiers


def _import_if_there(name: str) -> None:
    """Import a module that the tests will import; a failure is reported when it happens there again."""
    with suppress(Exception):
        import_module(name)


def _library_folders(app: str) -> tuple[str, ...]:
    """The folders that modules are imported from, except the solution's; the longest first."""
    folders = {os.__file__.rpartition("/")[0], *(path.rstrip("/") for path in sys.path if path.startswith("/"))} - {app}
    return tuple(sorted((f"{folder}/" for folder in folders), key=len, reverse=True))


def _lines_of(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  -- pathlib may not be imported yet, and is slow to import
        return file.read().splitlines()


# --- the solution and the tests ---------------------------------------------------------------------------------------


def import_solution(judge: SimpleNamespace) -> None:
    """Import the solution; if it cannot be imported, report that and end the process."""
    finders = list(sys.meta_path)
    try:
        import_module(SOLUTION)
    except BaseException as error:  # noqa: BLE001  -- SystemExit is a failure like any other
        judge.send("import_failed", *judge.describe(error))
        judge.send("end", "status", str(IMPORT_FAILED))
        _exit(IMPORT_FAILED)
    # A finder that the solution added must not come before the others.
    sys.meta_path[:] = finders + [finder for finder in sys.meta_path if finder not in finders]
    if sys.modules.pop(TEST_MODULE, None) is not None:
        judge.tamper(f"sys.modules['{TEST_MODULE}'] was there before the tests")
    for word in (word for word in LEADING if any(word in line for line in judge.solution)):
        judge.tamper(f"{SOLUTION}.py names {word}, by which a function that a test hands over leads to the tests")
    names = getattr(sys.modules.get(SOLUTION), "__dict__", {})
    if any(part is sys.modules[native] for native in NATIVE & sys.modules.keys() for part in dict.values(names)):
        judge.tamper("the solution reached below Python (ctypes)")
    for text in judge.differences():
        judge.tamper(text)


def get_tests(*, act: Callable[[], ModuleType]) -> ModuleType:
    """The `_getobj` of pytest's module of the tests."""
    return act()


def execute_tests(judge: SimpleNamespace) -> ModuleType:
    """Execute the tests' module; `sys.modules` gets a substitute for it."""
    module = ModuleType(TEST_MODULE)
    names = vars(module)
    names |= {"__file__": judge.path, "__builtins__": judge.builtins}
    sys.modules[TEST_MODULE] = substitute_module(names, asker_test(judge.origin_of), judge.tamper)
    exec(judge.code, names)  # noqa: S102  -- the tests are what this is for
    del judge.code
    judge.asserting = note_asserting(names, judge.imported, judge.patched)
    return module


def clearer(folder: str) -> Callable[[], None]:
    """A function that empties the folder of outputs, with functions bound before the solution runs."""
    from shutil import rmtree

    scandir, remove = os.scandir, os.remove

    def clear() -> None:
        """Remove every entry; never raises, and leaves what cannot be removed."""
        try:
            with scandir(folder) as entries:
                for entry in list(entries):
                    if entry.is_dir(follow_symlinks=False):
                        rmtree(entry.path, ignore_errors=True)
                    else:
                        remove(entry.path)
        except OSError:
            return

    return clear
