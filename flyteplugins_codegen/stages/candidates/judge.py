"""Several candidates built and judged at the same time, equal ones only once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.stages.build import build_environment
from flyteplugins_codegen.stages.lineage import pending_attempts
from flyteplugins_codegen.stages.sandboxes import WORKERS, RunSandboxes
from flyteplugins_codegen.stages.test import run_tests


def judge_side_by_side(run: Run, samples: Mapping[str, Path], sandboxes: RunSandboxes) -> Run:
    """Build and run all pending candidates, two at a time.

    Raises as `build_environment` and `run_tests`, after all others have ended: their reports are cached.
    """
    with ThreadPoolExecutor(WORKERS) as pool:
        judged = [pool.submit(copy_context().run, _judge, alone, samples, sandboxes) for alone in distinct_pending(run)]
    return with_judged(run, [future.result() for future in judged])


def _judge(run: Run, samples: Mapping[str, Path], sandboxes: RunSandboxes) -> Run:
    return run_tests(build_environment(run), samples, sandboxes)


def distinct_pending(run: Run) -> tuple[Run, ...]:
    """A run for each distinct pending candidate, with that candidate as its only attempt and without calls."""
    first = {_identity(attempt): attempt for attempt in reversed(pending_attempts(run))}
    kept = sorted(first.values(), key=lambda attempt: attempt.number)
    return tuple(run.model_copy(update={"attempts": (attempt,), "calls": ()}) for attempt in kept)


def with_judged(run: Run, judged: Sequence[Run]) -> Run:
    """The run with the reports of candidates that were judged alone; equal candidates share a report."""
    outcomes = {_identity(alone.attempts[0]): _outcome(alone.attempts[0]) for alone in judged}
    attempts = [
        attempt.model_copy(update=outcomes.get(_identity(attempt), {})) if attempt.report is None else attempt
        for attempt in run.attempts
    ]
    return run.model_copy(update={"attempts": tuple(attempts)})


def _outcome(attempt: Attempt) -> dict[str, object]:
    return {name: getattr(attempt, name) for name in ("environment", "report", "cause", "strength")}


def _identity(attempt: Attempt) -> tuple[object, ...]:
    """What a verdict depends on: the script, its packages, the tests and the reference."""
    candidate = attempt.candidate
    solution = candidate.solution
    packages = frozenset(solution.packages), frozenset(solution.system_packages)
    return solution.code, *packages, candidate.tests, candidate.reference
