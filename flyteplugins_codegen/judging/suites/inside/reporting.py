"""What is told of a test and of an exception, as names and values in turn."""

from __future__ import annotations

import traceback

from flyteplugins_codegen.judging.suites.inside.variables import variables_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Final, TypeAlias

    Told: TypeAlias = tuple[str, ...]
    Describe: TypeAlias = Callable[[BaseException], Told]
    Result: TypeAlias = dict[str, Any]

MAX_TEXT_CHARS: Final = 8_000
MAX_FRAMES: Final = 16
_format_only: Final = traceback.format_exception_only


def describer(sources: Mapping[str, list[str]]) -> Describe:
    """What tells an exception: its type, its message, its lines in the given files, variables, the module it misses."""

    def describe(error: BaseException) -> Told:
        """Never raises, whatever the exception's own methods do."""
        name = type(error).__name__
        missing = _text(lambda: error.name or "", "") if isinstance(error, ModuleNotFoundError) else ""
        message = _text(lambda: _message(error), name)
        variables = _text(lambda: variables_of(error), "")
        told = ("type", name, "missing", missing, "variables", variables)
        return (*told, "message", message, "traceback", _traceback(error, sources))

    return describe


def new_result() -> Result:
    """What is known of a test before its first phase."""
    return {"outcome": "passed", "seconds": 0.0, "told": (), "phases": set()}


def add_phase(result: Result, report: Any, error: BaseException | None, describe: Describe) -> None:
    """Take pytest's report of one phase, and the exception that was raised in it."""
    result["phases"].add(report.when)
    result["seconds"] += report.duration
    expected_failure = hasattr(report, "wasxfail")
    if report.skipped:
        fail(result, "skipped", describe(error) if error else ("message", str(report.longrepr)))
    elif report.failed or (error is not None and not expected_failure):
        outcome = "failed" if report.when == "call" else "error"
        fail(result, outcome, describe(error) if error else ("message", str(report.longrepr)))


def fail(result: Result, outcome: str, told: Told) -> None:
    """Keep the first thing that went wrong."""
    if result["outcome"] in ("passed", "skipped"):
        result |= {"outcome": outcome, "told": told}


def fields(result: Result) -> Told:
    """As the channel takes it."""
    outcome = result["outcome"] if {"setup", "teardown"} <= result["phases"] else "missing"
    return ("outcome", outcome, "seconds", f"{result['seconds']:.4g}", *result["told"])


def files_of(error: BaseException | None) -> Iterator[str]:
    """The files of the frames that it passed through, and those of a unittest.SkipTest that pytest made it of."""
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
    shown = lines if len(lines) <= MAX_FRAMES else [*lines[:4], "...", *lines[4 - MAX_FRAMES :]]
    return "\n".join(shown)[:MAX_TEXT_CHARS]


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
    except BaseException:  # noqa: BLE001  -- an exception whose own text raises
        return fallback
