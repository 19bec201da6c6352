"""What a model proposed: a plan, a solution, tests."""

from __future__ import annotations

from flyteplugins_codegen.models.base import Value


class CodePlan(Value):
    """What a solution does and how."""

    description: str
    approach: str


class CodeSolution(Value):
    """A script and what it needs installed. `packages` are distributions, `system_packages` Debian packages."""

    language: str = "python"
    code: str = ""
    packages: tuple[str, ...] = ()
    system_packages: tuple[str, ...] = ()


class Candidate(Value):
    """One solution with the tests that a model wrote for the job."""

    plan: CodePlan
    solution: CodeSolution
    tests: str | None = None
