"""What an agent is told: the job as every author hears it, then the rules of working by tools."""

from __future__ import annotations

from flyteplugins_codegen.llm.prompts import SOLUTION_CONTRACT, Brief, describe_job
from flyteplugins_codegen.models.conversation import Message

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


def agent_messages(brief: Brief, *, writes_tests: bool) -> tuple[Message, ...]:
    """The beginning of an agent's conversation: stable, so that a provider can cache it."""
    contract = AGENT_CONTRACT if writes_tests else NO_TESTS_CONTRACT
    system = f"{(brief.role or AGENT_ROLE).strip()}\n\n{SOLUTION_CONTRACT}\n\n{contract}"
    return (Message(role="system", content=system), Message(role="user", content=describe_job(brief)))
