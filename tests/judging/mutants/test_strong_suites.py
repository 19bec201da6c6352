"""Mutants tell suites that pin what a script computes from suites that only look whether its outputs are there."""

from __future__ import annotations

import pytest
from strong_suites import JOBS

from flyteplugins_codegen.judging.mutants.run import MutationJob, run_mutants
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.packages.install import install
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.source.mutants import make_mutants

GATE = Settings(model="openai/any").min_test_strength
STANDARD_LIBRARY_JOBS = [job for job in JOBS if "pandas" not in job.code]


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox(environment=install(resolve(RUNNER_REQUIREMENTS))) as opened:
        yield opened


def share_killed(sandbox, code, suite):
    mutants = [mutant.code for mutant in make_mutants(code, [suite])]
    fates = run_mutants(sandbox, MutationJob(solution=code, suites=[suite], mutants=mutants, wall_s=60))
    assert fates is not None
    assert len(fates) == len(mutants) > 8
    return sum(fate in {"killed", "timed_out"} for fate in fates.values()) / len(fates)


@pytest.mark.parametrize("job", STANDARD_LIBRARY_JOBS, ids=lambda job: job.name)
def test_a_strong_suite_is_far_above_the_gate_and_a_thin_one_below(sandbox, job):
    assert share_killed(sandbox, job.code, job.strong) >= 0.85
    assert share_killed(sandbox, job.code, job.thin) < GATE
