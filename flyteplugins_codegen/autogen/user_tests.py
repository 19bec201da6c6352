"""A caller's own tests, run in a sandbox against files as a model has changed them; nothing is imported here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from flyteplugins_codegen.autogen.arguments import require_text
from flyteplugins_codegen.autogen.sandbox_choice import read_sandbox_choice
from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.judging.suites.run import SuiteJob, run_suite
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.models.run import SuiteReport
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.packages.install import combine, install
from flyteplugins_codegen.packages.names import requirements_of
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.source.python import third_party_names
from flyteplugins_codegen.source.tests import asserts_something, declared_tests
from flyteplugins_codegen.stages.prepare import check_sandbox

_TIMEOUT_S: Final = 120.0
_MAX_FILES: Final = 500
_MAX_BYTES: Final = 4_000_000
# Writes the files to a folder on `sys.path`, so that tracebacks show their lines.
_PROGRAM: Final = """\
import pathlib, sys, tempfile
folder = pathlib.Path(tempfile.mkdtemp(prefix="files-"))
for name, text in {files!r}.items():
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
sys.path.insert(0, str(folder))
"""


def check_user_tests(tests: str, sandbox: SandboxKind) -> None:
    """Check the tests and the sandbox before anything is spent.

    Raises:
        RequestError: the text has no test that could fail; there is no sandbox of this name.
        SandboxUnavailableError: this machine offers no such sandbox.
    """
    kind = read_sandbox_choice(use_docker=None, sandbox=sandbox).kind
    remedy = "pass the source of a pytest module that imports the files by their names"
    require_text("tests", tests, remedy)
    try:
        declared = declared_tests(tests)
        if not declared or not asserts_something(tests):
            raise RequestError(f"tests: no test in {tests[:80]!r} could fail; {remedy}")
    except SyntaxError as error:
        raise RequestError(f"tests, line {error.lineno or 1}: no Python: {error.msg}; {remedy}") from None
    except (RecursionError, MemoryError):
        raise RequestError(f"tests are nested too deeply to be read as Python; {remedy}") from None
    check_sandbox(kind)


def run_user_tests(root: Path, changed: Mapping[str, str], tests: str, sandbox: SandboxKind = "auto") -> SuiteReport:
    """Run the tests against the Python files under `root`, with the texts in `changed` in place of those files.

    Raises:
        PackageError, IndexUnavailableError: what the files and the tests import could not be installed.
        SandboxError: the sandbox failed, or this machine has none.
    """
    files = {**_present_files(root), **changed}
    with open_sandbox(sandbox, environment=_environment(files, [*changed.values(), tests])) as opened:
        job = SuiteJob(
            solution=_PROGRAM.format(files=files),
            tests=tests,
            expected=declared_tests(tests),
            origin="user",
            limits=Limits(wall_s=_TIMEOUT_S),
        )
        return run_suite(opened, job)


def _present_files(root: Path) -> dict[str, str]:
    """The Python files in `root` and two levels below, which may import each other; limited in number and size."""
    texts: dict[str, str] = {}
    size = 0
    for path in sorted([*root.glob("*.py"), *root.glob("*/*.py"), *root.glob("*/*/*.py")]):
        try:
            text = path.read_bytes().decode()
        except (OSError, UnicodeDecodeError):
            continue
        size += len(text)
        if len(texts) >= _MAX_FILES or size > _MAX_BYTES:
            break
        texts[path.relative_to(root).as_posix()] = text
    return texts


def _environment(files: Iterable[str], sources: Iterable[str]) -> InstalledEnvironment:
    own = {name.partition("/")[0].removesuffix(".py") for name in files}
    imported = {name for source in sources for name in _imported(source, own)} - {"pytest"}
    runner = install(resolve(RUNNER_REQUIREMENTS))
    requirements = requirements_of(tuple(sorted(imported)), ())
    # The runner's first, so that no other package replaces one of them.
    return combine(runner, install(resolve(requirements))) if requirements else runner


def _imported(source: str, own: set[str]) -> tuple[str, ...]:
    try:
        return third_party_names(source, own)
    except SyntaxError:  # a file of another kind
        return ()
