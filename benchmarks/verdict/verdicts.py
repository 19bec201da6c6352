"""What the product says of a solution of the corpus under a suite, with a model that answers from the corpus."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from model_server import ModelServer, Scripted

from benchmarks.verdict.corpus import Job, Suite, SuiteKind, Variant
from flyteplugins_codegen.models.reference import ReferenceReport
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.stages.candidates.confidence import confidence_in, features_of
from flyteplugins_codegen.stages.candidates.explain import final_attempt
from flyteplugins_codegen.stages.drive import drive
from flyteplugins_codegen.stages.prepare import JobArguments, prepare_job
from flyteplugins_codegen.sync import run_blocking

ReferenceKind = Literal["right", "wrong", "same mistake", "none"]
TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One solution under one suite. `reference` says which second computation comes with the suite."""

    job: Job
    solution: Variant
    suite: Suite
    reference: ReferenceKind = "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a trial.

    `is_accepted` is success; `strength` the share of mutants killed, None where nothing was measured; `flaw` why the
    suite proves nothing; `features` what confidence is made of, {} for a candidate that failed; `comparison` what the
    reference showed; `reason` how the run ended.
    """

    job: str
    solution: str
    kind: str
    suite: str
    suite_kind: SuiteKind
    reference: ReferenceKind
    is_accepted: bool
    confidence: float | None
    features: dict[str, float]
    strength: float | None
    mutants: int
    flaw: str
    comparison: str
    reason: str
    calls: int
    wall_s: float

    @property
    def is_right(self) -> bool:
        """Whether the solution is."""
        return self.kind == "right"


def judge(trial: Trial) -> Verdict:
    """Take a trial through a run that ends with its first verdict: nothing is repaired and no test is added."""
    began = time.perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="codegen-verdict-") as folder,
        ModelServer(_script(trial), repeat_last=True) as server,
    ):
        settings = Settings(
            model="openai/corpus",
            api_base=server.url,
            cache="disable",
            max_iterations=1,
            timeout_s=TIMEOUT_S,
            **_reference_settings(trial),
        )
        run, is_accepted, reason, calls = _generate(trial.job, settings, Path(folder))
    attempt = final_attempt(run)
    assert attempt is not None, reason
    strength = attempt.strength
    return Verdict(
        job=trial.job.name,
        solution=trial.solution.name,
        kind=trial.solution.kind,
        suite=trial.suite.name,
        suite_kind=trial.suite.kind,
        reference=trial.reference,
        is_accepted=is_accepted,
        confidence=confidence_in(run, attempt),
        features=features_of(run, attempt, attempt.report)._asdict()
        if attempt.report and attempt.report.passed
        else {},
        strength=strength.share if strength else None,
        mutants=strength.total if strength else 0,
        flaw=getattr(strength, "reason", ""),
        comparison=_comparison(attempt.report.reference if attempt.report else None),
        reason=reason,
        calls=calls,
        wall_s=time.perf_counter() - began,
    )


def _generate(job: Job, settings: Settings, folder: Path) -> tuple[Run, bool, str, int]:
    inputs = {name: (type(value), value) for name, value in job.scalars.items()}
    samples = job.write_samples(folder)
    prepared = prepare_job(JobArguments(prompt=job.prompt, samples=samples, inputs=inputs, outputs=dict(job.outputs)))
    driven = run_blocking(drive(Run(settings=settings, request=prepared.request), prepared.samples))
    return driven.run, driven.finish.success, driven.finish.reason, len(driven.calls)


def _comparison(report: ReferenceReport | None) -> str:
    if report is None:
        return ""
    if report.dropped:
        return f"dropped: {report.dropped}"
    if report.difference is not None:
        return f"differs {report.difference.summary}"
    unsettled = "; ".join(each.summary for each in report.unsettled)
    return f"agrees on {', '.join(report.agreed)}" + (f"; unsettled {unsettled}" if unsettled else "")


def _script(trial: Trial) -> dict[str, list[Scripted]]:
    packages = list(trial.job.packages)
    solution = {"description": "d", "approach": "a", "code": trial.solution.code, "packages": packages}
    tests: dict[str, Any] = {"test_code": trial.suite.code, "reference": _reference_code(trial)}
    return {"SolutionReply": [solution], "TestsReply": [tests]}


def _reference_code(trial: Trial) -> str | None:
    match trial.reference:
        case "right":
            return trial.job.reference
        case "wrong":
            return trial.job.wrong_reference
        case "same mistake":
            return trial.solution.code
        case "none":
            return None


def _reference_settings(trial: Trial) -> dict[str, Any]:
    return {"reference": False} if trial.reference == "none" and "reference" in Settings.model_fields else {}
