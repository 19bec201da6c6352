"""The prompts: every message that is sent to a model for a job, and the descriptions of failures in them. Pure text.

Role and job come first and are the same in every call of a run, so that a provider can cache them; then the task; what
changes from call to call comes last. Recordings are matched by these texts, so changing one needs new recordings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.data import DataContext
from flyteplugins_codegen.models.job import Candidate, Example, Request, TypeName
from flyteplugins_codegen.models.reference import REFERENCE_FILE, OutputsDiffer
from flyteplugins_codegen.models.run import (
    SAMPLES_CASE,
    Attempt,
    Cause,
    ScriptRun,
    SuiteReport,
    TestOutcome,
    TestReport,
)
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
FAILURE_TOKENS: Final = 1_500
LEARNT_TOKENS: Final = 500
_CHARACTERS_A_TOKEN: Final = 4
FAILURE_CHARS: Final = FAILURE_TOKENS * _CHARACTERS_A_TOKEN
_STDERR_CHARS: Final = 800
_LINE_CHARS: Final = 160
_MOST_TRIED: Final = 4
_LAUNCHER: Final = "launcher: "  # the prefix of our launcher's lines on the script's stderr
_MARKS: Final = re.compile(r"\s+[~^]+$")
_OWN_FILE: Final = re.compile(r'[/"](?:test_)?solution\.py"')


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
    """Ask for the cause and the change; `failure` is from `describe_failure`, `tests` is the part of them to show.

    The reference is shown where it differs.
    """
    parts = [solution_contract(brief.request), REPAIR_CONTRACT, _file("solution.py", candidate.solution.code)]
    if candidate.tests:
        included = tests or candidate.tests
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
    """Ask for tests that fail for the mutants that survived; `lacking` says which outputs they must assert, if any."""
    parts = [STRONGER_CONTRACT, _file("solution.py", candidate.solution.code)]
    parts.append(_file("test_solution.py", candidate.tests or ""))
    listed = "\n".join(f"- {survivor}" for survivor in survivors)
    parts.append(f"# Wrong versions that pass\n{listed or 'none is listed'}")
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


def describe_failure(report: TestReport, smallest: Collection[str] = (), limit: int = FAILURE_CHARS) -> str:
    """Describe every cause once, the most authoritative first, in at most `limit` characters.

    Of a suite's failed tests, those named in `smallest`, or else the first, are described in full; the others by name.
    """
    parts = [_cause("The environment", report.build_cause)] if report.build_cause else []
    parts += [_run(run) for run in report.runs if run.cause]
    parts += [_suite(suite, smallest) for suite in report.suites if suite.cause]
    parts += [_difference(report.reference.difference)] if report.reference and report.reference.difference else []
    parts += [_cause("The data", report.drift_cause)] if report.drift_cause else []
    return _shortened("\n\n".join(parts), limit)


def describe_lineage(attempts: Sequence[Attempt], smallest: Collection[str] = (), look: str = "") -> str:
    """For a repair of the last attempt: its failure, where to look, and what earlier repairs tried without success.

    `look` is "" where the cause is not known.
    """
    hints = [f"## Where to look\n{look}"] if look else []
    tried = _tried(attempts)
    if tried:
        hints.append("\n".join(["## Tried before", *tried]))
    context = "\n\n".join(hints)
    failure = describe_failure(attempts[-1].report or TestReport(), smallest, FAILURE_CHARS - len(context))
    return "\n\n".join(filter(None, [failure, context]))


def describe_learnt(attempts: Sequence[Attempt]) -> str:
    """For a new solution: each failure once, then the repairs that were tried, the newest last."""
    lines = [f"- {attempt.cause.summary}" for attempt in attempts if attempt.cause]
    repairs = (attempt for attempt in attempts if attempt.action == "repair" and not attempt.unusable)
    lines += [f"- Tried in vain: {_line(attempt.reason)}" for attempt in repairs]
    return _shortened("\n".join(dict.fromkeys(lines)), LEARNT_TOKENS * _CHARACTERS_A_TOKEN)


def _tried(attempts: Sequence[Attempt]) -> list[str]:
    """A line for each of the latest repairs before the last attempt."""
    repairs = [attempt for attempt in attempts if attempt.action == "repair"]
    return [f"- {_repair_outcome(attempt)}" for attempt in repairs[-_MOST_TRIED:]]


def _repair_outcome(repair: Attempt) -> str:
    if repair.unusable:
        return f"Nothing was changed: {_line(repair.unusable)}"
    failure = _line(repair.cause.summary) if repair.cause else "nothing that ran"
    return f"The {repair.blame or 'solution'} was changed: {_line(repair.reason)} It then failed with {failure}"


def _line(text: str) -> str:
    return text.strip().partition("\n")[0][:_LINE_CHARS]


def _cause(where: str, cause: Cause) -> str:
    subject = f" ({cause.subject})" if cause.subject else ""
    return f"## {where}: {cause.kind.replace('_', ' ')}{subject}\n{_own_frames(cause.message.strip())}"


def _run(run: ScriptRun) -> str:
    samples = f"The script on the samples{run.arguments_text}"
    where = samples if run.case == SAMPLES_CASE else f"The script on the user's {run.case}"
    text = _cause(where, run.cause) if run.cause else where
    if run.cause and run.cause.kind in {"missing_output", "invalid_output"}:
        stderr = _without_cause(run.stderr.strip(), run.cause)
        text += f"\nIts stderr: {_shortened(stderr, _STDERR_CHARS)}" if stderr else ""
    return text + _variables(run.variables)


def _without_cause(stderr: str, cause: Cause) -> str:
    """The script's stderr without the launcher's lines that the cause repeats."""
    known = {f"{_LAUNCHER}{line}" for line in cause.message.splitlines()}
    return "\n".join(line for line in stderr.splitlines() if line not in known).strip()


def _suite(suite: SuiteReport, smallest: Collection[str]) -> str:
    author = "The user's tests" if suite.origin == "user" else "The generated tests"
    failed = [test for test in suite.tests if test.outcome in {"failed", "error"}]
    if suite.cause and (not failed or suite.cause.kind != "test_failed"):
        # A time-out, a crash or tampering says more than the tests that had failed until then.
        return _cause(author, suite.cause)
    in_full = [test for test in failed if test.name in smallest] or failed[:1]
    parts = [f"## {author}: {len(failed)} of {len(suite.expected)} failed", *map(_test, in_full)]
    others = [test.name for test in failed if test not in in_full]
    if others:
        parts.append("Also failed: " + ", ".join(others))
    passed = [test.name for test in suite.tests if test.outcome == "passed"]
    if passed:
        parts.append("Passed: " + ", ".join(passed))
    return "\n".join(parts)


def _difference(found: OutputsDiffer) -> str:
    """Both answers, on the fewest rows that show the difference."""
    lines = [f"## reference.py has other outputs on {found.case}"]
    if found.rows:
        lines.append(f"On these {found.row_count} rows of {found.sample}:\n{found.rows.rstrip()}")
    if found.arguments:
        lines.append(f"with {found.arguments}")
    place = f"{found.output_name}, {found.where}" if found.where else found.output_name
    lines.append(f"{place}: solution.py {found.solution_answer}; reference.py {found.reference_answer}")
    return "\n".join(lines)


def _test(test: TestOutcome) -> str:
    lines = test.traceback.strip().splitlines()
    own = [line for line in lines if line.startswith("solution.py:")] or lines
    return "\n".join([f"{test.name}: {test.message.strip()}", *own]) + _variables(test.variables)


def _variables(values: str) -> str:
    return f"\nVariables {values}" if values else ""


def _own_frames(text: str) -> str:
    """A traceback without the frames of libraries and without position markers, which differ between Pythons."""
    kept, is_own, is_frame = [], True, False
    for line in text.splitlines():
        if line.startswith('  File "'):
            is_own, is_frame = bool(_OWN_FILE.search(line)), True
        elif not line.startswith(" "):
            is_own, is_frame = True, False
        if is_own and not (is_frame and _MARKS.match(line)):
            kept.append(line)
    return "\n".join(kept)


def _shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
