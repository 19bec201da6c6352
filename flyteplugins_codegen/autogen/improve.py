"""`improve_code`: changes of files for an objective, shown as a diff, or made."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from pydantic import Field

from flyteplugins_codegen.autogen.ask import Terms, ask_in_turn, read_terms, task_messages
from flyteplugins_codegen.autogen.languages import read_place
from flyteplugins_codegen.autogen.model_config import require_text
from flyteplugins_codegen.autogen.source_files import SourceFile, SourceSet, read_source_files, replace_files
from flyteplugins_codegen.errors import InvalidReplyError, ModelError, PackageError, RequestError
from flyteplugins_codegen.judging.causes import syntax_cause
from flyteplugins_codegen.judging.suites.run import SuiteJob, run_suite
from flyteplugins_codegen.llm.ask import ModelAnswer
from flyteplugins_codegen.llm.budget import total_cost_usd
from flyteplugins_codegen.llm.prompts import describe_failure
from flyteplugins_codegen.llm.replies import Edit, Reply
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.models.run import SuiteReport, TestReport
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.models.spending import Message, ModelCall
from flyteplugins_codegen.packages.install import combine, install
from flyteplugins_codegen.packages.names import requirements_of
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.source.edits import apply_edits, unified_diff
from flyteplugins_codegen.source.extraction.blocks import unfence
from flyteplugins_codegen.source.python import FunctionSpan, functions_of, replace_function, third_party_names
from flyteplugins_codegen.source.tests import asserts_something, declared_tests
from flyteplugins_codegen.stages.prepare import check_sandbox
from flyteplugins_codegen.sync import BoundMethod, in_daemon_thread

# A caller's own tests, run in a sandbox against files as a model has changed them; nothing is imported here.

_TIMEOUT_S: Final = 120.0
_MAX_FILES: Final = 500
_MAX_BYTES: Final = 4_000_000
# Writes the files where Python's own import finds them, so that tracebacks show their lines.
_PROGRAM: Final = """\
import pathlib, sys, tempfile
folder = pathlib.Path(tempfile.mkdtemp(prefix="files-"))
for name, text in {files!r}.items():
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
sys.path.insert(0, str(folder))
"""


def check_given_tests(tests: str, sandbox: SandboxKind) -> None:
    """What can be told before anything is spent.

    Raises:
        RequestError: the text holds no test that could fail; there is no sandbox of this name.
        SandboxUnavailableError: this machine offers no such sandbox.
    """
    kind = read_place(use_docker=None, sandbox=sandbox).kind
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


def run_given_tests(root: Path, changed: Mapping[str, str], tests: str, sandbox: SandboxKind = "auto") -> SuiteReport:
    """Run the tests; they see the Python files under `root`, and in place of those named what `changed` gives.

    Raises:
        PackageError, IndexUnavailableError: what the files and the tests import could not be installed.
        SandboxError: the sandbox failed, or this machine offers none.
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
    """The Python files beside those that were given, and below: they may import each other. A bounded lot of them."""
    found: dict[str, str] = {}
    size = 0
    for path in sorted([*root.glob("*.py"), *root.glob("*/*.py"), *root.glob("*/*/*.py")]):
        try:
            text = path.read_bytes().decode()
        except (OSError, UnicodeDecodeError):
            continue
        size += len(text)
        if len(found) >= _MAX_FILES or size > _MAX_BYTES:
            break
        found[path.relative_to(root).as_posix()] = text
    return found


def _environment(files: Iterable[str], sources: Iterable[str]) -> InstalledEnvironment:
    own = {name.partition("/")[0].removesuffix(".py") for name in files}
    imported = {name for source in sources for name in _imported(source, own)} - {"pytest"}
    runner = install(resolve(RUNNER_REQUIREMENTS))
    wanted = requirements_of(tuple(sorted(imported)), ())
    # The runner's first, so that no package stands in for one of them.
    return combine(runner, install(resolve(wanted))) if wanted else runner


def _imported(source: str, own: set[str]) -> tuple[str, ...]:
    try:
        return third_party_names(source, own)
    except SyntaxError:  # a file of another kind
        return ()


# A change of files that a model proposes, tried on them: it applies, is Python where they are, passes the tests.

ReplyT = TypeVar("ReplyT", bound=Reply)

TEXT_REMEDY = "say in words what is to be better"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Generic[ReplyT]):
    """What is asked of a model, the files that it is about, and what tells whether a change is any good.

    `apply` gives the new texts of the files that a reply changes, by their labels, or raises ValueError.
    """

    reply_type: type[ReplyT]
    messages: tuple[Message, ...]
    files: SourceSet
    apply: Callable[[ReplyT], Mapping[str, str]]
    tests: str | None = None
    sandbox: SandboxKind = "auto"


async def improve(task: Task[ReplyT], terms: Terms) -> ModelAnswer[ReplyT]:
    """A reply whose change passes everything; where the tests fail, the model is told how, and asked once more.

    Raises:
        ModelError: see its subclasses; InvalidReplyError where the tests fail the second change too.
        SandboxError, IndexUnavailableError: the tests could not be run, by fault of the machine.
    """
    answer = await _ask(task, terms, task.messages)
    failure = await _failure(task, answer)
    if failure is None:
        return answer
    said = Message(role="assistant", content=answer.value.model_dump_json())
    told = Message(
        role="user", content=f"With this change the user's tests fail. Answer anew, in full.\n\n{failure}"
    )
    try:
        second = await _ask(task, terms, (*task.messages, said, told))
    except ModelError as error:
        error.calls = (*answer.calls, *error.calls)
        raise
    calls = (*answer.calls, *second.calls)
    failure = await _failure(task, second)
    if failure is not None:
        raise _rejected(failure, calls)
    return ModelAnswer(second.value, calls)


def require_syntax(label: str, text: str) -> None:
    """Raise ValueError, with the line, for a Python file that is no Python."""
    flaw = syntax_cause(text, label) if label.endswith(".py") else None
    if flaw is not None:
        raise ValueError(flaw.message)


async def _ask(task: Task[ReplyT], terms: Terms, messages: tuple[Message, ...]) -> ModelAnswer[ReplyT]:
    return await ask_in_turn(task.reply_type, messages, terms=terms, purpose="improvement", check=task.apply)


async def _failure(task: Task[ReplyT], answer: ModelAnswer[ReplyT]) -> str | None:
    """How the tests fail with the answer's change, None where they pass or there are none."""
    changed = task.apply(answer.value)
    if task.tests is None or not changed:
        return None
    texts = {**task.files.texts, **changed}
    try:
        report = await in_daemon_thread(run_given_tests, task.files.root, texts, task.tests, task.sandbox)
    except PackageError as error:  # of an import of the change's, or of the tests' own
        return str(error)
    return None if report.passed else describe_failure(TestReport(suites=(report,)))


def _rejected(failure: str, calls: tuple[ModelCall, ...]) -> InvalidReplyError:
    error = InvalidReplyError(f"the tests fail with the second change too; nothing was written:\n{failure}")
    error.calls = calls
    return error


_CODE_CONTRACT: Final = """\
Improve the given files to achieve the objective, with the smallest change that does.
- `edits`: search/replace pairs, applied in order. `file` is one of the names given; `search` is copied exactly from \
that file, with enough lines around it to occur once. No edit where nothing needs to change.
- `suggestions`: what you change and why, one sentence each; then what is worth changing beyond the objective.
- The user's tests, where there are any, are right by definition."""


class FileEdit(Edit):
    """One change of one file."""

    file: str = Field(description="The file's name, as given")


class ImprovementReply(Reply):
    """Changes of files."""

    suggestions: list[str] = Field(description="What changes and why, one sentence each")
    edits: list[FileEdit] = Field(default=[], description="The changes; empty where nothing needs to change")


@BoundMethod
async def improve_code(
    files: Sequence[str | os.PathLike[str]],
    objective: str,
    suggest_only: bool = True,  # noqa: FBT001, FBT002 - the signature of AutoGen 0.2
    *,
    tests: str | None = None,
    sandbox: SandboxKind = "auto",
    **config: Any,
) -> tuple[str, float | None]:
    """Changes of the files for an objective, as a unified diff, and what they cost. As in AutoGen 0.2; also `.aio`.

    The edits apply, every Python file is Python after them, and `tests` pass; a reply that fails is put back to the
    model once. Only the files given are ever changed.

    Args:
        files: Paths of text files.
        objective: What is to be better, in words.
        suggest_only: False writes the changed files as well, all of them or none.
        tests: Source of a pytest module that imports the files by their names. Run in the sandbox, never here.
        sandbox: Where the tests run.
        config: Whom to ask, see `read_config`, or `configs` in turn; and a `budget`.

    Returns:
        The model's suggestions as comments (`# ...`), then the diff, which `git apply` and `patch -p1` take in the
        folder that holds all the files (with the packages that they are in); and the cost in USD: 0.0 for an answer
        that was paid for before, None for an unknown price.

    Raises:
        RequestError: a file is not there or no text, or a value is not possible, and nothing was spent; or a file was
            changed by somebody else meanwhile.
        ModelError: no model could be reached, or none gave such changes when asked twice; nothing was written.
        SandboxError, IndexUnavailableError: the tests could not be run, by fault of the machine.
    """
    given = read_source_files(files)
    require_text("the objective", objective, TEXT_REMEDY)
    if tests is not None:
        check_given_tests(tests, sandbox)
    terms = read_terms(config)
    task = Task(
        reply_type=ImprovementReply,
        messages=task_messages(_CODE_CONTRACT, _question(given, objective)),
        files=given,
        apply=lambda reply: _changed(given, reply),
        tests=tests,
        sandbox=sandbox,
    )
    answer = await improve(task, terms)
    changed = _changed(given, answer.value)
    if not suggest_only:
        replace_files({given[label].path: (given[label].data, text.encode()) for label, text in changed.items()})
    return _shown(given, answer.value, changed), total_cost_usd(answer.calls)


def _question(given: SourceSet, objective: str) -> str:
    return "\n\n".join([f"# Objective\n{objective.strip()}", *(f"# {file.label}\n{file.text}" for file in given.files)])


def _changed(given: SourceSet, reply: ImprovementReply) -> dict[str, str]:
    """The new texts of the files that change. Raises ValueError, which names the file and the edit."""
    texts, changed = given.texts, dict[str, str]()
    for label in dict.fromkeys(edit.file for edit in reply.edits):
        if label not in texts:
            raise ValueError(f"there is no file {label!r} among those given: {', '.join(texts)}")
        edits = [(edit.search, edit.replace) for edit in reply.edits if edit.file == label]
        try:
            text = apply_edits(texts[label], edits)
            text.encode()  # half a character fits into no file
        except ValueError as error:
            raise ValueError(f"{label}, {error}") from None
        require_syntax(label, text)
        if text != texts[label]:
            changed[label] = text
    return changed


def _shown(given: SourceSet, reply: ImprovementReply, changed: Mapping[str, str]) -> str:
    """The suggestions, every line a comment, so that none can pass for a part of the diff; then the diff."""
    said = [f"# {line}\n" for suggestion in reply.suggestions for line in suggestion.splitlines()]
    return "".join([*said, *(unified_diff(given[label].text, text, label) for label, text in changed.items())])


# `improve_function`: one function of a file, written anew for an objective.

_FUNCTION_CONTRACT: Final = """\
Improve one function of the given Python file to achieve the objective.
- `code` is the whole function with its decorators, unindented, under the same name. Keep its parameters and what it \
returns for its present callers, unless the objective says otherwise. Imports and helpers of its own stand inside it.
- Nothing else of the file changes. The user's tests, where there are any, are right by definition."""
_SHOWN_NAMES: Final = 20


class ImprovedFunctionReply(Reply):
    """One function, written anew."""

    explanation: str = Field(default="", description="What changes and why, in one or two sentences")
    code: str = Field(min_length=1, description="The whole function, unindented")


@BoundMethod
async def improve_function(
    file_name: str | os.PathLike[str],
    func_name: str,
    objective: str,
    *,
    tests: str | None = None,
    sandbox: SandboxKind = "auto",
    **config: Any,
) -> tuple[str, float | None]:
    """The source of a function of the file, improved, and what it cost. As in AutoGen 0.2; also `.aio`.

    The file is not changed. The function takes the old one's place in it as it stands: the file is Python then, has a
    function of that name, and passes `tests`; a reply that fails is put back to the model once.

    Args:
        file_name: A Python file.
        func_name: The function's name, `Class.method` for a method.
        objective: What is to be better, in words.
        tests: Source of a pytest module that imports the file by its name. Run in the sandbox, never here.
        sandbox: Where the tests run.
        config: Whom to ask, see `read_config`, or `configs` in turn; and a `budget`.

    Returns:
        The function's source, and the cost in USD: 0.0 for an answer that was paid for before, None for an unknown
        price.

    Raises:
        RequestError: the file or the function is not there, or a value is not possible; nothing was spent.
        ModelError: no model could be reached, or none gave such a function when asked twice.
        SandboxError, IndexUnavailableError: the tests could not be run, by fault of the machine.
    """
    files = read_source_files([file_name])
    (file,) = files.files
    span = _span(file, func_name)
    require_text("the objective", objective, TEXT_REMEDY)
    if tests is not None:
        check_given_tests(tests, sandbox)
    terms = read_terms(config)
    question = f"# Objective\n{objective.strip()}\n\n# The function\n{span.name}\n\n# {file.label}\n{file.text}"
    task = Task(
        reply_type=ImprovedFunctionReply,
        messages=task_messages(_FUNCTION_CONTRACT, question),
        files=files,
        apply=lambda reply: {file.label: _replaced(file, span, _function(reply))},
        tests=tests,
        sandbox=sandbox,
    )
    answer = await improve(task, terms)
    return _function(answer.value), total_cost_usd(answer.calls)


def _span(file: SourceFile, name: Any) -> FunctionSpan:
    """Where the function is. Raises RequestError, which names the functions that are there."""
    flaw = syntax_cause(file.text, str(file.path))
    if flaw is not None:
        raise RequestError(f"{flaw.message}\nmend the file's syntax first")
    found = functions_of(file.text)
    if not isinstance(name, str) or name not in found:
        names = ", ".join([*found][:_SHOWN_NAMES]) or "none at all"
        more = f" and {len(found) - _SHOWN_NAMES} more" if len(found) > _SHOWN_NAMES else ""
        raise RequestError(f"{file.path} has no function {name!r:.100}; it has {names}{more}")
    return found[name]


def _function(reply: ImprovedFunctionReply) -> str:
    return textwrap.dedent(unfence(reply.code)).strip("\n") + "\n"


def _replaced(file: SourceFile, span: FunctionSpan, code: str) -> str:
    """The file with the function in its place. Raises ValueError where it is none of that name, or no Python."""
    require_syntax("code.py", code)
    own_name = span.name.rpartition(".")[2]
    if own_name not in functions_of(code):
        raise ValueError(f"code defines no function {own_name}: give the whole function under the same name")
    changed = replace_function(file.text, span, code)
    require_syntax(file.label, changed)
    return changed
