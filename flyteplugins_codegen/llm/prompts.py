"""The prompts: every message that is sent to a model for a job. Pure text; failures are described in `failures`.

Role and job come first and are the same in every call of a run, so that a provider can cache them; then the task; what
changes from call to call comes last.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.data import DataContext
from flyteplugins_codegen.models.job import Candidate, Example, Request, TypeName
from flyteplugins_codegen.models.reference import REFERENCE_FILE
from flyteplugins_codegen.models.spending import Message

ROLE = "You are a careful Python engineer. Reply with one JSON object of the given schema and nothing else."

_SOLUTION_CONTRACT = """\
Write solution.py, one script for Python 3.10 or later:
- It is run as `python solution.py --NAME VALUE ...`, one option for each input.{inputs}
- It writes each output to /var/outputs/NAME{outputs}.
- It has `main(argv: list[str] | None = None) -> None`, called under `if __name__ == "__main__":`, and module-level \
functions that take their data as arguments.
- No network; only /tmp and /var/outputs can be written. Bad data raises an error that names it.
- `packages`: PyPI distributions beyond the standard library, as few as the job needs; `system_packages`: Debian \
packages, rarely any."""

_INPUT_RULES: Final[Mapping[TypeName, str]] = {
    "file": " A file is a path; its name has no extension.",
    "directory": " A directory is a path.",
    "bool": " A bool is `true` or `false`.",
}
_OUTPUT_RULES: Final[Mapping[TypeName, str]] = {
    "str": "str as plain text of up to 1,024 bytes",
    "int": "int as plain text",
    "float": "float as plain text",
    "bool": "bool as true/false",
    "datetime": "datetime as RFC 3339 with a zone (2024-01-31T00:00:00Z)",
    "timedelta": "timedelta in seconds with an s (5400s)",
    "file": "file as the file itself",
    "directory": "directory as a folder of plain files",
}

ASSUMPTIONS_CONTRACT = """\
- `assumptions`: what the script does where the description leaves results open (ties, nulls, rounding, time zones)."""

ARGUMENTS_CONTRACT = """\
- `arguments`: values for {names} that suit the data; the script will be run on the samples with them."""

_TESTS_RULES = """\
- `from solution import main`, then `main(["--NAME", str(value), ...])` with every input; it writes each output to \
/var/outputs/NAME as text (bool as true/false) or as a file. /var/outputs is emptied before every test.
- Make small inputs under tmp_path in the format of the sample. Compare floats with pytest.approx.
- No network, no sleeping, no test of messages or of what is not specified."""

REFERENCE_CONTRACT = """\
Also write `reference`: reference.py, a second script with the same command line and outputs, which computes them from \
the description alone; it is compared with solution.py on the samples and on files like them. The plainest code that \
follows the description word for word, standard library where that reads the format; no speed, no messages. null where \
the description leaves more than one right answer: chance, trained models, free wording, pictures."""

REFERENCE_REPAIR_CONTRACT = """\
reference.py computes the same outputs, by another engineer who saw the description alone; one of the two is wrong. \
Decide by the words of the description which of them, and change that one only: error_type logic for solution.py; \
reference_error for reference.py, with `edits` of it or the whole in `reference`."""

THIRD_CONTRACT = """\
Two engineers who wrote this script differ in their results. Write one of your own from the description alone, and \
weigh what it says of limits, ties and missing values. This is attempt {number}."""

TESTS_CONTRACT = f"""\
Write test_solution.py, pytest tests for a script solution.py that another engineer writes from this same description. \
You have not seen it: test what the description promises, not how it is done.
- First `cases`, three to six, in a few words each: the ordinary case and the edges that the description speaks of, \
with results worked out by hand. Then a short test for each.
{_TESTS_RULES}"""

REPAIR_CONTRACT = """\
The candidate below failed. Find the cause first, then mend it with the smallest change.
- `error_type`: logic (solution.py is wrong), environment (something must be installed: name it in `packages` or \
`system_packages`), or test_error (a generated test contradicts the description).
- `edits`: search/replace pairs for solution.py, or for test_solution.py when error_type is test_error. `search` is \
copied exactly and occurs once. Instead of edits, `code` or `test_code` may hold the whole file when it is short.
- The user's examples and tests are right by definition."""

STRONGER_CONTRACT = f"""\
Write further pytest tests for the script solution.py below. The tests that are there pass for it, but they also pass \
for each of the wrong versions that are listed at the end.
- Fail for as many of these as can be told apart by what the description promises. Where a change makes no difference \
that the description speaks of, leave it.
- Work every expected value out from the description by hand; do not copy it from the code, which may be wrong.
- `test_code` is a module of its own; do not repeat the tests that are there.
{_TESTS_RULES}"""

REDRAFT_CONTRACT = """\
Write the script anew, from the description, by an approach of your own that meets none of these failures."""


CONSTRAINTS_CONTRACT = """\
Each constraint below is a sentence about tables. Say which conditions on the cells of a column it states, so that \
they can be checked row by row before a program runs:
- Only what the sentence says: an open end of a range stays null, nothing is rounded, no list is completed.
- No rule for what is conditional, about several rows at once, about a program or its output's order, or unclear. \
A sentence may have several rules, or none.
- Nulls satisfy every condition but not_null."""

AGENT_ROLE = "You are a careful Python engineer, working by tools."

AGENT_CONTRACT = """\
Then write test_solution.py, pytest tests of what the description promises: `from solution import main`, then \
`main(["--NAME", str(value), ...])` with every input; each output is in /var/outputs/NAME, which is emptied before \
every test. Small inputs under tmp_path with results worked out by hand; every test asserts something.

Work by the tools alone: they are all that you have, there is no shell and no network. Files are kept by plain names; \
solution.py cannot import the others. Run what you wrote, mend what fails by its cause, and call `submit` as soon as \
everything passes. The user's examples and tests are right by definition. Several calls in one reply are carried out \
in order."""

NO_TESTS_CONTRACT = """\
No tests are asked for. Work by the tools alone: they are all that you have, there is no shell and no network. Files \
are kept by plain names; solution.py cannot import the others. Run what you wrote, mend what fails by its cause, and \
call `submit` as soon as everything passes. The user's examples and tests are right by definition."""

_FILES: Final = ("file", "directory")


def _types(title: str, declared: dict[str, TypeName]) -> list[str]:
    if not declared:
        return []
    return [f"{title}: " + ", ".join(f"{name} ({kind})" for name, kind in declared.items())]


def _examples(examples: Iterable[Example]) -> list[str]:
    lines = [json.dumps(example.model_dump(mode="json"), ensure_ascii=False) for example in examples]
    return ["Examples that must hold:", *lines] if lines else []


class JobBrief(Value):
    """What every prompt of one job starts from. `installed` are distributions that a solution may import already."""

    request: Request
    context: DataContext = DataContext()
    role: str | None = None
    installed: tuple[str, ...] = ()


def describe_job(brief: JobBrief) -> str:
    """The description of the job: the same text in every prompt, so that a provider caches it once."""
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


def solution_messages(brief: JobBrief) -> tuple[Message, ...]:
    """Ask for the plan, the script and its packages in one reply, and for values of inputs that have none."""
    request, unknown = brief.request, open_inputs(brief.request)
    contracts = [solution_contract(request), ASSUMPTIONS_CONTRACT]
    contracts += [ARGUMENTS_CONTRACT.format(names=", ".join(unknown))] if unknown else []
    return _messages(brief, "\n".join(contracts))


def open_inputs(request: Request) -> tuple[str, ...]:
    """The inputs of simple types that have neither a sample nor a value of the user."""
    known = {*(sample.name for sample in request.samples), *request.values}
    return tuple(name for name, kind in request.inputs.items() if kind not in _FILES and name not in known)


def solution_contract(request: Request) -> str:
    """The rules for a script, with those about the types of its inputs and outputs."""
    inputs = [rule for kind, rule in _INPUT_RULES.items() if kind in request.inputs.values()]
    outputs = [rule for kind, rule in _OUTPUT_RULES.items() if kind in request.outputs.values()]
    return _SOLUTION_CONTRACT.format(inputs="".join(inputs), outputs=f": {', '.join(outputs)}" if outputs else "")


def suite_messages(brief: JobBrief, *, with_reference: bool = False) -> tuple[Message, ...]:
    """Ask for tests from the request and the data, not from the code; in the same reply for a reference."""
    return _messages(brief, f"{TESTS_CONTRACT}\n{REFERENCE_CONTRACT}" if with_reference else TESTS_CONTRACT)


def constraints_messages(
    constraints: Sequence[str], tables: Mapping[str, Mapping[str, str]], role: str | None
) -> tuple[Message, ...]:
    """Ask for the rules that the sentences state; `tables` maps each table to its columns and their types."""
    listed = [f"{number}. {constraint}" for number, constraint in enumerate(constraints, 1)]
    described = [f"{table}: {json.dumps(columns, ensure_ascii=False)}" for table, columns in tables.items()]
    text = "\n".join(["# Constraints", *listed, "# Tables: columns and types", *described])
    return (
        Message(role="system", content=f"{(role or ROLE).strip()}\n\n{CONSTRAINTS_CONTRACT}"),
        Message(role="user", content=text),
    )


def repair_messages(
    brief: JobBrief, candidate: Candidate, failure: str, tests: str | None = None, *, shows_reference: bool = False
) -> tuple[Message, ...]:
    """Ask for the cause and the change; `failure` is from `describe_lineage`, `tests` the part of them to show.

    By default all are shown, and none if it is "". The reference is shown where it differs.
    """
    parts = [solution_contract(brief.request), REPAIR_CONTRACT, _file("solution.py", candidate.solution.code)]
    included = candidate.tests if tests is None else tests
    if included:
        is_whole = included == candidate.tests
        parts.append(_file("test_solution.py" if is_whole else "test_solution.py, without other tests", included))
    if candidate.reference and shows_reference:
        parts += [_file(REFERENCE_FILE, candidate.reference), REFERENCE_REPAIR_CONTRACT]
    if candidate.solution.packages:
        parts.append("Installed: " + ", ".join(candidate.solution.packages))
    parts.append(f"# What failed\n{failure}")
    return _messages(brief, *parts)


def stronger_messages(
    brief: JobBrief, candidate: Candidate, survivors: Sequence[str], lacking: str = ""
) -> tuple[Message, ...]:
    """Ask for tests that fail for the mutants that survived, each described with its diff.

    `lacking` says which outputs the tests must assert, if any.
    """
    parts = [STRONGER_CONTRACT, _file("solution.py", candidate.solution.code)]
    parts.append(_file("test_solution.py", candidate.tests or ""))
    parts.append("\n".join(["# Wrong versions that pass", *(survivors or ["none is listed"])]))
    if lacking:
        parts.append(f"Above all: {lacking}. Assert values of every output, worked out by hand.")
    return _messages(brief, *parts)


def third_messages(brief: JobBrief, number: int) -> tuple[Message, ...]:
    """Ask for an independent solution that decides between two; `number` makes its prompt another one."""
    system, job = solution_messages(brief)
    text = f"{job.content}\n\n{THIRD_CONTRACT.format(number=number)}"
    return system, job.model_copy(update={"content": text})


def redraft_messages(brief: JobBrief, learnt: str, number: int) -> tuple[Message, ...]:
    """Ask for a new solution; `learnt` is from `describe_learnt`, `number` makes the prompts of drafts differ."""
    system, job = solution_messages(brief)
    task = f"{REDRAFT_CONTRACT} This is attempt {number}."
    text = f"{job.content}\n\n# Learnt from solutions that failed\n{learnt}\n\n{task}"
    return system, job.model_copy(update={"content": text})


def _messages(brief: JobBrief, *parts: str) -> tuple[Message, ...]:
    job = describe_job(brief)
    first, *others = parts
    text = "\n\n".join([job, f"# What is asked for\n{first}", *others])
    return (
        Message(role="system", content=(brief.role or ROLE).strip()),
        Message(role="user", content=text, shared_chars=len(job)),
    )


def _file(name: str, text: str) -> str:
    return f"# {name}\n```python\n{text.strip()}\n```"


def agent_messages(brief: JobBrief, *, writes_tests: bool) -> tuple[Message, ...]:
    """The beginning of an agent's conversation: the same in every turn, so that a provider can cache it."""
    contract = AGENT_CONTRACT if writes_tests else NO_TESTS_CONTRACT
    role = (brief.role or AGENT_ROLE).strip()
    system = f"{role}\n\n{solution_contract(brief.request)}\n\n{contract}"
    return (Message(role="system", content=system), Message(role="user", content=describe_job(brief)))
