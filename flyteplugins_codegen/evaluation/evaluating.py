"""`evaluate`: samples of solutions held against the tests of their problems, each in isolation, and counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Event

from flyteplugins_codegen.evaluation.evaluation import Evaluation
from flyteplugins_codegen.evaluation.judging.ways import Judge
from flyteplugins_codegen.evaluation.request import DEFAULT_LIMITS, Request, default_workers
from flyteplugins_codegen.evaluation.running import run
from flyteplugins_codegen.evaluation.values import Problem, Sample
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.syncing import BoundMethod, in_daemon_thread


async def _evaluate(  # noqa: PLR0913, PLR0917 - the signature that users are promised
    problems: Iterable[Problem],
    samples: Iterable[Sample],
    k: int | Sequence[int] = (1, 10, 100),
    workers: int | None = None,
    limits: Limits | None = None,
    judge: Judge = "auto",
    journal: str | Path | None = None,
    *,
    packages: Sequence[str] = (),
    sandbox: SandboxKind = "auto",
) -> Evaluation:
    """Judge every sample by its problem's tests, in a sandbox, and score them.

    Samples are drawn as they are needed, and equal ones are run once. `workers` run at a time, by default one for each
    processor. `limits` are of one sample (by default `request.DEFAULT_LIMITS`), by processor time with a ceiling on the
    clock; both are extended where the canonical solution takes long, or the machine is slow. `judge` is how: `values`
    compares plain data in another process, `suite` counts tests in the candidate's own, `auto` takes the first that the
    canonical solution passes in. `journal` names a file that keeps each verdict: run again with it, only what is
    missing runs. `packages` are installed for the samples beside what the tests import.

    A problem whose canonical solution fails its own tests is told before the run, and in `Evaluation.flaws`. A sample
    that the machine failed three times is reported as `infrastructure`, and not counted.

    Raises:
        RequestError: no problems or samples, an id that is not unique or not known, or a k, limits, workers or a judge
            that cannot be.
        SandboxUnavailableError: this machine offers no isolation.
        EnvironmentBuildError: the packages cannot be installed.
    """
    request = Request(
        problems=tuple(problems),
        k=(k,) if isinstance(k, int) else tuple(k),
        workers=default_workers() if workers is None else workers,
        limits=limits or DEFAULT_LIMITS,
        judge=judge,
        journal=Path(journal) if journal is not None else None,
        packages=tuple(packages),
        sandbox=sandbox,
    )
    stop = Event()
    try:
        return await in_daemon_thread(run, request, samples, stop)
    finally:
        stop.set()  # who is interrupted waits no longer, and nothing new begins


evaluate = BoundMethod(_evaluate)
"""`evaluate(...)` blocks, `await evaluate.aio(...)` does not."""
