"""What must hold before a run spends anything, checked together: the first pod of a run fails with all that is missing.

What holds only on a cluster, such as an address that results are written to, is checked in `flyte/preflight.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from flyteplugins_codegen.errors import CodegenError, NotReadyError
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.stages.prepare import check_sandbox

Check: TypeAlias = Callable[[], object]


def check_together(checks: Iterable[Check]) -> None:
    """Make all checks.

    Raises the error of the only one that failed, or NotReadyError with the messages of all.
    """
    errors = [error for check in checks if (error := _error_of(check)) is not None]
    if not errors:
        return
    if len(errors) == 1:
        raise errors[0]
    lines = [f"{number}. {type(error).__name__}: {error}" for number, error in enumerate(errors, 1)]
    raise NotReadyError("\n".join([f"{len(errors)} things are not ready, and nothing was spent:", *lines]), (*errors,))


def checks_of(settings: Settings) -> list[Check]:
    """The checks for runs with these settings on any machine: the model with its key or recording, and the sandbox."""
    return [lambda: open_model(settings), lambda: check_sandbox(settings.sandbox)]


def check_before_spending(settings: Settings) -> None:
    """Check in this process, without a call, what a local run needs.

    Raises as `check_together`: UnknownModelError, MissingKeyError, SettingsError, SandboxUnavailableError.
    """
    check_together(checks_of(settings))


def _error_of(check: Check) -> CodegenError | None:
    try:
        check()
    except CodegenError as error:
        return error
    return None
