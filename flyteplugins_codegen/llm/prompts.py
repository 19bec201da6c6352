"""What a model is told. Pure text.

Role and job come first, the same in every call of a run, so that a provider can keep what it made of them; then what is
asked for; what changes from call to call comes last.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.candidate import Candidate
from flyteplugins_codegen.models.conversation import Message
from flyteplugins_codegen.models.interface import TypeName
from flyteplugins_codegen.models.profile import DataContext
from flyteplugins_codegen.models.request import Example, Request

ROLE = "You are a careful Python engineer. Reply with one JSON object of the given schema and nothing else."

SOLUTION_CONTRACT = """\
Write solution.py, one script for Python 3.10 or later:
- It is run as `python solution.py --NAME VALUE ...`, one option for each input. A file or directory input is a path; \
the file's name has no extension. A bool is `true` or `false`.
- It writes each output to /var/outputs/NAME: str, int, float as plain text (str up to 1,024 bytes), bool as \
true/false, datetime as RFC 3339 with a zone (2024-01-31T00:00:00Z), timedelta in seconds with an s (5400s), file as \
the file itself, directory as a folder of plain files.
- It has `main(argv: list[str] | None = None) -> None`, called under `if __name__ == "__main__":`, and module-level \
functions that take their data as arguments.
- No network; only /tmp and /var/outputs can be written. Bad data raises an error that names it.
- `packages`: PyPI distributions beyond the standard library, as few as the job needs; `system_packages`: Debian \
packages, rarely any."""

TESTS_CONTRACT = """\
Write test_solution.py, pytest tests for a script solution.py that another engineer writes from this same description. \
You have not seen it: test what the description promises, not how it is done.
- `from solution import main`, then `main(["--NAME", str(value), ...])` with every input; it writes each output to \
/var/outputs/NAME as text (bool as true/false) or as a file. /var/outputs is emptied before every test.
- Make small inputs under tmp_path in the format of the sample, with results worked out by hand. Three to six short \
tests: the ordinary case, the edges that the description speaks of. Compare floats with pytest.approx.
- No network, no sleeping, no test of messages or of what is not specified."""

REPAIR_CONTRACT = """\
The candidate below failed. Find the cause first, then mend it with the smallest change.
- `error_type`: logic (solution.py is wrong), environment (something must be installed: name it in `packages` or \
`system_packages`), or test_error (a generated test contradicts the description).
- `edits`: search/replace pairs for solution.py, or for test_solution.py when error_type is test_error. `search` is \
copied exactly and occurs once. Instead of edits, `code` or `test_code` may hold the whole file when it is short.
- The user's examples and tests are right by definition."""

STRONGER_CONTRACT = """\
The tests below pass, but they also pass for each of the wrong versions of solution.py that are listed: the changed \
line makes no difference to any of them. Write further tests, in a module of its own, that fail for as many of these \
as can be told apart by what the description promises. Work every expected value out from the description by hand; \
do not copy it from the code, which may be wrong. Where a change makes no difference that the description speaks of, \
leave it. Do not repeat the tests that are there."""

FRESH_CONTRACT = """\
Write the script anew, from the description, by an approach of your own that meets none of these failures."""


CONSTRAINTS_CONTRACT = """\
Each constraint below is a sentence about tables. Say which conditions on the cells of a column it states, so that \
they can be checked row by row before a program runs:
- Only what the sentence says: an open end of a range stays null, nothing is rounded, no list is completed.
- No rule for what is conditional, about several rows at once, about a program or its output's order, or unclear. \
A sentence may have several rules, or none.
- Nulls satisfy every condition but not_null."""


def _types(title: str, declared: dict[str, TypeName]) -> list[str]:
    if not declared:
        return []
    return [f"{title}: " + ", ".join(f"{name} ({kind})" for name, kind in declared.items())]


def _examples(examples: Iterable[Example]) -> list[str]:
    lines = [json.dumps(example.model_dump(mode="json"), ensure_ascii=False) for example in examples]
    return ["Examples that must hold:", *lines] if lines else []


class Brief(Value):
    """What every author of one job is told. `installed` are distributions that a solution may import as it is."""

    request: Request
    context: DataContext = DataContext()
    role: str | None = None
    installed: tuple[str, ...] = ()


def describe_job(brief: Brief) -> str:
    """The job as every author sees it: the same text, so that it is cached once."""
    request = brief.request
    parts = [f"# Job\n{request.prompt.strip()}"]
    parts += _types("Inputs", dict(request.inputs))
    parts += _types("Outputs", dict(request.outputs))
    if brief.installed:
        parts.append("Installed already: " + ", ".join(brief.installed))
    if request.schema_text:
        parts.append(f"# Schema\n{request.schema_text.strip()}")
    if request.constraints:
        parts.append("Constraints:\n" + "\n".join(f"- {constraint}" for constraint in request.constraints))
    parts += _examples(request.examples)
    if request.tests:
        parts.append(f"# The user's tests\n```python\n{request.tests.strip()}\n```")
    if brief.context.text:
        parts.append(f"# Data\n{brief.context.text.strip()}")
    return "\n".join(parts)


def solution_messages(brief: Brief) -> tuple[Message, ...]:
    """Ask for the plan, the script and its packages in one reply."""
    return _messages(brief, SOLUTION_CONTRACT)


def suite_messages(brief: Brief) -> tuple[Message, ...]:
    """Ask for tests from the request and the data, not from the code."""
    return _messages(brief, TESTS_CONTRACT)


def constraints_messages(
    constraints: Sequence[str], tables: Mapping[str, Mapping[str, str]], role: str | None
) -> tuple[Message, ...]:
    """Ask for the rules in sentences; `tables` are columns and their types by table."""
    listed = [f"{number}. {constraint}" for number, constraint in enumerate(constraints, 1)]
    described = [f"{table}: {json.dumps(columns, ensure_ascii=False)}" for table, columns in tables.items()]
    text = "\n".join(["# Constraints", *listed, "# Tables: columns and types", *described])
    return (
        Message(role="system", content=f"{(role or ROLE).strip()}\n\n{CONSTRAINTS_CONTRACT}"),
        Message(role="user", content=text),
    )


def repair_messages(brief: Brief, candidate: Candidate, failure: str, tests: str | None = None) -> tuple[Message, ...]:
    """Ask for the cause and the change; `failure` comes from `describe_failure`, `tests` is the part that is shown."""
    parts = [SOLUTION_CONTRACT, REPAIR_CONTRACT, _file("solution.py", candidate.solution.code)]
    if candidate.tests:
        shown = tests or candidate.tests
        is_whole = shown == candidate.tests
        parts.append(_file("test_solution.py" if is_whole else "test_solution.py, without other tests", shown))
    if candidate.solution.packages:
        parts.append("Installed: " + ", ".join(candidate.solution.packages))
    parts.append(f"# What failed\n{failure}")
    return _messages(brief, *parts)


def stronger_messages(brief: Brief, candidate: Candidate, survivors: Sequence[str]) -> tuple[Message, ...]:
    """Ask for tests that tell the solution from the mutants that survived."""
    parts = [TESTS_CONTRACT, _file("solution.py", candidate.solution.code)]
    parts.append(_file("test_solution.py", candidate.tests or ""))
    listed = "\n".join(f"- {survivor}" for survivor in survivors)
    parts.append(f"# Wrong versions that pass\n{listed}\n\n{STRONGER_CONTRACT}")
    return _messages(brief, *parts)


def fresh_messages(brief: Brief, learnt: str, number: int) -> tuple[Message, ...]:
    """Ask for a solution anew; `learnt` comes from `describe_learnt`, `number` tells drafts apart."""
    system, job = solution_messages(brief)
    text = (
        f"{job.content}\n\n# Learnt from solutions that failed\n{learnt}\n\n{FRESH_CONTRACT} This is attempt {number}."
    )
    return system, job.model_copy(update={"content": text})


def _messages(brief: Brief, *parts: str) -> tuple[Message, ...]:
    job = describe_job(brief)
    first, *others = parts
    asked = "\n\n".join([job, f"# What is asked for\n{first}", *others])
    return (
        Message(role="system", content=(brief.role or ROLE).strip()),
        Message(role="user", content=asked, shared_chars=len(job)),
    )


def _file(name: str, text: str) -> str:
    return f"# {name}\n```python\n{text.strip()}\n```"
