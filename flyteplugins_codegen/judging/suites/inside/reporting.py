"""Describes a test's result and an exception for the report, as names and values in turn."""

from __future__ import annotations

import traceback

from flyteplugins_codegen.judging.suites.inside.variables import variables_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Final, TypeAlias

    Fields: TypeAlias = tuple[str, ...]
    Describe: TypeAlias = Callable[[BaseException], Fields]
    Result: TypeAlias = dict[str, Any]

MAX_TEXT_CHARS: Final = 8_000
MAX_FRAMES: Final = 16
_format_only: Final = traceback.format_exception_only


def describer(sources: Mapping[str, list[str]]) -> Describe:
    """A function that describes an exception: type, missing module, variables, message, lines of the given files."""

    def describe(error: BaseException) -> Fields:
        """Never raises, whatever the exception's own methods do."""
        name = type(error).__name__
        missing = _text(lambda: error.name or "", "") if isinstance(error, ModuleNotFoundError) else ""
        message = _text(lambda: _message(error), name)
        variables = _text(lambda: variables_of(error), "")
        details = ("type", name, "missing", missing, "variables", variables)
        return (*details, "message", message, "traceback", _traceback(error, sources))

    return describe


def new_result() -> Result:
    """The result of a test before its first phase."""
    return {"outcome": "passed", "seconds": 0.0, "details": (), "phases": set()}


def add_phase(result: Result, report: Any, error: BaseException | None, describe: Describe) -> None:
    """Add pytest's report of one phase, and the exception that was raised in it."""
    result["phases"].add(report.when)
    result["seconds"] += report.duration
    expected_failure = hasattr(report, "wasxfail")
    if report.skipped:
        fail(result, "skipped", describe(error) if error else ("message", str(report.longrepr)))
    elif report.failed or (error is not None and not expected_failure):
        outcome = "failed" if report.when == "call" else "error"
        fail(result, outcome, describe(error) if error else ("message", str(report.longrepr)))


def fail(result: Result, outcome: str, details: Fields) -> None:
    """Record a failure, unless an earlier one is recorded."""
    if result["outcome"] in ("passed", "skipped"):
        result |= {"outcome": outcome, "details": details}


def fields(result: Result) -> Fields:
    """The result as fields of a record."""
    outcome = result["outcome"] if {"setup", "teardown"} <= result["phases"] else "missing"
    return ("outcome", outcome, "seconds", f"{result['seconds']:.4g}", *result["details"])


def files_of(error: BaseException | None) -> Iterator[str]:
    """The files in an exception's traceback, and in that of the unittest.SkipTest that pytest replaced by it."""
    while error is not None:
        step = error.__traceback__
        while step is not None:
            yield step.tb_frame.f_code.co_filename
            step = step.tb_next
        before = error.__context__
        error = before if any(base.__name__ == "SkipTest" for base in type(before).__mro__) else None


def _traceback(error: BaseException, sources: Mapping[str, list[str]]) -> str:
    lines: list[str] = []
    step = error.__traceback__
    while step is not None:
        name = step.tb_frame.f_code.co_filename.rpartition("/")[2]
        source = sources.get(name)
        if source is not None:
            code = source[step.tb_lineno - 1].strip() if 0 < step.tb_lineno <= len(source) else ""
            lines.append(f"{name}:{step.tb_lineno}: {code}")
        step = step.tb_next
    lines_shown = lines if len(lines) <= MAX_FRAMES else [*lines[:4], "...", *lines[4 - MAX_FRAMES :]]
    return "\n".join(lines_shown)[:MAX_TEXT_CHARS]


def _message(error: BaseException) -> str:
    text = "".join(_format_only(type(error), error)).rstrip()
    assertion = "AssertionError: "
    if text.startswith(assertion + "assert "):
        text = text[len(assertion) :]
    if error.__cause__ is not None:
        text += "\ncaused by " + "".join(_format_only(type(error.__cause__), error.__cause__)).rstrip()
    return text


def _text(make: Callable[[], str], fallback: str) -> str:
    try:
        return str(make())[:MAX_TEXT_CHARS]
    except BaseException:  # noqa: BLE001  -- the exception's `__str__` raised
        return fallback
