"""What became of code that was run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from flyteplugins_codegen.sandbox.contract import Execution, Limits
from flyteplugins_codegen.sandbox.limit_causes import limit_cause

TIMEOUT_EXIT_CODE: Final = 124
_KILLED: Final = 137


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeExecution(Execution):
    """An `Execution` of code by its language, with what it did to its working folder.

    `exit_code` is always there, as a shell would report it: 124 for a time-out, 128 and the number for a signal, 137
    where memory ran out. `image` is the container's, None elsewhere. `code_file` is the code's file below `work_dir`,
    None where it was not kept. `written_files` and `deleted_files` are relative to `work_dir`; `refused_outputs` says
    of what else the code left why it did not come back. `note` is what there is to say beside the code's own words.
    """

    exit_code: int
    language: str
    image: str | None = None
    code_file: str | None = None
    written_files: tuple[str, ...] = ()
    deleted_files: tuple[str, ...] = ()
    refused_outputs: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def logs(self) -> str:
        """What the code wrote to stdout, then to stderr, decoded with replacement, then the note."""
        text = self._text(self.stdout, self.stdout_cut) + self._text(self.stderr, self.stderr_cut)
        between = "\n" if self.note and text and not text.endswith("\n") else ""
        return f"{text}{between}{self.note}"

    def _text(self, kept: bytes, cut: int) -> str:
        text = kept.decode(errors="replace")
        return f"{text}\n[{cut} more bytes were dropped]\n" if cut else text


def as_code_execution(execution: Execution, limits: Limits, **known: Any) -> CodeExecution:
    """An execution told as that of code; its outputs are left out, as they end with their sandbox."""
    told = {entry.name: getattr(execution, entry.name) for entry in fields(Execution)}
    told |= {"outputs": {}, "exit_code": _exit_code(execution), "note": _note(execution, limits)}
    return CodeExecution(**told | known)


def _exit_code(execution: Execution) -> int:
    if execution.status == "timed_out":
        return TIMEOUT_EXIT_CODE
    if execution.exit_code is not None:
        return execution.exit_code or int(execution.status != "exited")
    return 128 + execution.signal if execution.signal else _KILLED


def _note(execution: Execution, limits: Limits) -> str:
    cause = limit_cause(execution, limits)
    if cause:
        return f"{'Timeout' if execution.status == 'timed_out' else cause.kind.replace('_', ' ')}: {cause.message}"
    return f"ended by signal {execution.signal}" if execution.signal else ""
