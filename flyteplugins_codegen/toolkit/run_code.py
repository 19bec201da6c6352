"""Running code of any language that is run here, always in a sandbox, with the files of a working folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from flyteplugins_codegen.errors import RequestError, SandboxError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.sandbox.contract import ALL, APP, INPUTS, OUTPUTS, Execution, Job, Limits
from flyteplugins_codegen.sandbox.folders import open_place as open_temporary_place
from flyteplugins_codegen.sandbox.folders import temporary_folder
from flyteplugins_codegen.syncing import Threaded
from flyteplugins_codegen.toolkit.code_execution import CodeExecution, as_code_execution
from flyteplugins_codegen.toolkit.running import lay_out
from flyteplugins_codegen.toolkit.running.interpreters import Interpreter, find_interpreter
from flyteplugins_codegen.toolkit.running.own_folder import InTheWayError, OwnFolder
from flyteplugins_codegen.toolkit.running.places import OpenPlace, open_place
from flyteplugins_codegen.toolkit.running.requests import RunRequest, read_request
from flyteplugins_codegen.toolkit.running.work_folder import Changes, Copied, bring_back, copy_folder, read_left

_LAY_OUT: Final = "lay_out.py"
_WORK: Final = "work"
_LAID_OUT: Final = b"\0"


@Threaded
def run_code(  # noqa: PLR0913 - the parameters of AutoGen's `execute_code`, and what it has no word for
    code: str | None = None,
    timeout: float | None = None,
    filename: str | None = None,
    work_dir: str | Path | None = None,
    use_docker: bool | str | Sequence[str] | None = None,  # noqa: FBT001 - AutoGen's
    lang: str | None = "python",
    *,
    sandbox: str | None = None,
    environment: InstalledEnvironment | None = None,
) -> CodeExecution:
    """Run code in a sandbox and tell all of it. `await run_code.aio(...)` does so with the event loop free.

    The code runs in a copy of `work_dir` (a folder of its own where there is none), by the interpreter of `lang` alone:
    no network, no other files, no variables of this process. What it writes, changes and deletes there comes back into
    `work_dir` when it has ended, in time or not; links are neither followed, shown nor written.

    `timeout` is in seconds, 600 where it is None. Under a `filename`, or one that the code's first line says
    (`# filename: app.py`), the code is kept in `work_dir`; without code, that file is run. `use_docker` is None for
    what this machine offers, False for bubblewrap, and True, the name of an image or a list of names for a container;
    `sandbox="none"` isolates nothing, for code that you trust. `lang=None` is told from the file's name or the code.
    `environment` is what Python code may import beside the standard library.

    Raises:
        ArgumentTypeError: an argument is of another type.
        RequestError: the language is neither run nor saved, a name leads out of `work_dir`, `work_dir` holds too
            much, or an argument cannot be what it is.
        MissingInterpreterError: nothing here runs that language; the message names what to install.
        SandboxUnavailableError: this machine cannot offer that sandbox.
        SandboxError: the sandbox failed, or the disk did not take a file; the code is not to blame.
    """
    request = read_request(
        code=code,
        timeout=timeout,
        filename=filename,
        work_dir=work_dir,
        use_docker=use_docker,
        lang=lang,
        sandbox=sandbox,
        environment=environment,
    )
    try:
        return _save(request) if request.is_saved_only else _run(request)
    except OSError as error:
        raise SandboxError(f"the files of the code could not be handed over: {error}") from error


def _save(request: RunRequest) -> CodeExecution:
    """Keep code that is not run."""
    if request.folder is None:
        raise RequestError(f"code in {request.language!r} is saved, not run; name the folder for it by work_dir")
    _keep_code(request)
    kept = request.file_name
    if request.code is None:
        _require_file(request.folder, kept)
    written = (kept,) if request.code is not None else ()
    return CodeExecution(
        status="exited",
        exit_code=0,
        language=request.language,
        code_file=kept,
        written_files=written,
        note=f"Code saved to {request.folder / kept}",
    )


def _run(request: RunRequest) -> CodeExecution:
    with ExitStack() as stack:
        place = stack.enter_context(open_place(request.place, request.environment))
        interpreter = find_interpreter(request.language, place)
        _keep_code(request)
        copied = _copy(request, temporary_folder(stack, open_temporary_place()))
        job = _job(request, interpreter, copied)
        return _told(request, place, job, copied)


def _keep_code(request: RunRequest) -> None:
    """Write the code's file where it has a name, before it runs; where it is there already, look whether it is."""
    if request.folder is None:
        return
    request.folder.mkdir(parents=True, exist_ok=True)
    if request.code is not None and request.is_named:
        try:
            OwnFolder(request.folder).write(request.file_name, request.code)
        except InTheWayError as error:
            raise RequestError(f"filename {request.file_name!r} {error}") from error


def _copy(request: RunRequest, target: Path) -> Copied:
    """The folder that the code is to run in, its own file in it."""
    copied = copy_folder(request.folder, target) if request.folder else Copied(folder=target)
    if request.code is None and request.folder:
        _require_file(request.folder, request.file_name)
    if request.code is not None:
        place = target / request.file_name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(request.code)
        place.chmod(0o644)
    for path in (target, *(target / name for name in copied.folders), *(target / request.file_name).parents):
        if path.is_relative_to(target):
            path.chmod(0o755)
    return copied


def _require_file(folder: Path, name: str) -> None:
    path = folder / name
    if not path.is_file() or path.resolve() != path:
        raise RequestError(f"work_dir {folder} has no file {name!r}, or it is a link; pass code, or another filename")


def _job(request: RunRequest, interpreter: Interpreter, copied: Copied) -> Job:
    limits = Limits()
    room_mib = (copied.size_bytes >> 20) + 1
    command = (*interpreter.command, f"./{request.file_name}")
    return Job(
        command=("python", "-I", "-S", f"{APP}/{_LAY_OUT}", f"{INPUTS}/{_WORK}", OUTPUTS, *command),
        program={_LAY_OUT: _lay_out_program()},
        inputs={_WORK: copied.folder, **interpreter.inputs},
        outputs=ALL,
        # What was printed before a time-out is lost with the buffer that it is in.
        env={"PYTHONUNBUFFERED": "1", **interpreter.env},
        limits=replace(
            limits,
            wall_s=request.timeout_s,
            # The copy lies in memory.
            memory_mib=limits.memory_mib + room_mib,
            output_mib=limits.output_mib + room_mib,
            output_files=limits.output_files + len(copied.files) + len(copied.folders),
        ),
    )


@cache
def _lay_out_program() -> bytes:
    return Path(lay_out.__file__).read_bytes()


def _told(request: RunRequest, place: OpenPlace, job: Job, copied: Copied) -> CodeExecution:
    execution = place.sandbox.run(job)
    if execution.status == "sandbox_error":
        raise SandboxError(f"the code could not be run: {execution.message}")
    began = execution.stderr.startswith(_LAID_OUT)
    if not began and execution.status == "exited":
        raise SandboxError(f"the code's folder could not be laid out: {execution.stderr.decode(errors='replace')}")
    changes = _bring_back(request, execution, copied) if began else Changes()
    return as_code_execution(
        replace(execution, stderr=execution.stderr.removeprefix(_LAID_OUT)),
        job.limits,
        language=request.language,
        image=place.image,
        code_file=request.file_name if request.folder and request.is_named else None,
        written_files=changes.written,
        deleted_files=changes.deleted,
        refused_outputs=changes.refused,
    )


def _bring_back(request: RunRequest, execution: Execution, copied: Copied) -> Changes:
    if request.folder is None:
        return Changes()
    left = read_left(execution.outputs, execution.refused_outputs)
    return bring_back(left, copied, request.folder, keep_out=None if request.is_named else request.file_name)
