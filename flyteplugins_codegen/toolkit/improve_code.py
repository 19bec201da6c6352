"""`improve_code`: changes of files for an objective, shown as a diff, or made."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import Field

from flyteplugins_codegen.llm.prices import total_cost_usd
from flyteplugins_codegen.llm.replies import Edit, Reply
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.source.diffs import unified_diff
from flyteplugins_codegen.source.edits import apply_edits
from flyteplugins_codegen.syncing import BoundMethod
from flyteplugins_codegen.toolkit.asking import read_terms
from flyteplugins_codegen.toolkit.given_tests import check_given_tests
from flyteplugins_codegen.toolkit.improving import TEXT_REMEDY, Task, improve, require_syntax
from flyteplugins_codegen.toolkit.prompting import task_messages
from flyteplugins_codegen.toolkit.source_files import SourceSet, read_source_files, replace_files
from flyteplugins_codegen.toolkit.texts import require_text

_CONTRACT: Final = """\
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
        messages=task_messages(_CONTRACT, _question(given, objective)),
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
