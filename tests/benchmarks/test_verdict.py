"""The corpus of verdicts: it is large enough, its checks find what is wrong with it, and its tables count right."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from typing import Any

import pytest

from benchmarks.verdict import corpus
from benchmarks.verdict.corpus import read_jobs
from benchmarks.verdict.fit import fit, judged
from benchmarks.verdict.tables import area_under_roc, confidence_bins
from benchmarks.verdict.trials import all_trials
from benchmarks.verdict.truth import check_job
from benchmarks.verdict.verdicts import Verdict

GENERATED = "account_balance"  # its sample is made by seeded code, so nothing is installed


def verdict(*, is_right: bool, confidence: float | None, **features: float) -> Verdict:
    fields: dict[str, Any] = dict.fromkeys(Verdict.__dataclass_fields__, "")
    fields |= {"kind": "right" if is_right else "sort", "confidence": confidence, "features": features}
    return Verdict(**fields)


def test_there_are_as_many_jobs_suites_and_solutions_as_the_bars_ask_for():
    jobs = read_jobs()
    assert len(jobs) >= 25
    suites = Counter(suite.kind for job in jobs for suite in job.suites)
    assert suites["good"] >= 30
    assert suites["thin"] + suites["vacuous"] >= 60
    pairs = {(trial.job.name, trial.solution.name): trial.solution.is_right for trial in all_trials(jobs)}
    assert len(pairs) >= 300
    assert sum(pairs.values()) >= 75
    assert len({variant.kind for job in jobs for variant in job.wrong}) >= 10


def test_a_job_is_as_it_says():
    (job,) = read_jobs(frozenset([GENERATED]))
    truth = check_job(job)
    assert truth.problems == []
    assert set(truth.right_by_chance) == {variant.name for variant in job.wrong}
    assert max(truth.right_by_chance.values()) <= 1


def test_a_wrong_solution_that_is_right_and_a_suite_that_fails_are_found(tmp_path, monkeypatch):
    folder = tmp_path / GENERATED
    shutil.copytree(corpus.JOBS / GENERATED, folder)
    edits = [{"kind": "sort", "search": "import argparse\n", "replace": "import argparse\n\n"}]
    (folder / "wrong.json").write_text(json.dumps(edits))
    suite = folder / "suite_thin_1.py"
    for other in [*folder.glob("suite_*.py"), *folder.glob("solution_*.py")]:
        if other != suite:
            other.unlink()
    suite.write_text(suite.read_text().replace("25.00", "26.00"))
    monkeypatch.setattr(corpus, "JOBS", tmp_path)
    (job,) = read_jobs()
    problems = check_job(job).problems
    assert any("wrong_1 gives what the solution gives" in problem for problem in problems)
    assert any("suite_thin_1 with solution fails" in problem for problem in problems)


def test_the_area_under_the_roc_is_the_chance_that_a_right_one_is_above_a_wrong_one():
    assert area_under_roc([0.9, 0.8], [0.1]) == 1
    assert area_under_roc([0.5], [0.5]) == 0.5
    assert area_under_roc([0.2, 0.8], [0.5, 0.1]) == pytest.approx(0.75)


def test_bins_count_pairs_without_a_confidence_as_0():
    bins = confidence_bins([verdict(is_right=True, confidence=0.99), verdict(is_right=False, confidence=None)])
    assert [each.pairs for each in bins] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert (bins[0].right, bins[9].right) == (0, 1)


def test_weights_have_the_signs_that_are_given_and_follow_the_pairs():
    zero = {"agreed": 0.0, "unsettled": 0.0, "strength": 0.0}
    pairs = [verdict(is_right=True, confidence=0.5, **{**zero, "agreed": 1.0})] * 30
    pairs += [verdict(is_right=False, confidence=0.5, **{**zero, "strength": 1.0})] * 30
    model = fit(judged(pairs))
    assert model.weights["strength"] == 0
    assert model.probability({**zero, "agreed": 1.0}) > 0.8
    assert model.probability(zero) < 0.2
