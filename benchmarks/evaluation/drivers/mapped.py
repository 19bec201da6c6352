"""Runs in our own environment: candidates through the map task of `evaluate`, locally, and through `Sandbox.map`.

The map task reads the files of its part, judges the canonical solutions where it does not know them, keeps a journal
and writes its results; `Sandbox.map` takes jobs that are ready, one candidate each. Prints the seconds of both.
"""

from __future__ import annotations

import json
import sys
import time

from flyteplugins_codegen.evaluation.judges import values_job
from flyteplugins_codegen.evaluation.problems.load import load_problems
from flyteplugins_codegen.evaluation.run import DEFAULT_LIMITS
from flyteplugins_codegen.evaluation.samples import load_samples, program_of
from flyteplugins_codegen.evaluation.trials import CandidateProgram
from flyteplugins_codegen.flyte.evaluation import judge_parts, split_evaluation
from flyteplugins_codegen.judging.values.run import run_many
from flyteplugins_codegen.models.run import ValuesReport
from flyteplugins_codegen.sandbox import open_sandbox

WORKERS = 2


def main(problems: str, samples: str) -> None:
    """Judge the samples in both ways."""
    print(json.dumps({"mapped_s": _mapped_s(problems, samples), "sandbox_s": _sandbox_s(problems, samples)}))


def _mapped_s(problems: str, samples: str) -> float:
    split = split_evaluation(
        problems=problems,
        samples=samples,
        k=[1],
        judge="values",
        packages=[],
        sandbox="auto",
        cpu_s=None,
        memory_mib=None,
        shards=WORKERS,
    )
    started = time.perf_counter()
    judge_parts(
        parts=split.parts,
        samples=split.files,
        problems=split.problems,
        settings=split.settings,
        concurrency=0,
        min_success_ratio=1.0,
    )
    return time.perf_counter() - started


def _sandbox_s(problems: str, samples: str) -> float:
    chosen = load_problems(problems)
    by_id = {problem.task_id: problem for problem in chosen}
    candidates = (
        CandidateProgram(
            key=b"",
            problem=by_id[sample.task_id],
            program=program_of(by_id[sample.task_id], sample),
            judged_by="values",
            limits=DEFAULT_LIMITS,
        )
        for sample in load_samples(samples, chosen)
    )
    jobs = [values_job(candidate) for candidate in candidates]
    with open_sandbox() as sandbox:
        started = time.perf_counter()
        reports = run_many(sandbox, jobs, workers=WORKERS)
        seconds = time.perf_counter() - started
    assert all(isinstance(report, ValuesReport) and report.passed for report in reports)
    return seconds


if __name__ == "__main__":
    main(*sys.argv[1:])
