"""Where an agent stands between two of its turns."""

from __future__ import annotations

from pydantic import Field

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.candidate import Candidate
from flyteplugins_codegen.models.conversation import Message, ToolResult

SOLUTION_FILE = "solution.py"
TESTS_FILE = "test_solution.py"


class AgentSession(Value):
    """The conversation as it goes on, the files, and what they need installed: values, nothing on any disk.

    `pending` are the results of the turn that submitted a candidate; that of `submit` is empty until it is judged.
    `tested` is the last candidate of which the agent saw everything pass. `silent_turns` in a row called no tool.
    `has_declined`: its last reply was a refusal, after which nothing is asked any more.
    """

    messages: tuple[Message, ...] = ()
    pending: tuple[ToolResult, ...] = ()
    files: dict[str, str] = Field(default_factory=dict)
    packages: tuple[str, ...] = ()
    tested: Candidate | None = None
    turns: int = 0
    silent_turns: int = 0
    has_declined: bool = False
