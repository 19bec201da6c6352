"""Stage of several candidates at once: each built and run as it would be alone, equal ones once for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.stages.build import build_environment
from flyteplugins_codegen.stages.lineage import pending_attempts
from flyteplugins_codegen.stages.sandboxes import Sandboxes
from flyteplugins_codegen.stages.test import run_tests

_WORKERS = 2


def judge_side_by_side(run: Run, samples: Mapping[str, Path], sandboxes: Sandboxes) -> Run:
    """Build and run every candidate that is not judged yet, two at a time, on these benches.

    Raises as `build_environment` and `run_tests`, once all others have ended: what they found is kept.
    """
    with ThreadPoolExecutor(_WORKERS) as pool:
        judged = [pool.submit(copy_context().run, _judge, alone, samples, sandboxes) for alone in distinct_pending(run)]
    return with_judged(run, [each.result() for each in judged])


def _judge(run: Run, samples: Mapping[str, Path], sandboxes: Sandboxes) -> Run:
    return run_tests(build_environment(run), samples, sandboxes)


def distinct_pending(run: Run) -> tuple[Run, ...]:
    """A run for each candidate that is not judged yet, equal ones once: small, with that candidate alone."""
    first = {_identity(attempt): attempt for attempt in reversed(pending_attempts(run))}
    kept = sorted(first.values(), key=lambda attempt: attempt.number)
    return tuple(run.model_copy(update={"attempts": (attempt,), "calls": ()}) for attempt in kept)


def with_judged(run: Run, judged: Sequence[Run]) -> Run:
    """The run with what became of its candidates, judged each alone; equal ones share it."""
    outcomes = {_identity(alone.attempts[0]): _outcome(alone.attempts[0]) for alone in judged}
    attempts = [
        each.model_copy(update=outcomes.get(_identity(each), {})) if each.report is None else each
        for each in run.attempts
    ]
    return run.model_copy(update={"attempts": tuple(attempts)})


def _outcome(attempt: Attempt) -> dict[str, object]:
    return {name: getattr(attempt, name) for name in ("environment", "report", "cause", "strength")}


def _identity(attempt: Attempt) -> tuple[object, ...]:
    """What a verdict is about: the script, what it asks to be installed, and the tests."""
    solution = attempt.candidate.solution
    return solution.code, frozenset(solution.packages), frozenset(solution.system_packages), attempt.candidate.tests
