"""One seeded bug after another, taken through the loop as a first draft that was wrong."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.repair.tasks import TASKS, Bug, Task
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution
from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.stages.drive import drive
from flyteplugins_codegen.stages.prepare import JobArguments, prepare_job
from flyteplugins_codegen.sync import run_blocking

RECORDING = Path(__file__).with_name("competent.replay.jsonl")
TIMEOUT_S = 6.0
_FOUND_BEFORE = {"missing package": "imports"}  # read from the code before it runs, so that nothing fails


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What became of one bug. `found_as` is the kind of cause that it failed with, "" where it was not found."""

    task: str
    kind: str
    found_as: str
    is_repaired: bool
    calls: int
    input_tokens: int
    error: str


def seeded_bugs(only: frozenset[str] = frozenset()) -> Iterator[tuple[Task, Bug]]:
    """Every bug of every task, or of the tasks that are named."""
    return ((task, bug) for task in TASKS if not only or task.name in only for bug in task.bugs)


def repair_bug(task: Task, bug: Bug, **settings: Any) -> Repaired:
    """Take the wrong solution through the loop. Raises ModelError where a recording holds no reply."""
    # Tests are not measured against mutants here: what is asked for is repairs.
    agent = Settings(timeout_s=TIMEOUT_S, min_test_strength=0.0, cache="disable", **settings)
    solution = CodeSolution(code=task.solution.replace(bug.right, bug.wrong))
    candidate = Candidate(plan=CodePlan(description="d", approach="a"), solution=solution, tests=task.suite)
    seeded = Attempt(number=1, action="first_draft", reason="a seeded bug", candidate=candidate)
    with tempfile.TemporaryDirectory(prefix="codegen-repair-") as folder:
        sample = Path(folder) / "data.csv"
        sample.write_bytes(task.sample)
        job = prepare_job(JobArguments(prompt=task.prompt, samples={"data": sample}, outputs=task.outputs))
        driven = run_blocking(drive(Run(settings=agent, request=job.request, attempts=(seeded,)), job.samples))
    cause = driven.run.attempts[0].cause
    return Repaired(
        task=task.name,
        kind=bug.kind,
        found_as=cause.kind if cause else _FOUND_BEFORE.get(bug.kind, ""),
        is_repaired=driven.finish.success,
        calls=len(driven.calls),
        input_tokens=sum(call.usage.input_tokens for call in driven.calls),
        error="" if driven.finish.success else driven.finish.reason,
    )


def replies_to(task: Task, bug: Bug) -> list[dict[str, Any]]:
    """What a competent model answers: the guess that does not help, where there is one, and the way back."""
    if not bug.cause:
        return []
    pieces = [bug.wrong, *([bug.first] if bug.first else []), bug.right]
    codes = [task.solution.replace(bug.right, piece) for piece in pieces]
    return [_reply(bug, before, after) for before, after in pairwise(codes)]


def _reply(bug: Bug, before: str, after: str) -> dict[str, Any]:
    search, replace = _edit(before.splitlines(), after.splitlines())
    return {
        "cause": bug.cause,
        "error_type": "logic",
        "edits": [{"search": search, "replace": replace}],
        "code": None,
        "test_code": None,
        "packages": [],
        "system_packages": [],
    }


def _edit(before: list[str], after: list[str]) -> tuple[str, str]:
    """The lines that differ, whole, as a model copies them."""
    first = next(index for index, (old, new) in enumerate(zip(before, after, strict=False)) if old != new)
    last = next(index for index, (old, new) in enumerate(zip(before[::-1], after[::-1], strict=False)) if old != new)
    return "\n".join(before[first : len(before) - last]), "\n".join(after[first : len(after) - last])
