"""`improve_function`: one function of a file, written anew for an objective."""

from __future__ import annotations

import os
import textwrap
from typing import Any, Final

from pydantic import Field

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.llm.prices import total_cost_usd
from flyteplugins_codegen.llm.replies import Reply
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.python_errors import syntax_cause
from flyteplugins_codegen.source.blocks import unfence
from flyteplugins_codegen.source.functions import FunctionSpan, functions_of, replace_function
from flyteplugins_codegen.syncing import BoundMethod
from flyteplugins_codegen.toolkit.asking import read_terms
from flyteplugins_codegen.toolkit.given_tests import check_given_tests
from flyteplugins_codegen.toolkit.improving import TEXT_REMEDY, Task, improve, require_syntax
from flyteplugins_codegen.toolkit.prompting import task_messages
from flyteplugins_codegen.toolkit.source_files import SourceFile, read_source_files
from flyteplugins_codegen.toolkit.texts import require_text

_CONTRACT: Final = """\
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
        messages=task_messages(_CONTRACT, question),
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
