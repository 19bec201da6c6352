"""Verdicts held against the truth of a corpus of jobs; `make eval-verdict`.

Prints how well strength tells good suites from weak ones, which verdicts are wrong, and whether confidence is
calibrated. It takes Linux, bubblewrap and the package index; the first run installs the data sets.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

from benchmarks.verdict.corpus import Job, read_jobs
from benchmarks.verdict.datasets import CACHE
from benchmarks.verdict.tables import render
from benchmarks.verdict.trials import all_trials
from benchmarks.verdict.truth import check_job
from benchmarks.verdict.verdicts import Trial, Verdict, judge

CHECKS = tuple(Path(__file__).with_name(name) for name in ("corpus.py", "truth.py", "truth_driver.py"))
VERDICTS = CACHE / "verdicts.json"


def main(words: Sequence[str] | None = None) -> int:
    """Check the corpus, judge and print; 1 where the corpus is not as it says."""
    parser = argparse.ArgumentParser(prog="eval-verdict", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=(), help="names of jobs")
    parser.add_argument("--truth", action="store_true", help="check the corpus alone")
    parser.add_argument("--processes", type=int, default=2, help="runs at a time")
    parser.add_argument("--again", action="store_true", help=f"print the tables of the last run, from {VERDICTS}")
    arguments = parser.parse_args(words)
    if arguments.again:
        print(render(read_verdicts()))
        return 0
    jobs = read_jobs(frozenset(arguments.only))
    problems = [problem for job in jobs for problem in _check_once(job)]
    if problems or arguments.truth:
        print("\n".join(problems) or _counts(jobs))
        return int(bool(problems))
    verdicts = _judge_all(all_trials(jobs), arguments.processes)
    VERDICTS.write_text(json.dumps([asdict(verdict) for verdict in verdicts], indent=1), encoding="utf-8")
    print(f"{_counts(jobs)}\n\n{render(verdicts)}")
    return 0


def read_verdicts() -> list[Verdict]:
    """Those of the last run."""
    return [Verdict(**fields) for fields in json.loads(VERDICTS.read_text(encoding="utf-8"))]


def _check_once(job: Job) -> list[str]:
    """What is wrong with the job, as long as nothing has changed since it was found to be right."""
    parts = sorted([*job.folder.glob("*.*"), *CHECKS])
    digest = sha256(b"\0".join(part.read_bytes() for part in parts)).hexdigest()
    seal = CACHE / "checked" / f"{job.name}-{digest[:16]}"
    if seal.exists():
        return []
    problems = check_job(job)
    if not problems:
        seal.parent.mkdir(parents=True, exist_ok=True)
        seal.touch()
    return problems


def _judge_all(trials: Sequence[Trial], processes: int) -> list[Verdict]:
    verdicts = []
    with ProcessPoolExecutor(processes) as pool:
        for trial, verdict in zip(trials, pool.map(judge, trials), strict=True):
            told = "accepted" if verdict.is_accepted else "refused"
            print(f"{trial.job.name} {trial.solution.name} {trial.suite.name}: {told}", file=sys.stderr, flush=True)
            verdicts.append(verdict)
    return verdicts


def _counts(jobs: Sequence[Job]) -> str:
    right, wrong = sum(len(job.solutions) for job in jobs), sum(len(job.wrong) for job in jobs)
    suites = [suite.kind for job in jobs for suite in job.suites]
    told = ", ".join(f"{suites.count(kind)} {kind}" for kind in dict.fromkeys(suites))
    return f"{len(jobs)} jobs as they say: {right} right and {wrong} wrong solutions; suites: {told}."


if __name__ == "__main__":
    sys.exit(main())
