"""Running code of any language that is run here, always in a sandbox, with the files of a working folder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.autogen import lay_out
from flyteplugins_codegen.autogen.languages import (
    SAVED,
    Interpreter,
    OpenPlace,
    Place,
    check_file_name,
    find_interpreter,
    made_name,
    name_in_code,
    open_place,
    read_language,
    read_place,
)
from flyteplugins_codegen.autogen.work_folder import (
    Changes,
    Copied,
    InTheWayError,
    OwnFolder,
    bring_back,
    copy_folder,
    read_folder,
    read_left,
)
from flyteplugins_codegen.errors import ArgumentTypeError, RequestError, SandboxError
from flyteplugins_codegen.judging.causes import limit_cause
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.sandbox.contract import ALL, APP, INPUTS, OUTPUTS, Execution, Job, Limits
from flyteplugins_codegen.sandbox.temporary import temporary_folder, temporary_root
from flyteplugins_codegen.sync import Threaded

# What became of code that was run.

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


# What is asked for when code is to be run: every argument checked, before anything is started or written.

DEFAULT_TIMEOUT_S: Final = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """Code to be run. `code` is None where the file is there already; `folder` is None where nothing is to be kept.

    `is_named` says that the file has a name that somebody gave it, and is kept under it.
    """

    code: bytes | None
    file_name: str
    is_named: bool
    language: str
    folder: Path | None
    timeout_s: float
    place: Place
    environment: InstalledEnvironment | None = None

    @property
    def is_saved_only(self) -> bool:
        """Whether this is of a language that is not run."""
        return self.language in SAVED


def read_request(  # noqa: PLR0913 - the parameters of AutoGen's `execute_code`, and what it has no word for
    *,
    code: str | None,
    timeout: float | None,
    filename: str | None,
    work_dir: str | Path | None,
    use_docker: bool | str | Sequence[str] | None,
    lang: str | None,
    sandbox: str | None,
    environment: InstalledEnvironment | None,
) -> RunRequest:
    """Raises ArgumentTypeError, RequestError: see `run_code`."""
    text = _read_code(code, filename)
    named = filename if filename is not None else name_in_code(text or "")
    name = None if named is None else check_file_name(named)
    language = read_language(lang, text, name)
    if environment is not None and not isinstance(environment, InstalledEnvironment):
        raise ArgumentTypeError(f"environment is {type(environment).__name__}; pass an InstalledEnvironment")
    folder = None if work_dir is None else read_folder(work_dir, "work_dir").resolve()
    if text is None and folder is None:
        raise RequestError(f"filename={filename!r} is given without code; name the folder that it is in by work_dir")
    return RunRequest(
        code=None if text is None else text.encode(),
        file_name=name or made_name(text or "", language),
        is_named=name is not None or language in SAVED,
        language=language,
        folder=folder,
        timeout_s=read_timeout(timeout),
        place=read_place(use_docker=use_docker, sandbox=sandbox),
        environment=environment,
    )


def _read_code(code: str | None, filename: str | None) -> str | None:
    if code is None and filename is None:
        raise RequestError("there is nothing to run: pass code, or the filename of a file in work_dir")
    if code is None:
        return None
    if not isinstance(code, str):
        raise ArgumentTypeError(f"code is {type(code).__name__}; pass a str")
    try:
        code.encode()
    except UnicodeEncodeError as error:
        line = code.count("\n", 0, error.start) + 1
        raise RequestError(
            f"code, line {line}: {code[error.start]!a} is half of a surrogate pair, which no file can hold; remove it"
        ) from error
    return code


def read_timeout(timeout: float | None) -> float:
    """Seconds, the default for None. Raises ArgumentTypeError, RequestError."""
    if timeout is None:
        return DEFAULT_TIMEOUT_S
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise ArgumentTypeError(f"timeout is {type(timeout).__name__}; pass seconds as a number")
    if not (timeout > 0 and math.isfinite(timeout)):
        raise RequestError(f"timeout={timeout!r} is no time to run in; pass seconds above 0")
    return float(timeout)


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
        copied = _copy(request, temporary_folder(stack, temporary_root()))
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


# `execute_code` of AutoGen 0.2 and FLAML, by name, parameters and result.


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
