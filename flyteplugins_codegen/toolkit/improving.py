"""A change of files that a model proposes, tried on them: it applies, is Python where they are, passes the tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from flyteplugins_codegen.errors import InvalidReplyError, ModelError, PackageError
from flyteplugins_codegen.llm.ask import Answer
from flyteplugins_codegen.llm.failures import describe_failure
from flyteplugins_codegen.llm.replies import Reply
from flyteplugins_codegen.models.conversation import Message, ModelCall
from flyteplugins_codegen.models.report import TestReport
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.python_errors import syntax_cause
from flyteplugins_codegen.syncing import in_daemon_thread
from flyteplugins_codegen.toolkit.asking import Terms, ask_in_turn
from flyteplugins_codegen.toolkit.given_tests import run_given_tests
from flyteplugins_codegen.toolkit.source_files import SourceSet

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


async def improve(task: Task[ReplyT], terms: Terms) -> Answer[ReplyT]:
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
    told = Message(role="user", content=f"With this change the user's tests fail. Answer anew, in full.\n\n{failure}")
    try:
        second = await _ask(task, terms, (*task.messages, said, told))
    except ModelError as error:
        error.calls = (*answer.calls, *error.calls)
        raise
    calls = (*answer.calls, *second.calls)
    failure = await _failure(task, second)
    if failure is not None:
        raise _rejected(failure, calls)
    return Answer(second.value, calls)


def require_syntax(label: str, text: str) -> None:
    """Raise ValueError, with the line, for a Python file that is no Python."""
    flaw = syntax_cause(text, label) if label.endswith(".py") else None
    if flaw is not None:
        raise ValueError(flaw.message)


async def _ask(task: Task[ReplyT], terms: Terms, messages: tuple[Message, ...]) -> Answer[ReplyT]:
    return await ask_in_turn(task.reply_type, messages, terms=terms, purpose="improvement", check=task.apply)


async def _failure(task: Task[ReplyT], answer: Answer[ReplyT]) -> str | None:
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
