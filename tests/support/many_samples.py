"""`python -m many_samples COUNT`: evaluates so many long samples, drawn one by one, and prints the most MiB it held."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator

from forged_values import CHECK, RIGHT

from flyteplugins_codegen.evaluation.run import evaluate
from flyteplugins_codegen.evaluation.values import CheckTests, Problem, Sample

PROBLEM = Problem(task_id="p", entry_point="f", tests=CheckTests(CHECK))
FILLING = "#" * 200_000


def samples(count: int) -> Iterator[Sample]:
    for number in range(count):
        yield Sample(task_id="p", solution=f"{RIGHT}{FILLING} {number}\n")


if __name__ == "__main__":
    found = evaluate([PROBLEM], samples(int(sys.argv[1])), (1,))
    assert found.counts["passed"] == int(sys.argv[1])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)  # noqa: T201 - what it is run for
