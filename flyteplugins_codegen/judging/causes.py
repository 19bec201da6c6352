"""What Python says of a program that cannot run: a syntax error before it starts, an exception when it ends."""

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

_MISSING: Final = re.compile(r"^ModuleNotFoundError: No module named '?([\w.]+)'?", re.MULTILINE)
_TRACEBACK: Final = "Traceback (most recent call last):"
_LAUNCHER_LINE: Final = "launcher: "


def syntax_cause(source: str, file_name: str) -> Cause | None:
    """The cause where the text is not Python, with the line, its text and the caret; found without running anything.

    A text of more than a million characters is not read, and is a cause of its own.
    """
    if len(source) > LONGEST_SOURCE_CHARS:
        size = f"{len(source):,} characters, more than {LONGEST_SOURCE_CHARS:,}"
        told = f"{file_name} has {size}: too long to be read; put data into files that the program reads"
        return _syntax_error(file_name, told)
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
    place = file_name if error.lineno is None else f"{file_name}, line {error.lineno}"  # NUL bytes are in no line
    told = f"{place}: {type(error).__name__}: {error.msg}"
    if not error.text:
        return told
    line = error.text.rstrip("\n")
    code = line.lstrip()
    caret = max((error.offset or 1) - 1 - (len(line) - len(code)), 0)
    return f"{told}\n    {code}\n    {' ' * caret}^"


def missing_module_cause(module: str, message: str) -> Cause | None:
    """The cause where an import found no such module; None where no package could bring it.

    A dotted name means that its package is there and lacks that part: the top-level name is told, without certainty. A
    module of the standard library, or of the program itself, is not to be installed.
    """
    top, dot, _ = module.partition(".")
    if not top or top in sys.stdlib_module_names or top.startswith("_") or top in {"solution", "test_solution"}:
        return None
    return Cause(kind="missing_module", subject=top, message=message, is_certain=not dot)


def exception_cause(stderr: str, ending: str) -> Cause:
    """The cause that a script's last words give: its exception, or what else it said before it ended that way."""
    said = "\n".join(line for line in stderr.splitlines() if not line.startswith(_LAUNCHER_LINE)).strip()
    last = said.rpartition(_TRACEBACK)
    message = failure_text(f"{ending}\n{last[1]}{last[2]}" if said else ending)
    missing = _MISSING.findall(last[2])
    found = missing_module_cause(missing[-1], message) if missing else None
    return found or Cause(kind="exception", subject=_exception_name(last[2]), message=message)


def _exception_name(text: str) -> str:
    named = re.findall(r"^([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning))\b", text, re.MULTILINE)
    return str(named[-1]).rpartition(".")[2] if named else ""


# The causes that a sandbox's limits give.


def limit_cause(execution: Execution, limits: Limits, running: str = "") -> Cause | None:
    """The cause where a job met one of its limits; `running` names what ran when it did."""
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


# The names of signals, for messages.


def signal_name(number: int) -> str:
    """`SIGKILL` of 9; `signal 99` of a number that has no name."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


# The variables that make the text of a failure the same at every run.

DETERMINISTIC_ENVIRONMENT: Final[Mapping[str, str]] = MappingProxyType(
    # Sets print in the order of their hashes, and /app is read-only.
    {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
)
