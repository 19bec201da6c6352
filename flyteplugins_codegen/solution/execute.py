"""Running a finished solution on real data: its environment installed, its values laid out, its outputs taken."""

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
    """How one run of a solution is done. `timeout_s` are wall seconds; `retries` are for a failed sandbox only.

    `validation` says what becomes of files that break their schema. `pod` is how it stands in a cluster.
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
        """The sandbox's limits. A finished solution may take as long as it needs where `timeout_s` sets no end."""
        defaults = Limits()
        return Limits(
            wall_s=self.timeout_s or _NO_TIMEOUT_S,
            memory_mib=self.resources.memory_mib if self.resources else defaults.memory_mib,
        )


def execute_remembered(
    bundle: SolutionBundle, values: Mapping[str, Any], options: ExecutionOptions, cache: CacheMode
) -> dict[str, Any]:
    """As `execute_solution`, with the outputs kept by content: the same code on the same values is not run twice.

    `auto` takes what an earlier run left, `override` runs anew and replaces it, `disable` neither takes nor leaves.
    A run that fails leaves what is kept as it was.
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
    return {name: _kept(folder / name, kind) for name, kind in bundle.outputs.items()}


def execute_solution(
    bundle: SolutionBundle, values: Mapping[str, Any], folder: Path, options: ExecutionOptions
) -> None:
    """Run the solution in the sandbox; its outputs appear below `folder` by name, all together or not at all.

    `values` holds every declared input: plain values, and paths for files and directories. Simple outputs are kept as
    the text that a cluster reads.

    Raises:
        InterfaceError: an input is missing, unknown or not of its type.
        DataError: an input file breaks its schema, by `validation="strict"`; nothing was run.
        SolutionFailedError: the script ended with an error; the message ends with its stderr.
        OutputError: an output is missing, not of its type, or breaks its schema.
        SandboxError: the sandbox failed; the program is not to blame.
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
        _keep(outputs, folder, lambda aside: check_outputs(bundle, aside, options.validation))


def with_retries(attempt: Callable[[], T], retries: int) -> T:
    """The attempt's value; a sandbox that failed itself is tried again, a program that failed is not."""
    try:
        return attempt()
    except SandboxError:
        if retries < 1:
            raise
    return with_retries(attempt, retries - 1)


def _failure(bundle: SolutionBundle, run: ScriptRun, cause: Cause) -> OutputError | SolutionFailedError:
    kind = OutputError if cause.kind in {"missing_output", "invalid_output"} else SolutionFailedError
    # The rest of the cause's message is an extract of stderr, which follows in full.
    told = f"solution {bundle.name!r}: {cause.kind.replace('_', ' ')}: {cause.message.partition(chr(10))[0]}"
    stderr = run.stderr.strip()
    return kind(f"{told}\nIts stderr:\n{stderr}" if stderr else f"{told}\nIt wrote nothing to stderr.")


def _keep(outputs: Mapping[str, Output], folder: Path, check: Callable[[Path], None]) -> None:
    """Copy aside, check, then rename: a folder that is there is whole, and another process that was first has won."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".outputs-"))
    try:
        for name, output in outputs.items():
            output.copy_to(aside / name)
        check(aside)
        for file in aside.rglob("*"):
            if file.is_file():
                file.chmod(0o444)  # handed out as it lies: whoever changed it would change what is kept
        aside.chmod(0o755)
        aside.rename(folder)
    except BaseException as error:
        shutil.rmtree(aside, ignore_errors=True)
        if not isinstance(error, OSError) or not folder.is_dir():
            raise


def _replace(folder: Path, fresh: Path) -> None:
    """Put whole new outputs where old ones may lie, by renames: whoever looks finds the old, none or the new ones."""
    stale = fresh.with_name(f"{fresh.name}.stale")
    with contextlib.suppress(FileNotFoundError):
        folder.rename(stale)
    try:
        fresh.rename(folder)
    except OSError:
        # Another process came in between; what it has put there is as new.
        shutil.rmtree(fresh, ignore_errors=True)
        if not folder.is_dir():
            raise
    shutil.rmtree(stale, ignore_errors=True)


def _kept(path: Path, kind: str) -> Any:
    return parse_output(path.read_bytes(), kind) if is_simple(kind) else path


def _key(bundle: SolutionBundle, laid_out: Mapping[str, Path | bytes], options: ExecutionOptions) -> str:
    contents = [[name, _content(value)] for name, value in laid_out.items()]
    interface = [list(bundle.inputs.items()), list(bundle.outputs.items())]
    # The launcher decides what passes for an output, the sandbox what the script can reach.
    surroundings = [options.env_vars, options.sandbox, Path(launcher.__file__).read_text()]
    if options.validation != "off":
        surroundings += [options.validation, schemas_text(bundle.schemas)]
    return digest(bundle.code, bundle.lock.digest, interface, contents, surroundings)


def _content(value: Path | bytes) -> str:
    """The digest of what an input holds: of a folder, its files' relative names and contents."""
    if isinstance(value, bytes):
        return digest(value)
    files = sorted(entry for entry in value.rglob("*") if entry.is_file()) if value.is_dir() else [value]
    sha = hashlib.sha256()
    for file in files:
        sha.update(f"{file.relative_to(value)}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                sha.update(chunk)
    return sha.hexdigest()
