"""Causes of failed runs: a text that is not Python, an exception, a limit of the sandbox."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from flyteplugins_codegen.models.run import Cause
from flyteplugins_codegen.sandbox.contract import Execution, Limits
from flyteplugins_codegen.text import LONGEST_SOURCE_CHARS, failure_text

# Variables that make the text of a failure the same in every run.
DETERMINISTIC_ENVIRONMENT: Final[Mapping[str, str]] = MappingProxyType(
    # Sets print in the order of hashes; /app is read-only.
    {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
)
_MISSING: Final = re.compile(r"^ModuleNotFoundError: No module named '?([\w.]+)'?", re.MULTILINE)
_TRACEBACK: Final = "Traceback (most recent call last):"
_LAUNCHER_LINE: Final = "launcher: "


def syntax_cause(source: str, file_name: str) -> Cause | None:
    """The cause if the source is not Python, with the line, its text and a caret; nothing is executed.

    A source of more than a million characters is not read, which is a cause as well.
    """
    if len(source) > LONGEST_SOURCE_CHARS:
        size = f"{len(source):,} characters, more than {LONGEST_SOURCE_CHARS:,}"
        message = f"{file_name} has {size}: too long to be read; put data into files that the program reads"
        return _syntax_error(file_name, message)
    try:
        compile(source, file_name, "exec", dont_inherit=True)
    except SyntaxError as error:
        message = _located(error, file_name)
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        message = f"{file_name} cannot be read as Python: {str(error) or 'it is nested too deeply'}"
    else:
        return None
    return _syntax_error(file_name, message)


def _syntax_error(file_name: str, message: str) -> Cause:
    return Cause(kind="syntax_error", subject=file_name, message=failure_text(message), is_certain=True)


def _located(error: SyntaxError, file_name: str) -> str:
    location = file_name if error.lineno is None else f"{file_name}, line {error.lineno}"  # NUL bytes have no line
    message = f"{location}: {type(error).__name__}: {error.msg}"
    if not error.text:
        return message
    line = error.text.rstrip("\n")
    code = line.lstrip()
    caret = max((error.offset or 1) - 1 - (len(line) - len(code)), 0)
    return f"{message}\n    {code}\n    {' ' * caret}^"


def missing_module_cause(module: str, message: str) -> Cause | None:
    """The cause if an import did not find a module; None if no package could provide it.

    For a dotted name the package exists and lacks that part: the subject is the top-level name, without certainty. A
    module of the standard library, or of the program itself, cannot be installed.
    """
    top, dot, _ = module.partition(".")
    if not top or top in sys.stdlib_module_names or top.startswith("_") or top in {"solution", "test_solution"}:
        return None
    return Cause(kind="missing_module", subject=top, message=message, is_certain=not dot)


def exception_cause(stderr: str, ending: str) -> Cause:
    """The cause from a script's stderr: its last exception, or else all of the text, after how it ended."""
    text = "\n".join(line for line in stderr.splitlines() if not line.startswith(_LAUNCHER_LINE)).strip()
    last = text.rpartition(_TRACEBACK)
    message = failure_text(f"{ending}\n{last[1]}{last[2]}" if text else ending)
    missing = _MISSING.findall(last[2])
    cause = missing_module_cause(missing[-1], message) if missing else None
    return cause or Cause(kind="exception", subject=_exception_name(last[2]), message=message)


def _exception_name(text: str) -> str:
    named = re.findall(r"^([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning))\b", text, re.MULTILINE)
    return str(named[-1]).rpartition(".")[2] if named else ""


def limit_cause(execution: Execution, limits: Limits, running: str = "") -> Cause | None:
    """The cause if a job reached one of its limits; `running` names what was running then."""
    where = f" while {running} was running" if running else ""
    if execution.status == "timed_out":
        return Cause(kind="timed_out", subject=running, message=f"{_time_used(execution, limits)}{where}")
    if execution.status == "out_of_memory":
        return Cause(
            kind="out_of_memory",
            subject=running,
            message=f"it needed more than its {limits.memory_mib} MiB of memory{where}",
        )
    if execution.status == "output_limit":
        return Cause(
            kind="output_limit",
            subject=running,
            message=f"it wrote more than the {limits.output_mib} MiB or {limits.output_files} files that it may{where}",
        )
    return None


def _time_used(execution: Execution, limits: Limits) -> str:
    if limits.cpu_s is not None and execution.cpu_s >= limits.cpu_s:
        return f"it had not ended after {limits.cpu_s:g} s of processor time"
    return f"it had not ended after {limits.wall_s:g} s"


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; `signal 99` for a number without a name."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
