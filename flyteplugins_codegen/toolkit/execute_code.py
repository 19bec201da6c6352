"""`execute_code` of AutoGen 0.2 and FLAML, by name, parameters and result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.syncing import Threaded
from flyteplugins_codegen.toolkit.run_code import run_code


@Threaded
def execute_code(  # noqa: PLR0913 - the signature of AutoGen 0.2
    code: str | None = None,
    timeout: float | None = None,
    filename: str | None = None,
    work_dir: str | Path | None = None,
    use_docker: bool | str | Sequence[str] | None = None,  # noqa: FBT001 - the same
    lang: str | None = "python",
    *,
    sandbox: str | None = None,
    environment: InstalledEnvironment | None = None,
) -> tuple[int, str, str | None]:
    """`(exit_code, logs, image)` of code that was run as by `run_code`, which tells more and raises the same.

    `exit_code` is 124 where the time was over; `logs` are what the code wrote to stdout and to stderr until then;
    `image` is None outside of containers. `await execute_code.aio(...)` leaves the event loop free.
    """
    where = (work_dir, use_docker, lang)
    execution = run_code(code, timeout, filename, *where, sandbox=sandbox, environment=environment)
    return execution.exit_code, execution.logs, execution.image
