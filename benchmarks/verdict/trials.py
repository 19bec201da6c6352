"""Which solution of the corpus is judged under which suite, and beside which second computation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from benchmarks.verdict.corpus import Job, Suite, SuiteKind, Variant, read_jobs
from benchmarks.verdict.verdicts import ReferenceKind, Trial, Verdict

MOST_WRONG = 12
_ROTATION: tuple[SuiteKind, ...] = ("thin", "good", "thin")


def all_trials(jobs: Sequence[Job]) -> tuple[Trial, ...]:
    """Every trial of these jobs."""
    return tuple(trial for job in jobs for trial in (*suite_trials(job), *solution_trials(job), *doubtful_trials(job)))


def suite_trials(job: Job) -> Iterator[Trial]:
    """The first right solution under every suite: how strong the suites are."""
    for suite in job.suites:
        yield Trial(job=job, solution=job.solutions[0], suite=suite)


def solution_trials(job: Job) -> Iterator[Trial]:
    """The other right solutions and a dozen wrong ones, each under one suite: two thirds of them under thin ones."""
    for number, variant in enumerate((*job.solutions[1:], *_chosen(job.wrong))):
        yield Trial(job=job, solution=variant, suite=_rotated(job, number))


def is_pair(verdict: Verdict) -> bool:
    """Whether a verdict counts as that of a pair of job and solution.

    Of the trials that measure suites one a job does, under the suite that its turn is: else right solutions alone would
    stand under vacuous suites.
    """
    if verdict.solution != "solution" or verdict.reference != "right":
        return True
    jobs = [job.name for job in read_jobs()]
    return verdict.suite == f"suite_{_ROTATION[jobs.index(verdict.job) % len(_ROTATION)]}_1"


def doubtful_trials(job: Job) -> Iterator[Trial]:
    """Solutions without a second computation, with a wrong one, and with one that has the same mistake.

    As many of them are right as of the other pairs, so that a missing reference says nothing by itself.
    """
    rights, wrongs = job.solutions, job.wrong
    shift = sum(map(ord, job.name))  # another kind of mistake in each job
    references: list[tuple[ReferenceKind, int]] = [("none", 4), ("same mistake", 1)]
    for kind, count in references:
        for number in range(count):
            variant = wrongs[(shift + 3 * number) % len(wrongs)]
            yield Trial(job=job, solution=variant, suite=_rotated(job, shift + number), reference=kind)
    yield Trial(job=job, solution=rights[shift % len(rights)], suite=_rotated(job, shift), reference="none")
    if job.wrong_reference is not None:
        yield Trial(job=job, solution=rights[0], suite=_rotated(job, shift), reference="wrong")


def _chosen(wrong: Sequence[Variant]) -> list[Variant]:
    """Up to `MOST_WRONG`, of each kind about as many."""
    ranks: Counter[str] = Counter()
    ranked = []
    for variant in wrong:
        ranked.append((ranks[variant.kind], variant))
        ranks[variant.kind] += 1
    return [variant for _, variant in sorted(ranked, key=lambda pair: pair[0])][:MOST_WRONG]


def _rotated(job: Job, number: int) -> Suite:
    kind = _ROTATION[number % len(_ROTATION)]
    suites = [suite for suite in job.suites if suite.kind == kind]
    return suites[number // len(_ROTATION) % len(suites)]
