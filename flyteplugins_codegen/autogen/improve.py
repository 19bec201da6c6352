"""`improve_code` and `improve_function`: changes of files, or of one function, for an objective.

A change is accepted only if it applies, Python files are valid Python after it, and the caller's tests pass.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pydantic import Field

from flyteplugins_codegen.autogen.arguments import require_text
from flyteplugins_codegen.autogen.ask import AskSettings, ask_in_turn, read_ask_settings, task_messages
from flyteplugins_codegen.autogen.source_files import SourceFile, SourceSet, read_source_files, replace_files
from flyteplugins_codegen.autogen.user_tests import check_user_tests, run_user_tests
from flyteplugins_codegen.errors import InvalidReplyError, ModelError, PackageError, RequestError
from flyteplugins_codegen.judging.causes import syntax_cause
from flyteplugins_codegen.llm.ask import ModelAnswer
from flyteplugins_codegen.llm.budget import total_cost_usd
from flyteplugins_codegen.llm.failures import describe_failure
from flyteplugins_codegen.llm.replies import Edit, Reply
from flyteplugins_codegen.models.run import TestReport
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.models.spending import Message
from flyteplugins_codegen.source.edits import apply_edits, unified_diff
from flyteplugins_codegen.source.extraction.blocks import unfence
from flyteplugins_codegen.source.python import FunctionSpan, functions_of, replace_function
from flyteplugins_codegen.sync import BoundMethod, in_daemon_thread

ReplyT = TypeVar("ReplyT", bound=Reply)

_OBJECTIVE_REMEDY: Final = "say in words what is to be better"
_MAX_LISTED_NAMES: Final = 20


_CODE_CONTRACT: Final = """\
Improve the given files to achieve the objective, with the smallest change that does.
- `edits`: search/replace pairs, applied in order. `file` is one of the names given; `search` is copied exactly from \
that file, with enough lines around it to occur once. No edit where nothing needs to change.
- `suggestions`: what you change and why, one sentence each; then what is worth changing beyond the objective.
- The user's tests, where there are any, are right by definition."""
_FUNCTION_CONTRACT: Final = """\
Improve one function of the given Python file to achieve the objective.
- `code` is the whole function with its decorators, unindented, under the same name. Keep its parameters and what it \
returns for its present callers, unless the objective says otherwise. Imports and helpers of its own stand inside it.
- Nothing else of the file changes. The user's tests, where there are any, are right by definition."""


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
    """Changes of the files for an objective, as a unified diff, and their cost. As in AutoGen 0.2; also `.aio`.

    The edits apply, every Python file is valid Python after them, and `tests` pass; after a reply that fails the model
    is asked once more. Only these files are ever changed.

    Args:
        files: Paths of text files.
        objective: What is to be better, in words.
        suggest_only: False also writes the changed files, all of them or none.
        tests: Source of a pytest module that imports the files by their names. Run in the sandbox, never here.
        sandbox: Where the tests run.
        config: The model, see `read_config`, or `configs` to ask in turn; and a `budget`.

    Returns:
        The model's suggestions as comments (`# ...`), then the diff, which `git apply` and `patch -p1` take in the
        folder that contains all the files (with the packages that they are in); and the cost in USD: 0.0 for a cached
        answer, None for an unknown price.

    Raises:
        RequestError: a file does not exist or is no text, or a value is not possible, and nothing was spent; or a file
            was changed by another program meanwhile.
        ModelError: no model could be reached, or none gave such changes when asked twice; nothing was written.
        SandboxError, IndexUnavailableError: the machine could not run the tests.
    """
    sources = read_source_files(files)
    require_text("the objective", objective, _OBJECTIVE_REMEDY)
    if tests is not None:
        check_user_tests(tests, sandbox)
    settings = read_ask_settings(config)
    task = _Improvement(
        reply_type=ImprovementReply,
        messages=task_messages(_CODE_CONTRACT, _question(sources, objective)),
        files=sources,
        apply=lambda reply: _changed(sources, reply),
        tests=tests,
        sandbox=sandbox,
    )
    answer = await _improve(task, settings)
    changed = _changed(sources, answer.value)
    if not suggest_only:
        replace_files({sources[label].path: (sources[label].data, text.encode()) for label, text in changed.items()})
    return _render_changes(sources, answer.value, changed), total_cost_usd(answer.calls)


def _question(sources: SourceSet, objective: str) -> str:
    files = (f"# {file.label}\n{file.text}" for file in sources.files)
    return "\n\n".join([f"# Objective\n{objective.strip()}", *files])


def _changed(sources: SourceSet, reply: ImprovementReply) -> dict[str, str]:
    """The new texts of the files that change. Raises ValueError, which names the file and the edit."""
    texts, changed = sources.texts, dict[str, str]()
    for label in dict.fromkeys(edit.file for edit in reply.edits):
        if label not in texts:
            raise ValueError(f"there is no file {label!r} among those given: {', '.join(texts)}")
        edits = [(edit.search, edit.replace) for edit in reply.edits if edit.file == label]
        try:
            text = apply_edits(texts[label], edits)
            text.encode()  # fails for a lone surrogate
        except ValueError as error:
            raise ValueError(f"{label}, {error}") from None
        _require_syntax(label, text)
        if text != texts[label]:
            changed[label] = text
    return changed


def _render_changes(sources: SourceSet, reply: ImprovementReply, changed: Mapping[str, str]) -> str:
    """The suggestions, every line as a comment, so that none can be mistaken for the diff; then the diff."""
    comments = [f"# {line}\n" for suggestion in reply.suggestions for line in suggestion.splitlines()]
    return "".join([*comments, *(unified_diff(sources[label].text, text, label) for label, text in changed.items())])


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
    """The improved source of a function of the file, and its cost. As in AutoGen 0.2; also `.aio`.

    The file is not changed. The function can replace the old one as it is: the file is then valid Python, has a
    function of that name, and passes `tests`; after a reply that fails the model is asked once more.

    Args:
        file_name: A Python file.
        func_name: The function's name, `Class.method` for a method.
        objective: What is to be better, in words.
        tests: Source of a pytest module that imports the file by its name. Run in the sandbox, never here.
        sandbox: Where the tests run.
        config: The model, see `read_config`, or `configs` to ask in turn; and a `budget`.

    Returns:
        The function's source, and the cost in USD: 0.0 for a cached answer, None for an unknown price.

    Raises:
        RequestError: the file or the function does not exist, or a value is not possible; nothing was spent.
        ModelError: no model could be reached, or none gave such a function when asked twice.
        SandboxError, IndexUnavailableError: the machine could not run the tests.
    """
    files = read_source_files([file_name])
    (file,) = files.files
    span = _find_function(file, func_name)
    require_text("the objective", objective, _OBJECTIVE_REMEDY)
    if tests is not None:
        check_user_tests(tests, sandbox)
    settings = read_ask_settings(config)
    question = f"# Objective\n{objective.strip()}\n\n# The function\n{span.name}\n\n# {file.label}\n{file.text}"
    task = _Improvement(
        reply_type=ImprovedFunctionReply,
        messages=task_messages(_FUNCTION_CONTRACT, question),
        files=files,
        apply=lambda reply: {file.label: _replaced(file, span, _function(reply))},
        tests=tests,
        sandbox=sandbox,
    )
    answer = await _improve(task, settings)
    return _function(answer.value), total_cost_usd(answer.calls)


def _find_function(file: SourceFile, name: Any) -> FunctionSpan:
    """The position of a function in a file. Raises RequestError, which lists the file's functions."""
    flaw = syntax_cause(file.text, str(file.path))
    if flaw is not None:
        raise RequestError(f"{flaw.message}\nmend the file's syntax first")
    spans = functions_of(file.text)
    if not isinstance(name, str) or name not in spans:
        names = ", ".join([*spans][:_MAX_LISTED_NAMES]) or "none at all"
        more = f" and {len(spans) - _MAX_LISTED_NAMES} more" if len(spans) > _MAX_LISTED_NAMES else ""
        raise RequestError(f"{file.path} has no function {name!r:.100}; it has {names}{more}")
    return spans[name]


def _function(reply: ImprovedFunctionReply) -> str:
    return textwrap.dedent(unfence(reply.code)).strip("\n") + "\n"


def _replaced(file: SourceFile, span: FunctionSpan, code: str) -> str:
    """The file with the new function. Raises ValueError where it has another name, or the result is no Python."""
    _require_syntax("code.py", code)
    own_name = span.name.rpartition(".")[2]
    if own_name not in functions_of(code):
        raise ValueError(f"code defines no function {own_name}: give the whole function under the same name")
    changed = replace_function(file.text, span, code)
    _require_syntax(file.label, changed)
    return changed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Improvement(Generic[ReplyT]):
    """A request for a change, the files that it is about, and the tests that it must pass.

    `apply` returns the new texts of the files that a reply changes, by their labels, or raises ValueError.
    """

    reply_type: type[ReplyT]
    messages: tuple[Message, ...]
    files: SourceSet
    apply: Callable[[ReplyT], Mapping[str, str]]
    tests: str | None = None
    sandbox: SandboxKind = "auto"


async def _improve(task: _Improvement[ReplyT], settings: AskSettings) -> ModelAnswer[ReplyT]:
    """A reply whose change passes all checks. If the tests fail, the model gets their output and is asked once more.

    Raises:
        ModelError: see its subclasses; InvalidReplyError where the tests fail with the second change too.
        SandboxError, IndexUnavailableError: the machine could not run the tests.
    """
    answer = await _ask(task, settings, task.messages)
    failure = await _failure(task, answer)
    if failure is None:
        return answer
    first = Message(role="assistant", content=answer.value.model_dump_json())
    complaint = Message(
        role="user", content=f"With this change the user's tests fail. Answer anew, in full.\n\n{failure}"
    )
    try:
        second = await _ask(task, settings, (*task.messages, first, complaint))
    except ModelError as error:
        error.calls = (*answer.calls, *error.calls)
        raise
    calls = (*answer.calls, *second.calls)
    failure = await _failure(task, second)
    if failure is not None:
        rejection = InvalidReplyError(f"the tests fail with the second change too; nothing was written:\n{failure}")
        rejection.calls = calls
        raise rejection
    return ModelAnswer(second.value, calls)


def _require_syntax(label: str, text: str) -> None:
    """Raise ValueError, with the line, for a Python file with a syntax error."""
    flaw = syntax_cause(text, label) if label.endswith(".py") else None
    if flaw is not None:
        raise ValueError(flaw.message)


async def _ask(task: _Improvement[ReplyT], settings: AskSettings, messages: tuple[Message, ...]) -> ModelAnswer[ReplyT]:
    return await ask_in_turn(task.reply_type, messages, settings=settings, purpose="improvement", check=task.apply)


async def _failure(task: _Improvement[ReplyT], answer: ModelAnswer[ReplyT]) -> str | None:
    """The failure of the tests with the answer's change, None where they pass or there are none."""
    changed = task.apply(answer.value)
    if task.tests is None or not changed:
        return None
    texts = {**task.files.texts, **changed}
    try:
        report = await in_daemon_thread(run_user_tests, task.files.root, texts, task.tests, task.sandbox)
    except PackageError as error:  # of an import in the change or in the tests
        return str(error)
    return None if report.passed else describe_failure(TestReport(suites=(report,)))
