"""Runs in this project's environment: `evaluate`, fully isolated, timed; canonical solutions are judged within it.

A journal may be named; what problems of evalplus's form expect is computed before, as it is once.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace

from flyteplugins_codegen import evaluate, load_problems, load_samples
from flyteplugins_codegen.evaluation.run import DEFAULT_LIMITS

QUICK = replace(DEFAULT_LIMITS, cpu_s=2.0, wall_s=8.0)


def main(problems: str, samples: str, journal: str = "") -> None:
    """Evaluate, and print what passed in the order of the samples."""
    chosen = load_problems(problems)
    given = load_samples(samples, chosen)
    started = time.perf_counter()
    found = evaluate(chosen, given, (1,), limits=QUICK if "forged" in samples else None, journal=journal or None)
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "passed": [sample.passed for sample in found.samples]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
