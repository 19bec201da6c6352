r"""Judge samples of code by the tests of their problems, with `pyflyte run`.

    pyflyte run workflows/evaluate.py evaluate --problems humaneval --samples samples.jsonl --k '[1, 10]'
    pyflyte run workflows/evaluate.py generate_and_evaluate --problems humaneval --model openai/NAME --n 10 \
        --k '[1, 10]' --max_cost_usd 5

`--help` after either name explains every option.
"""

from __future__ import annotations

import os

from flyteplugins_codegen.flyte.evaluation import evaluate, gather_evaluation, judge_part, judge_parts, split_evaluation
from flyteplugins_codegen.flyte.sampling import (
    generate_and_evaluate,
    join_samples,
    plan_sampling,
    sample_chunk,
    sample_chunks,
)
from flyteplugins_codegen.telemetry import install_progress

__all__ = [
    "evaluate",
    "gather_evaluation",
    "generate_and_evaluate",
    "join_samples",
    "judge_part",
    "judge_parts",
    "plan_sampling",
    "sample_chunk",
    "sample_chunks",
    "split_evaluation",
]

# Only for local runs: pods log plain lines.
if "FLYTE_INTERNAL_EXECUTION_ID" not in os.environ:
    install_progress()
