"""`run_code` and `execute_code`: run code of a language in a sandbox, with the files of a working folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.autogen import lay_out
from flyteplugins_codegen.autogen.languages import (
    LanguageInterpreter,
    find_interpreter,
)
from flyteplugins_codegen.autogen.run_request import RunRequest, read_request
from flyteplugins_codegen.autogen.sandbox_choice import OpenSandbox, open_chosen_sandbox
from flyteplugins_codegen.autogen.work_folder import (
    FolderChanges,
    FolderCopy,
    ObstructedPathError,
    WorkFolder,
    apply_changes,
    copy_folder,
    read_result,
)
from flyteplugins_codegen.errors import RequestError, SandboxError
from flyteplugins_codegen.judging.causes import limit_cause
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.sandbox.contract import ALL, APP, INPUTS, OUTPUTS, Execution, Job, Limits
from flyteplugins_codegen.sandbox.payload import module_path
from flyteplugins_codegen.sandbox.temporary import temporary_folder, temporary_root
from flyteplugins_codegen.sync import Threaded

TIMEOUT_EXIT_CODE: Final = 124
_KILLED_EXIT_CODE: Final = 137
_LAY_OUT: Final = "lay_out.py"
_WORK: Final = "work"
_LAID_OUT: Final = b"\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeExecution(Execution):
    """An `Execution` of code in a language, with the changes that it made to its working folder.

    `exit_code` is always set, as a shell would report it: 124 for a time-out, 128 and the number for a signal, 137
    where memory ran out. `image` is that of the container, None without one. `code_file` is the code's file below
    `work_dir`, None where it was not kept. `written_files` and `deleted_files` are relative to `work_dir`;
    `refused_outputs` has the reason for each output that was not copied back. `note` is our own message on the outcome.
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
        """The code's stdout, then its stderr, decoded with replacement, then the note."""
        text = self._text(self.stdout, self.stdout_cut) + self._text(self.stderr, self.stderr_cut)
        between = "\n" if self.note and text and not text.endswith("\n") else ""
        return f"{text}{between}{self.note}"

    def _text(self, kept: bytes, cut: int) -> str:
        text = kept.decode(errors="replace")
        return f"{text}\n[{cut} more bytes were dropped]\n" if cut else text


def as_code_execution(execution: Execution, limits: Limits, **extra: Any) -> CodeExecution:
    """An execution as a `CodeExecution`, without its outputs, which are removed with the sandbox."""
    values = {entry.name: getattr(execution, entry.name) for entry in fields(Execution)}
    values |= {"outputs": {}, "exit_code": _exit_code(execution), "note": _note(execution, limits)}
    return CodeExecution(**values | extra)


def _exit_code(execution: Execution) -> int:
    if execution.status == "timed_out":
        return TIMEOUT_EXIT_CODE
    if execution.exit_code is not None:
        return execution.exit_code or int(execution.status != "exited")
    return 128 + execution.signal if execution.signal else _KILLED_EXIT_CODE


def _note(execution: Execution, limits: Limits) -> str:
    cause = limit_cause(execution, limits)
    if cause:
        return f"{'Timeout' if execution.status == 'timed_out' else cause.kind.replace('_', ' ')}: {cause.message}"
    return f"ended by signal {execution.signal}" if execution.signal else ""


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
    """Run code in a sandbox and return all of its results. `await run_code.aio(...)` does not block the event loop.

    The code runs in a copy of `work_dir` (without one, in an empty folder) with the interpreter of `lang` and nothing
    else: no network, no other files, no variables of this process. What it writes, changes and deletes there is applied
    to `work_dir` when it has ended, in time or not; links are neither followed, copied nor written.

    `timeout` is in seconds, 600 where it is None. With a `filename`, or one in the code's first line
    (`# filename: app.py`), the code is kept in `work_dir`; without code, that file is run. `use_docker` is None for the
    best isolation of this machine, False for bubblewrap, and True, the name of an image or a list of names for a
    container; `sandbox="none"` isolates nothing, for code that you trust. `lang=None` infers the language from the
    file's name or the code. `environment` is what Python code may import in addition to the standard library.

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
    """Save code of a language that is not run."""
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
        opened = stack.enter_context(open_chosen_sandbox(request.sandbox, request.environment))
        interpreter = find_interpreter(request.language, opened)
        _keep_code(request)
        copied = _copy(request, temporary_folder(stack, temporary_root()))
        return _run_job(request, opened, _job(request, interpreter, copied), copied)


def _keep_code(request: RunRequest) -> None:
    """Make the folder, and write the code's file if it has a name."""
    if request.folder is None:
        return
    request.folder.mkdir(parents=True, exist_ok=True)
    if request.code is not None and request.is_named:
        try:
            WorkFolder(request.folder).write(request.file_name, request.code)
        except ObstructedPathError as error:
            raise RequestError(f"filename {request.file_name!r} {error}") from error


def _copy(request: RunRequest, target: Path) -> FolderCopy:
    """Copy the folder that the code runs in to `target`, and write the code's file there."""
    copied = copy_folder(request.folder, target) if request.folder else FolderCopy(folder=target)
    if request.code is None and request.folder:
        _require_file(request.folder, request.file_name)
    if request.code is not None:
        file = target / request.file_name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(request.code)
        file.chmod(0o644)
    for path in (target, *(target / name for name in copied.folders), *(target / request.file_name).parents):
        if path.is_relative_to(target):
            path.chmod(0o755)
    return copied


def _require_file(folder: Path, name: str) -> None:
    path = folder / name
    if not path.is_file() or path.resolve() != path:
        raise RequestError(f"work_dir {folder} has no file {name!r}, or it is a link; pass code, or another filename")


def _job(request: RunRequest, interpreter: LanguageInterpreter, copied: FolderCopy) -> Job:
    limits = Limits()
    copy_mib = (copied.size_bytes >> 20) + 1
    command = (*interpreter.command, f"./{request.file_name}")
    return Job(
        command=("python", "-I", "-S", f"{APP}/{_LAY_OUT}", f"{INPUTS}/{_WORK}", OUTPUTS, *command),
        program={_LAY_OUT: _lay_out_program()},
        inputs={_WORK: copied.folder, **interpreter.inputs},
        outputs=ALL,
        # Unbuffered, so that what was printed before a time-out is not lost.
        env={"PYTHONUNBUFFERED": "1", **interpreter.env},
        limits=replace(
            limits,
            wall_s=request.timeout_s,
            # The copy is in memory.
            memory_mib=limits.memory_mib + copy_mib,
            output_mib=limits.output_mib + copy_mib,
            output_files=limits.output_files + len(copied.files) + len(copied.folders),
        ),
    )


@cache
def _lay_out_program() -> bytes:
    return module_path(lay_out).read_bytes()


def _run_job(request: RunRequest, opened: OpenSandbox, job: Job, copied: FolderCopy) -> CodeExecution:
    execution = opened.sandbox.run(job)
    if execution.status == "sandbox_error":
        raise SandboxError(f"the code could not be run: {execution.message}")
    has_begun = execution.stderr.startswith(_LAID_OUT)
    if not has_begun and execution.status == "exited":
        raise SandboxError(f"the code's folder could not be laid out: {execution.stderr.decode(errors='replace')}")
    changes = _bring_back(request, execution, copied) if has_begun else FolderChanges()
    return as_code_execution(
        replace(execution, stderr=execution.stderr.removeprefix(_LAID_OUT)),
        job.limits,
        language=request.language,
        image=opened.image,
        code_file=request.file_name if request.folder and request.is_named else None,
        written_files=changes.written,
        deleted_files=changes.deleted,
        refused_outputs=changes.refused,
    )


def _bring_back(request: RunRequest, execution: Execution, copied: FolderCopy) -> FolderChanges:
    if request.folder is None:
        return FolderChanges()
    result = read_result(execution.outputs, execution.refused_outputs)
    return apply_changes(result, copied, request.folder, ignore=None if request.is_named else request.file_name)


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
    """Run code as `run_code` does and return `(exit_code, logs, image)`, like AutoGen 0.2 and FLAML. Raises the same.

    `exit_code` is 124 for a time-out; `logs` are stdout and stderr; `image` is None without a container.
    `await execute_code.aio(...)` does not block the event loop.
    """
    where = (work_dir, use_docker, lang)
    execution = run_code(code, timeout, filename, *where, sandbox=sandbox, environment=environment)
    return execution.exit_code, execution.logs, execution.image
