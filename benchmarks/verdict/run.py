"""Verdicts held against the truth of a corpus of jobs; `make eval-verdict`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.verdict.corpus import read_jobs
from benchmarks.verdict.truth import check_job


def main(words: Sequence[str] | None = None) -> int:
    """Check the corpus; 0 when it is as it says."""
    parser = argparse.ArgumentParser(prog="eval-verdict", description=__doc__)
    parser.add_argument("--only", nargs="*", default=(), help="names of jobs")
    parser.add_argument("--truth", action="store_true", help="check the corpus alone")
    arguments = parser.parse_args(words)
    problems = [problem for job in read_jobs(frozenset(arguments.only)) for problem in check_job(job)]
    print("\n".join(problems) or "The corpus is as it says.")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
