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
from benchmarks.verdict.fit import cross_validated, fit, judged, weight_of_checks
from benchmarks.verdict.tables import render, render_confidence
from benchmarks.verdict.trials import all_trials, is_pair
from benchmarks.verdict.truth import Truth, check_job
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
    parser.add_argument("--fit", action="store_true", help="print the weights of confidence that fit the last run")
    arguments = parser.parse_args(words)
    if arguments.again:
        print(_render(read_verdicts()))
        return 0
    jobs = read_jobs(frozenset(arguments.only))
    problems = [problem for job in jobs for problem in truth_of(job).problems]
    if problems or arguments.truth:
        print("\n".join(problems) or _counts(jobs))
        return int(bool(problems))
    if arguments.fit:
        print(_render_fit(read_verdicts(), [truth_of(job) for job in jobs]))
        return 0
    verdicts = _judge_all(all_trials(jobs), arguments.processes)
    VERDICTS.write_text(json.dumps([asdict(verdict) for verdict in verdicts], indent=1), encoding="utf-8")
    print(f"{_counts(jobs)}\n\n{_render(verdicts)}")
    return 0


def _render(verdicts: Sequence[Verdict]) -> str:
    pairs = [verdict for verdict in verdicts if is_pair(verdict)]
    plain = [verdict for verdict in pairs if verdict.reference == "right"]
    validated = cross_validated(pairs)
    return "\n\n".join(
        [
            render(verdicts),
            render_confidence("Confidence beside a right reference", plain),
            render_confidence("Confidence", pairs),
            render_confidence("Confidence by weights that are fitted to the other jobs", validated),
        ]
    )


def _render_fit(verdicts: Sequence[Verdict], truths: Sequence[Truth]) -> str:
    known = judged(filter(is_pair, verdicts))
    model = fit(known)
    chances = [share for truth in truths for share in truth.right_by_chance.values()]
    weights = {**model.weights, "checks": weight_of_checks(chances)}
    lines = [f"{name}={weight:.2f}," for name, weight in weights.items()]
    right = sum(verdict.is_right for verdict in known)
    told = f"BIAS = {model.bias:.2f}; {right} of {len(known)} pairs that passed are right."
    return "\n".join([*lines, told])


def read_verdicts() -> list[Verdict]:
    """Those of the last run."""
    return [Verdict(**fields) for fields in json.loads(VERDICTS.read_text(encoding="utf-8"))]


def truth_of(job: Job) -> Truth:
    """The truth of a job, kept as long as neither the job nor its checks change."""
    parts = sorted([*job.folder.glob("*.*"), *CHECKS])
    digest = sha256(b"\0".join(part.read_bytes() for part in parts)).hexdigest()
    kept = CACHE / "truth" / f"{job.name}-{digest[:16]}.json"
    if kept.exists():
        return Truth(**json.loads(kept.read_text(encoding="utf-8")))
    truth = check_job(job)
    if not truth.problems:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(asdict(truth)), encoding="utf-8")
    return truth


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
