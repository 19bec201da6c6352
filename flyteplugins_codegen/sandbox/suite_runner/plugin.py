"""The plugin of pytest's: hooks that hand what pytest tells them on, sealed."""

from __future__ import annotations

from types import ModuleType

from flyteplugins_codegen.sandbox.suite_runner.sealing import sealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any


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
