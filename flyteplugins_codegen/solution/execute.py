"""Runs a finished solution on real data: installs its environment, lays out its inputs, stores its outputs."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from flyteplugins_codegen.errors import OutputError, SandboxError, SolutionFailedError
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.data import ValidateMode
from flyteplugins_codegen.models.job import SolutionBundle
from flyteplugins_codegen.models.run import Cause, ScriptRun
from flyteplugins_codegen.models.settings import CacheMode, PodSettings, Resources, SandboxKind
from flyteplugins_codegen.packages.install import install
from flyteplugins_codegen.portable import launcher
from flyteplugins_codegen.portable.launcher import is_simple, parse_output
from flyteplugins_codegen.sandbox.contract import Limits, Output
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.solution.script import ScriptJob, lay_out_values, run_script
from flyteplugins_codegen.solution.validate import check_inputs, check_outputs, schemas_text
from flyteplugins_codegen.store import cache_dir, digest

T = TypeVar("T")

_CHUNK_BYTES = 1 << 20
_NO_TIMEOUT_S = 7 * 24 * 3600.0


class ExecutionOptions(Value):
    """How a solution is executed. `timeout_s` are wall seconds; `retries` apply to a failed sandbox only.

    `validation` says what happens to files that break their schema. `pod` configures its pod on a cluster.
    """

    sandbox: SandboxKind = "auto"
    resources: Resources | None = None
    timeout_s: float | None = None
    env_vars: dict[str, str] = Field(default_factory=dict)
    retries: int = 0
    validation: ValidateMode = "strict"
    pod: PodSettings = PodSettings()

    @property
    def limits(self) -> Limits:
        """The sandbox's limits. Without `timeout_s` a finished solution may run for a week."""
        defaults = Limits()
        return Limits(
            wall_s=self.timeout_s or _NO_TIMEOUT_S,
            memory_mib=self.resources.memory_mib if self.resources else defaults.memory_mib,
        )


def execute_remembered(
    bundle: SolutionBundle, values: Mapping[str, Any], options: ExecutionOptions, cache: CacheMode
) -> dict[str, Any]:
    """As `execute_solution`, with the outputs cached by content: the same code does not run twice on the same values.

    `auto` uses the outputs of an earlier run, `override` runs again and replaces them, `disable` neither reads nor
    writes the cache. A run that fails leaves the cached outputs unchanged.
    """
    laid_out = lay_out_values(bundle.inputs, values)
    key = uuid.uuid4().hex if cache == "disable" else _key(bundle, laid_out, options)
    folder = cache_dir() / "outputs" / key[:2] / key
    if cache == "override":
        fresh = folder.with_name(f"{key}.{uuid.uuid4().hex}")
        execute_solution(bundle, values, fresh, options)
        _replace(folder, fresh)
    elif not folder.is_dir():
        execute_solution(bundle, values, folder, options)
    return {name: _read_output(folder / name, kind) for name, kind in bundle.outputs.items()}


def execute_solution(
    bundle: SolutionBundle, values: Mapping[str, Any], folder: Path, options: ExecutionOptions
) -> None:
    """Run the solution in the sandbox. Its outputs appear in `folder` by name, all or none.

    `values` has every declared input: plain values, and paths of files and directories. Simple outputs are stored as
    the text that a cluster reads.

    Raises:
        InterfaceError: an input is missing, unknown or not of its type.
        DataError: an input file breaks its schema, by `validation="strict"`; nothing was run.
        SolutionFailedError: the script ended with an error; the message ends with its stderr.
        OutputError: an output is missing, not of its type, or breaks its schema.
        SandboxError: the sandbox itself failed, not the program.
    """
    check_inputs(bundle, lay_out_values(bundle.inputs, values), options.validation)
    job = ScriptJob(
        solution=bundle.code,
        inputs=bundle.inputs,
        outputs=bundle.outputs,
        values=values,
        case=f"the inputs of {bundle.name!r}",
        limits=options.limits,
        env=options.env_vars,
    )
    environment = install(bundle.lock)
    with open_sandbox(options.sandbox, environment=environment) as sandbox:
        run, outputs = with_retries(lambda: run_script(sandbox, job), options.retries)
        if run.cause is not None:
            raise _failure(bundle, run, run.cause)
        _store_outputs(outputs, folder, lambda aside: check_outputs(bundle, aside, options.validation))


def with_retries(attempt: Callable[[], T], retries: int) -> T:
    """The attempt's value. A failed sandbox is retried, a failed program is not."""
    try:
        return attempt()
    except SandboxError:
        if retries < 1:
            raise
    return with_retries(attempt, retries - 1)


def _failure(bundle: SolutionBundle, run: ScriptRun, cause: Cause) -> OutputError | SolutionFailedError:
    kind = OutputError if cause.kind in {"missing_output", "invalid_output"} else SolutionFailedError
    # The other lines of the cause's message are an extract of stderr, which follows in full.
    summary = f"solution {bundle.name!r}: {cause.kind.replace('_', ' ')}: {cause.message.partition(chr(10))[0]}"
    stderr = run.stderr.strip()
    return kind(f"{summary}\nIts stderr:\n{stderr}" if stderr else f"{summary}\nIt wrote nothing to stderr.")


def _store_outputs(outputs: Mapping[str, Output], folder: Path, check: Callable[[Path], None]) -> None:
    """Copy to a temporary folder, check, then rename. A folder that exists is complete; the first process wins."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".outputs-"))
    try:
        for name, output in outputs.items():
            output.copy_to(aside / name)
        check(aside)
        for file in aside.rglob("*"):
            if file.is_file():
                file.chmod(0o444)  # callers get this very file: writing to it would change the cached output
        aside.chmod(0o755)
        aside.rename(folder)
    except BaseException as error:
        shutil.rmtree(aside, ignore_errors=True)
        if not isinstance(error, OSError) or not folder.is_dir():
            raise


def _replace(folder: Path, fresh: Path) -> None:
    """Replace cached outputs by renames: a reader finds the old ones, none or the new ones, always complete."""
    stale = fresh.with_name(f"{fresh.name}.stale")
    with contextlib.suppress(FileNotFoundError):
        folder.rename(stale)
    try:
        fresh.rename(folder)
    except OSError:
        # Another process was faster; its outputs are as new.
        shutil.rmtree(fresh, ignore_errors=True)
        if not folder.is_dir():
            raise
    shutil.rmtree(stale, ignore_errors=True)


def _read_output(path: Path, kind: str) -> Any:
    return parse_output(path.read_bytes(), kind) if is_simple(kind) else path


def _key(bundle: SolutionBundle, laid_out: Mapping[str, Path | bytes], options: ExecutionOptions) -> str:
    contents = [
        [name, digest(value) if isinstance(value, bytes) else content_digest(value)] for name, value in laid_out.items()
    ]
    interface = [list(bundle.inputs.items()), list(bundle.outputs.items())]
    # The launcher decides what is a valid output, the sandbox what the script can reach.
    context = [options.env_vars, options.sandbox, Path(launcher.__file__).read_text()]
    if options.validation != "off":
        context += [options.validation, schemas_text(bundle.schemas)]
    return digest(bundle.code, bundle.lock.digest, interface, contents, context)


def content_digest(path: Path) -> str:
    """The digest of a file's content, whatever its name; of a folder's, by its files' relative names and contents."""
    files = sorted(entry for entry in path.rglob("*") if entry.is_file()) if path.is_dir() else [path]
    sha = hashlib.sha256()
    for file in files:
        sha.update(f"{file.relative_to(path)}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                sha.update(chunk)
    return sha.hexdigest()
