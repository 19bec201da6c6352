"""Empty pods in a row, in which jobs are counted: a task of flytekit's own defaults that returns its input."""

from __future__ import annotations

from flytekit import task, workflow


@task
def empty(number: int) -> int:
    """Return the input."""
    return number


@workflow
def in_a_row(number: int = 0) -> int:
    """Five empty pods, one after the other."""
    for _ in range(5):
        number = empty(number=number)
    return number
