"""The judged process: it prepares the tests, imports the solution, and runs them with pytest."""

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
    owner_test,
    places,
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
    stand_in,
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

# How pytest is used: what it is started with, hooks that hand on what it tells them, how it explains a failure.

# They keep pytest's configuration, which leads to everything, where anybody finds it, or are of no use here; the last
# two collect garbage five times at the end. Assertions are rewritten and explained without the first.
BLOCKED: Final = (
    *("assertion", "debugging", "cacheprovider", "doctest", "pastebin", "setuponly", "setupplan", "stepwise"),
    *("threadexception", "unraisableexception"),
)
OPTIONS: Final = (
    *("-q", "--no-header", "--color=no", "--tb=short", "--noconftest", "-c", os.devnull),
    *(part for name in BLOCKED for part in ("-p", f"no:{name}")),
)


def make_plugin(hookimpl: Any, **acts: Callable[..., Any]) -> ModuleType:
    """A plugin of which the hooks call `begin`, `make_module`, `refuse`, `start`, `report`, `finish` and `end`."""
    plugin = ModuleType("judge")
    first = hookimpl(tryfirst=True)
    names = vars(plugin)
    names["pytest_collection"] = first(sealed(pytest_collection, act=acts["begin"]))
    names["pytest_pycollect_makemodule"] = first(sealed(pytest_pycollect_makemodule, act=acts["make_module"]))
    names["pytest_exception_interact"] = sealed(pytest_exception_interact, act=acts["refuse"])
    names["pytest_runtest_logstart"] = sealed(pytest_runtest_logstart, act=acts["start"])
    reporting = sealed(pytest_runtest_makereport, act=acts["report"])
    names["pytest_runtest_makereport"] = hookimpl(wrapper=True, tryfirst=True)(reporting)
    names["pytest_runtest_logfinish"] = sealed(pytest_runtest_logfinish, act=acts["finish"])
    names["pytest_sessionfinish"] = hookimpl(trylast=True)(sealed(pytest_sessionfinish, act=acts["end"]))
    return plugin


def pytest_collection(session: Any, *, act: Callable[[Any], None]) -> None:
    """Import the solution before the tests, so that a failure to import is told as its own."""
    act(session)


def pytest_pycollect_makemodule(module_path: Any, parent: Any, *, act: Callable[[Any, Any], Any]) -> Any:
    """Collect the tests from memory."""
    return act(module_path, parent)


def pytest_exception_interact(node: Any, call: Any, *, act: Callable[[BaseException], None]) -> None:
    """Tell why the tests could not be collected."""
    if not hasattr(node, "runtest"):
        act(call.excinfo.value)


def pytest_runtest_logstart(nodeid: str, *, act: Callable[[str], None]) -> None:
    """Tell that a test starts, and give it an empty folder for its outputs."""
    act(nodeid)


def pytest_runtest_makereport(
    item: Any, call: Any, *, act: Callable[[str, Any, BaseException | None], None]
) -> Generator[None, Any, Any]:
    """Take the report of a phase, with the exception that it was made from."""
    # Taken first: of a unittest.SkipTest, pytest keeps only the text and replaces the exception by its own.
    raised = call.excinfo.value if call.excinfo else None
    report = yield
    # unittest's cases come only by pytest's hook
    act(item.nodeid, report, raised or (call.excinfo.value if call.excinfo else None))
    return report


def pytest_runtest_logfinish(nodeid: str, *, act: Callable[[str], None]) -> None:
    """Tell what became of a test."""
    act(nodeid)


def pytest_sessionfinish(*, act: Callable[[], None]) -> None:
    """Look once more, when the last test has cleaned up after itself."""
    act()


def explain_assertions() -> None:
    """Have failed comparisons explained in full, as pytest does itself, but without its configuration at hand."""
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
# What leads from a function to its module and its caller's names, and raises no audit event.
LEADING: Final = ("__globals__", "__closure__", "cell_contents")
_exit: Final = os._exit


def run_tests(pytest: Any, send: Send, app: str, given: list[bytes]) -> int:
    """Run them; the status to end with. `given` are the tests and the supervisor's secret, and empty thereafter."""
    import tempfile

    os.chdir(app)
    sys.argv[:] = ["pytest"]
    places_of_files = [f"--rootdir={app}", f"--confcutdir={app}", f"--basetemp={tempfile.mkdtemp(prefix='tests-')}/t"]
    path = f"{app}/{TEST_MODULE}.py"
    run, flush = pytest.main, sys.stdout.flush
    plugin = make_plugin(pytest.hookimpl, **_acts(pytest, send, path, given))
    status = int(run([*OPTIONS, *places_of_files, path], plugins=[plugin]))
    send("end", "status", str(status))
    flush()
    return status


def tamperer(send: Send) -> Callable[[str], None]:
    """What tells that something was tampered with, and ends the process: nothing that comes after counts."""

    def tamper(text: str) -> None:
        send("tampered", "text", text)
        _exit(TAMPERED)

    return tamper


def _acts(pytest: Any, send: Send, path: str, given: list[bytes]) -> dict[str, Callable[..., Any]]:
    """What the hooks of the plugin call."""
    app = path.rpartition("/")[0]
    solution = _lines_of(f"{app}/{SOLUTION}.py")
    tests = given[0].decode(errors="replace").splitlines()
    describe = describer({f"{SOLUTION}.py": solution, f"{TEST_MODULE}.py": tests})
    place_of = places(_library_folders(app), path, ("<suite_runner>/", f"{app}/runner.py"))
    judge = SimpleNamespace(pytest=pytest, send=send, tamper=tamperer(send), path=path, describe=describe)
    judge.place_of, judge.solution, judge.differences, judge.asserting = place_of, solution, list, list

    def begin(session: Any) -> None:
        vars(session.config.option).update(trace=False, usepdb=False)  # which other plugins ask for
        try:
            prepare(judge, session.config.pluginmanager, given)
        except Exception as error:  # noqa: BLE001  -- nothing of the solution's has run: it is not to blame
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

    return {"begin": begin, "make_module": make_module, "refuse": refuse, "end": end, **_acts_of_tests(judge)}


def _acts_of_tests(judge: SimpleNamespace) -> dict[str, Callable[..., Any]]:
    results: dict[str, dict[str, Any]] = {}
    clear = clearer(os.environ.get(OUTPUTS_VARIABLE, "/var/outputs"))

    def start(nodeid: str) -> None:
        judge.send("started", "name", nodeid)
        clear()

    def report(nodeid: str, report: Any, raised: BaseException | None) -> None:
        result = results.setdefault(nodeid, new_result())
        add_phase(result, report, raised, judge.describe)
        # A test that a mark expects to fail raised any other exception.
        is_given_up = not hasattr(report, "wasxfail") or isinstance(raised, judge.pytest.xfail.Exception)
        if report.skipped and raised is not None and is_given_up and _is_of_others(raised, judge):
            why = f"the solution skipped the test, which is not its own to skip: {type(raised).__name__}"
            fail(result, "failed", ("message", why, *judge.describe(raised)[-2:]))

    def finish(nodeid: str) -> None:
        judge.send("finished", "name", nodeid, *fields(results.pop(nodeid, new_result())))

    return {"start": start, "report": report, "finish": finish}


def _is_of_others(error: BaseException, judge: SimpleNamespace) -> bool:
    """Whether any code but the tests' and a library's raised it."""
    return any(judge.place_of(file)[0] == UNTRUSTED for file in files_of(error))


# --- before the solution ----------------------------------------------------------------------------------------------


def prepare(judge: SimpleNamespace, plugins: Any, given: list[bytes]) -> None:
    """Compile the tests, import what they import, note what is there, and set the watch."""
    tests, secret = given
    given.clear()
    try:
        tree = ast.parse(tests, judge.path)
        judge.imported, judge.patched = imported_modules(tree), patched_names(tree)
        judge.identifiers = identifiers(tree)
        judge.is_marked = mark_approximations(judge.pytest, asker_test(judge.place_of))
        # Their own, unless they say that they change those of all.
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
    judge.pytest.mark._config = None  # noqa: SLF001  -- it is there to warn of unknown marks, and leads to everything
    guard_doors(judge.tamper)
    leave_main()
    judge.differences = note_libraries(plugins, judge.imported, judge.patched)
    SEALED.add(judge.send)
    sys.addaudithook(sealed(on_event, tamper=judge.tamper, **hook_values(judge.place_of, SEALED, holding)))


def _calls(judge: SimpleNamespace) -> dict[str, Any]:
    pid, getpid = os.getpid(), os.getpid
    return calls_for_tests(
        judge.send,
        judge.tamper,
        lambda: judge.asserting(),  # noqa: PLW0108  -- another by then
        owner_of=owner_test(judge.place_of),
        is_of_tests=lambda value: judge.is_marked(value) or _is_any(value, judge.identifiers),
        is_judged=lambda: getpid() == pid,
        end=lambda: _exit(TAMPERED),
    )


def _is_any(value: Any, identifiers: frozenset[str]) -> bool:
    """Whether it is unittest's object that is equal to everything, in tests that speak of it."""
    mock = sys.modules.get("unittest.mock")
    return mock is not None and value is mock.ANY and "ANY" in identifiers


def _import_if_there(name: str) -> None:
    """Import what the tests will import; what fails here fails again there, and is told then."""
    with suppress(Exception):
        import_module(name)


def _library_folders(app: str) -> tuple[str, ...]:
    """Where modules are imported from, but for the solution's own folder; the longest first."""
    found = {os.__file__.rpartition("/")[0], *(each.rstrip("/") for each in sys.path if each.startswith("/"))} - {app}
    return tuple(sorted((f"{each}/" for each in found), key=len, reverse=True))


def _lines_of(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  -- pathlib may not be there, and is slow to import
        return file.read().splitlines()


# --- the solution and the tests ---------------------------------------------------------------------------------------


def import_solution(judge: SimpleNamespace) -> None:
    """Import it; where it cannot be imported, nothing is tested."""
    finders = list(sys.meta_path)
    try:
        import_module(SOLUTION)
    except BaseException as error:  # noqa: BLE001  -- SystemExit on import is a failure like any other
        judge.send("import_failed", *judge.describe(error))
        judge.send("end", "status", str(IMPORT_FAILED))
        _exit(IMPORT_FAILED)
    # A finder of the solution's must not come before those that were there.
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
    """`_getobj` of pytest's module."""
    return act()


def execute_tests(judge: SimpleNamespace) -> ModuleType:
    """The tests' module, executed; in `sys.modules` stands another in its place."""
    module = ModuleType(TEST_MODULE)
    names = vars(module)
    names |= {"__file__": judge.path, "__builtins__": judge.builtins}
    sys.modules[TEST_MODULE] = stand_in(names, asker_test(judge.place_of), judge.tamper)
    exec(judge.code, names)  # noqa: S102  -- the tests are what this is for
    del judge.code
    judge.asserting = note_asserting(names, judge.imported, judge.patched)
    return module


def clearer(folder: str) -> Callable[[], None]:
    """What empties the folder of outputs, with functions that were there before the solution."""
    from shutil import rmtree

    scandir, remove = os.scandir, os.remove

    def clear() -> None:
        """Never raises: what cannot be removed is left for the test to meet."""
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
