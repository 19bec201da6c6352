"""How pytest is used: what it is started with, hooks that hand on what it tells them, how it explains a failure."""

from __future__ import annotations

import os
from types import ModuleType, SimpleNamespace

from flyteplugins_codegen.sandbox.suites.suite_runner.sealing import sealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any, Final

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
