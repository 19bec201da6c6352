"""An evaluation to be killed: `python -m evaluated_samples JOURNAL` judges the samples below, and keeps verdicts."""

from __future__ import annotations

import sys
from pathlib import Path

from forged_values import CHECK, RIGHT, WRONG

from flyteplugins_codegen.evaluation.evaluation import Evaluation
from flyteplugins_codegen.evaluation.run import evaluate
from flyteplugins_codegen.evaluation.values import CheckTests, Problem, Sample

COUNT = 96  # six sandboxes' worth
PROBLEM = Problem(task_id="HumanEval/0", entry_point="f", tests=CheckTests(CHECK))
# Some of them take a while, so that there is a time to be killed at.
PROGRAMS = [
    f"import time\ntime.sleep({0.02 * (number % 3)})\n{WRONG if number % 4 else RIGHT}# {number}\n"
    for number in range(COUNT)
]
SAMPLES = [Sample(task_id=PROBLEM.task_id, solution=program) for program in PROGRAMS]


def evaluated(journal: Path | None) -> Evaluation:
    """What becomes of them."""
    return evaluate([PROBLEM], SAMPLES, (1, 10), journal=journal)


if __name__ == "__main__":
    evaluated(Path(sys.argv[1]))
