"""Runs several blocks of code in turn in one folder, as AutoGen's command line executors do."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final, Protocol, TypeAlias

from flyteplugins_codegen.autogen.arguments import read_folder, read_timeout, require_texts
from flyteplugins_codegen.autogen.languages import read_language
from flyteplugins_codegen.autogen.pip_lines import extract_pip_installs
from flyteplugins_codegen.autogen.run_code import CodeExecution, run_code
from flyteplugins_codegen.autogen.run_request import check_file_name, digest_name, name_in_code
from flyteplugins_codegen.autogen.sandbox_choice import read_sandbox_choice
from flyteplugins_codegen.errors import ArgumentTypeError, MissingInterpreterError, PackageError, RequestError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.packages.install import combine, install
from flyteplugins_codegen.packages.names import requirements_of
from flyteplugins_codegen.packages.resolve import resolve
from flyteplugins_codegen.source.extraction.blocks import content_str, extract_blocks
from flyteplugins_codegen.source.extraction.passage import CodeBlock
from flyteplugins_codegen.source.languages.names import language_of_file
from flyteplugins_codegen.sync import BothWays, in_daemon_thread

_REFUSED_EXIT_CODE: Final = 1
_NOT_FOUND_EXIT_CODE: Final = 127


class BlockLike(Protocol):
    """An object with a language and code, such as AutoGen's code blocks."""

    language: str
    code: str


AnyBlock: TypeAlias = "CodeBlock | BlockLike | tuple[str, str]"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLineCodeResult:
    """The result of several blocks: the exit code of the last one, and the output of all.

    `code_file` is the path of the first block's file, as in AutoGen; `code_files` are those of all blocks that were run
    or saved, and `executions` their results. Both leave out a block that was refused before it ran.
    """

    exit_code: int
    output: str
    code_file: str | None = None
    code_files: tuple[str, ...] = ()
    executions: tuple[CodeExecution, ...] = ()


class BlockExtractor:
    """Finds code blocks with `extract_blocks`, through the interface that AutoGen's agents use."""

    def extract_code_blocks(self, message: str | Sequence[Mapping[str, Any]] | None) -> list[CodeBlock]:
        """The blocks of a message. Raises as `content_str` does."""
        return list(extract_blocks(content_str(message)))


class CommandLineExecutor:
    """Runs blocks of code one after the other in one folder, each in a sandbox of its own, and keeps their files.

    `work_dir` is created if needed; None is a folder that is removed with the executor. `timeout` is in seconds for
    each block. `environment` is what Python blocks may import: an installed environment, or requirements such as
    `["pandas>=2.2"]`. Packages that a block installs with `pip install` are checked by the package policy, added to the
    environment, and stay for later blocks. `use_docker` and `sandbox` are those of `run_code`. An agent of AutoGen 0.2
    takes an executor as the `executor` of its `code_execution_config`.

    Raises ArgumentTypeError, RequestError for arguments that are not valid.
    """

    def __init__(
        self,
        work_dir: str | Path | None = None,
        timeout: float = 60,
        environment: InstalledEnvironment | Sequence[str] | None = None,
        *,
        use_docker: bool | str | Sequence[str] | None = None,
        sandbox: str | None = None,
    ) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="code-") if work_dir is None else None
        self.work_dir = read_folder(self._temporary.name if self._temporary else work_dir, "work_dir").resolve()
        self.timeout = read_timeout(timeout)
        read_sandbox_choice(use_docker=use_docker, sandbox=sandbox)
        self._use_docker, self._sandbox = use_docker, sandbox
        self._packages = _BlockPackages(environment)

    @property
    def code_extractor(self) -> BlockExtractor:
        """The object with which AutoGen's agents find blocks in messages."""
        return BlockExtractor()

    def restart(self) -> None:
        """Forget the packages that blocks have installed. Their files stay."""
        self._packages.reset()

    @BothWays
    async def execute_code_blocks(self, code_blocks: Iterable[AnyBlock]) -> CommandLineCodeResult:
        """Run the blocks in turn up to the first that fails; `.aio` awaits it.

        A block in an unknown language, with a file name outside of the folder, or with a package that is refused, fails
        like a program: its exit code is not 0, and the output says why.

        Raises:
            ArgumentTypeError: an entry is no block of code.
            SandboxError, IndexUnavailableError: this machine failed, and not the blocks.
        """
        blocks = _read_blocks(code_blocks)
        return await in_daemon_thread(self._execute, blocks)

    def _execute(self, blocks: Sequence[_Block]) -> CommandLineCodeResult:
        executions, output, exit_code = list[CodeExecution](), "", 0
        for block in blocks:
            try:
                installed, execution = self._execute_block(block)
            except (RequestError, PackageError) as error:
                exit_code, output = _REFUSED_EXIT_CODE, _joined(output, str(error))
                break
            except MissingInterpreterError as error:
                exit_code, output = _NOT_FOUND_EXIT_CODE, _joined(output, str(error))
                break
            executions.append(execution)
            exit_code, output = execution.exit_code, _joined(_joined(output, installed), execution.logs)
            if exit_code != 0:
                break
        files = tuple(str(self.work_dir / execution.code_file) for execution in executions if execution.code_file)
        return CommandLineCodeResult(
            exit_code=exit_code,
            output=output,
            code_file=files[0] if files else None,
            code_files=files,
            executions=tuple(executions),
        )

    def _execute_block(self, block: _Block) -> tuple[str, CodeExecution]:
        """Run a block. Returns a line about the packages that were installed for it, and its execution."""
        language = read_language(block.language or None, block.code, block.file_name)
        installs = extract_pip_installs(block.code, language, self._read_file)
        environment = self._packages.add(installs.requirements)
        execution = run_code(
            installs.code,
            self.timeout,
            _file_name(block, language),
            self.work_dir,
            self._use_docker,
            language,
            sandbox=self._sandbox,
            environment=environment,
        )
        packages = ", ".join(installs.requirements)
        return f"Installed {packages}\n" if packages else "", execution

    def _read_file(self, name: str) -> str:
        path = self.work_dir / check_file_name(name)
        if not path.is_file() or path.resolve() != path:
            raise RequestError(f"work_dir {self.work_dir} has no file {name!r} with requirements")
        return path.read_text(errors="replace")


@dataclass(frozen=True, slots=True)
class _Block:
    language: str
    code: str
    file_name: str | None = None


class _BlockPackages:
    """The packages that Python blocks may import, and those that blocks added. Safe to use from several threads."""

    def __init__(self, environment: InstalledEnvironment | Sequence[str] | None) -> None:
        self._base = environment if isinstance(environment, InstalledEnvironment) else None
        listed = () if environment is None or self._base else environment
        self._requirements = require_texts(
            "environment", listed, "pass an InstalledEnvironment, or a list of requirements"
        )
        self._added: tuple[str, ...] = ()
        self._lock = Lock()

    def reset(self) -> None:
        """Forget the packages that blocks added."""
        with self._lock:
            self._added = ()

    def add(self, requirements: Sequence[str]) -> InstalledEnvironment | None:
        """Add the requirements and return the environment. Raises PackageError, and adds nothing then."""
        with self._lock:
            added = tuple(dict.fromkeys((*self._added, *requirements)))
            if not (added or self._requirements):
                return self._base
            installed = install(resolve(requirements_of((), (*self._requirements, *added))))
            environment = combine(self._base, installed) if self._base else installed
            self._added = added
            return environment


def _read_blocks(blocks: Any) -> list[_Block]:
    if not isinstance(blocks, Iterable) or isinstance(blocks, (str, bytes, Mapping)):
        raise ArgumentTypeError(f"the blocks are {type(blocks).__name__}; pass a list of CodeBlock or (language, code)")
    return [_read_block(block) for block in blocks]


def _read_block(block: AnyBlock) -> _Block:
    parts: Any = (
        block if isinstance(block, (tuple, list)) else (getattr(block, "language", None), getattr(block, "code", None))
    )
    if len(parts) != 2 or not all(isinstance(part, str) for part in parts):  # noqa: PLR2004 - language and code
        raise ArgumentTypeError(f"{block!r:.100} is no block of code; pass a CodeBlock or (language, code)")
    return _Block(parts[0], parts[1], block.file_name if isinstance(block, CodeBlock) else None)


def _file_name(block: _Block, language: str) -> str:
    """The file name of the block, unless it is one of another language; else that in the code, else a digest."""
    name = block.file_name if block.file_name and language_of_file(block.file_name) in {"", language} else None
    return name or name_in_code(block.code) or digest_name(block.code, language)


def _joined(output: str, more: str) -> str:
    between = "\n" if output and more and not output.endswith("\n") else ""
    return f"{output}{between}{more}"
