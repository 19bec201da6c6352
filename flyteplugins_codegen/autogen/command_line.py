"""Several blocks of code in turn in one folder, as AutoGen's command line executors run them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final, Protocol, TypeAlias

from flyteplugins_codegen.autogen.languages import check_file_name, made_name, name_in_code, read_language, read_place
from flyteplugins_codegen.autogen.model_config import require_texts
from flyteplugins_codegen.autogen.pip_lines import take_installs
from flyteplugins_codegen.autogen.run_code import CodeExecution, read_timeout, run_code
from flyteplugins_codegen.autogen.work_folder import read_folder
from flyteplugins_codegen.errors import ArgumentTypeError, MissingInterpreterError, PackageError, RequestError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.packages.install import combine, install
from flyteplugins_codegen.packages.names import requirements_of
from flyteplugins_codegen.packages.resolve import resolve
from flyteplugins_codegen.source.extraction.blocks import content_str, extract_blocks
from flyteplugins_codegen.source.extraction.passage import CodeBlock
from flyteplugins_codegen.source.languages.names import language_of_file
from flyteplugins_codegen.sync import BothWays, in_daemon_thread

_REFUSED: Final = 1
_NOT_FOUND: Final = 127


class BlockLike(Protocol):
    """What has a language and code, as AutoGen's code blocks do."""

    language: str
    code: str


AnyBlock: TypeAlias = "CodeBlock | BlockLike | tuple[str, str]"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLineCodeResult:
    """What became of several blocks: the last one's exit code, and what all wrote.

    `code_file` is the path of the first block's file, as in AutoGen; `code_files` are those of all that were run or
    saved, and `executions` tells each in full. Of a block that was refused before it ran there is neither.
    """

    exit_code: int
    output: str
    code_file: str | None = None
    code_files: tuple[str, ...] = ()
    executions: tuple[CodeExecution, ...] = ()


class BlockExtractor:
    """Finds blocks by `extract_blocks`, in the way in which AutoGen's agents ask."""

    def extract_code_blocks(self, message: str | Sequence[Mapping[str, Any]] | None) -> list[CodeBlock]:
        """The blocks of a message. Raises as `content_str` does."""
        return list(extract_blocks(content_str(message)))


class CommandLineExecutor:
    """Runs blocks of code one after the other in one folder, each in a sandbox of its own, and keeps their files.

    `work_dir` is made where it is not there; None is a folder that goes with the executor. `timeout` are the seconds
    that each block may take. `environment` is what Python blocks may import: an installed environment, or requirements
    such as `["pandas>=2.2"]`. What blocks ask for by `pip install` is checked by the policy for packages, installed
    beside it, and stays for later blocks. `use_docker` and `sandbox` are those of `run_code`. An agent of AutoGen 0.2
    takes it as the `executor` of its `code_execution_config`.

    Raises ArgumentTypeError, RequestError for arguments that cannot be what they are.
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
        self._own_folder = tempfile.TemporaryDirectory(prefix="code-") if work_dir is None else None
        self.work_dir = read_folder(self._own_folder.name if self._own_folder else work_dir, "work_dir").resolve()
        self.timeout = read_timeout(timeout)
        read_place(use_docker=use_docker, sandbox=sandbox)
        self._use_docker, self._sandbox = use_docker, sandbox
        self._packages = _Packages(environment)

    @property
    def code_extractor(self) -> BlockExtractor:
        """What AutoGen's agents find blocks in messages with."""
        return BlockExtractor()

    def restart(self) -> None:
        """Forget the packages that blocks have installed. Their files stay."""
        self._packages.forget()

    @BothWays
    async def execute_code_blocks(self, code_blocks: Iterable[AnyBlock]) -> CommandLineCodeResult:
        """Run the blocks in turn up to the first that fails; `.aio` awaits it.

        A block in a language that nothing here runs, with a file name out of the folder or a package that is refused
        fails like one that ended badly: its exit code is not 0, and the output says why. Wrong Python types raise.

        Raises:
            ArgumentTypeError: what is no block of code.
            SandboxError, IndexUnavailableError: this machine failed; the blocks are not to blame.
        """
        blocks = _read_blocks(code_blocks)
        return await in_daemon_thread(self._execute, blocks)

    def _execute(self, blocks: Sequence[_Block]) -> CommandLineCodeResult:
        executions, output, exit_code = list[CodeExecution](), "", 0
        for block in blocks:
            try:
                installed, execution = self._execute_block(block)
            except (RequestError, PackageError) as error:
                exit_code, output = _REFUSED, _joined(output, str(error))
                break
            except MissingInterpreterError as error:
                exit_code, output = _NOT_FOUND, _joined(output, str(error))
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
        """What was installed for a block, told in a line, and what became of it."""
        language = read_language(block.language or None, block.code, block.file_name)
        installs = take_installs(block.code, language, self._read_file)
        environment = self._packages.with_more(installs.requirements)
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
        told = ", ".join(installs.requirements)
        return f"Installed {told}\n" if told else "", execution

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


class _Packages:
    """What Python code may import, and what was added to it; safe to use from several threads."""

    def __init__(self, environment: InstalledEnvironment | Sequence[str] | None) -> None:
        self._base = environment if isinstance(environment, InstalledEnvironment) else None
        listed = () if environment is None or self._base else environment
        self._requirements = require_texts(
            "environment", listed, "pass an InstalledEnvironment, or a list of requirements"
        )
        self._added: tuple[str, ...] = ()
        self._lock = Lock()

    def forget(self) -> None:
        """Go back to what there was at first."""
        with self._lock:
            self._added = ()

    def with_more(self, requirements: Sequence[str]) -> InstalledEnvironment | None:
        """The environment with these added. Raises PackageError; then it is as it was."""
        with self._lock:
            wanted = tuple(dict.fromkeys((*self._added, *requirements)))
            if not (wanted or self._requirements):
                return self._base
            installed = install(resolve(requirements_of((), (*self._requirements, *wanted))))
            environment = combine(self._base, installed) if self._base else installed
            self._added = wanted
            return environment


def _read_blocks(blocks: Any) -> list[_Block]:
    if not isinstance(blocks, Iterable) or isinstance(blocks, (str, bytes, Mapping)):
        raise ArgumentTypeError(f"the blocks are {type(blocks).__name__}; pass a list of CodeBlock or (language, code)")
    return [_read_block(block) for block in blocks]


def _read_block(block: AnyBlock) -> _Block:
    parts: Any = block if isinstance(block, (tuple, list)) else (_of(block, "language"), _of(block, "code"))
    if len(parts) != 2 or not all(isinstance(part, str) for part in parts):  # noqa: PLR2004 - language and code
        raise ArgumentTypeError(f"{block!r:.100} is no block of code; pass a CodeBlock or (language, code)")
    return _Block(parts[0], parts[1], block.file_name if isinstance(block, CodeBlock) else None)


def _of(block: object, name: str) -> object:
    return getattr(block, name, None)


def _file_name(block: _Block, language: str) -> str:
    """What the reply or the code calls the file, unless that is a file of another language; else one of our making."""
    named = block.file_name if block.file_name and language_of_file(block.file_name) in {"", language} else None
    return named or name_in_code(block.code) or made_name(block.code, language)


def _joined(output: str, more: str) -> str:
    between = "\n" if output and more and not output.endswith("\n") else ""
    return f"{output}{between}{more}"
