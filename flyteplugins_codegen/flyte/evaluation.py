"""An evaluation as a Flyte workflow: a map task judges the samples in parts, then their results are gathered.

Flyte caches a part by the content of its samples and problems, its settings and the code that judges. In local
execution the parts run one after another, each with all processors, and write a journal to our own cache: an evaluation
that was killed continues with the missing samples.
"""

from __future__ import annotations

import functools
import math
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import flytekit
from flytekit import Deck, dynamic, map_task, task, workflow
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile
from pydantic import Field

from flyteplugins_codegen.errors import SettingsError
from flyteplugins_codegen.evaluation.evaluation import Evaluation, read_evaluation
from flyteplugins_codegen.evaluation.judges import Judge
from flyteplugins_codegen.evaluation.problems.load import load_problems, problem_file
from flyteplugins_codegen.evaluation.report import render_summary
from flyteplugins_codegen.evaluation.run import DEFAULT_LIMITS
from flyteplugins_codegen.evaluation.run import evaluate as judge_samples
from flyteplugins_codegen.evaluation.samples import Samples, load_samples
from flyteplugins_codegen.evaluation.scores import check_k
from flyteplugins_codegen.evaluation.sharding import Part, deal, gather, write_parts
from flyteplugins_codegen.flyte.cli import launchable
from flyteplugins_codegen.flyte.launch import checked_before_launch
from flyteplugins_codegen.flyte.pods import PLANNING_POD, SANDBOX_POD
from flyteplugins_codegen.flyte.preflight import check_before_judging, check_reaches_beyond_pod
from flyteplugins_codegen.flyte.state import JUDGING_CODE, Salt, cached_by_code, local_salt
from flyteplugins_codegen.flyte.tasks import upload
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.solution.flytekit import checked, logger, readable_errors, runs_locally
from flyteplugins_codegen.stages.preflight import check_together
from flyteplugins_codegen.store import cache_dir, digest

_SAMPLES_PER_SHARD = 2_000
_MAX_SHARDS = 64
# With a ratio below 1, map_task returns None for a node that failed. With fewer than a million nodes these two demand
# all of them, and one; flytekit takes 0 for "not given".
_ALL, _ONE = 1 - 1e-6, 1e-6

# --- values between the tasks ---


class JudgeSettings(Value):
    """How samples are judged. `problems` is the digest of their file; `cpu_s`, `memory_mib` are for one sample."""

    problems: str
    judge: Judge = "auto"
    packages: tuple[str, ...] = ()
    sandbox: SandboxKind = "auto"
    cpu_s: float | None = None
    memory_mib: int | None = None
    salt: Salt = Salt()

    def limits(self) -> Limits:
        """The sandbox's limits for one sample."""
        limits = {"cpu_s": self.cpu_s, "memory_mib": self.memory_mib}
        changed: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
        return replace(DEFAULT_LIMITS, **changed)


class JudgedPart(Value):
    """The results of a part, one line per sample, and its doubtful problems with the reasons."""

    results: FlyteFile
    flaws: dict[str, str] = Field(default_factory=dict)


class Split(NamedTuple):
    """An evaluation split into parts, and the files that they need."""

    parts: list[Part]
    files: list[FlyteFile]
    problems: FlyteFile
    settings: JudgeSettings


class Evaluated(NamedTuple):
    """The scores by k, and the folder with results.jsonl, results.parquet and report.html."""

    pass_at_k: dict[str, float]
    folder: FlyteDirectory


# --- results ---


def check_ratio(min_success_ratio: float) -> None:
    """Raise SettingsError unless this is a share."""
    if not 0 <= min_success_ratio <= 1:
        raise SettingsError(f"min_success_ratio={min_success_ratio:g}: it is a share of the shards, from 0 to 1")


def write_folder(evaluation: Evaluation, samples: Samples, before: Evaluation | None, save_to: str) -> Path:
    """Write results.jsonl, results.parquet and report.html, and return their folder.

    The folder is `save_to`, else one in our cache that is named by its content; in a pod, one in the task's working
    directory. Raises OSError.
    """
    if not runs_locally():
        folder = Path(flytekit.current_context().working_directory) / "evaluation"
    elif save_to:
        folder = Path(save_to).absolute()
    else:
        folder = cache_dir() / "evaluations" / digest([asdict(sample) for sample in evaluation.samples])[:12]
    evaluation.to_json_lines(folder / "results.jsonl")
    evaluation.to_parquet(folder / "results.parquet")
    evaluation.report(folder / "report.html", samples=samples, before=before, title=samples.path.name)
    return folder


def log_scores(evaluation: Evaluation, folder: Path) -> None:
    """Log the scores, the counts of outcomes, and where the folder is."""
    for k, value in evaluation.pass_at_k.items():
        if math.isnan(value):
            logger.info("pass@%d: a problem has fewer than %d counted samples", k, k)
        else:
            logger.info("pass@%d = %.3f (95 %% interval %.3f to %.3f)", k, value, *evaluation.intervals[k])
    logger.info("%s", ", ".join(f"{count} {outcome}" for outcome, count in evaluation.counts.items() if count))
    logger.info("evaluation folder: %s", folder)


def problem_path(problems: str) -> Path:
    """The file of a benchmark by its name, of the user's own by its path or address."""
    return local_path(FlyteFile(problems)) if "://" in problems else problem_file(problems)


def local_path(file: FlyteFile) -> Path:
    """The file's path on this machine, downloaded where needed."""
    return Path(os.fspath(file)).absolute()


# --- tasks and workflow ---


@task(**SANDBOX_POD)
@readable_errors
def split_evaluation(  # noqa: PLR0913 - a command line is flat
    *,
    problems: str,
    samples: FlyteFile,
    k: list[int],
    judge: Judge,
    packages: list[str],
    sandbox: SandboxKind,
    cpu_s: float | None,
    memory_mib: int | None,
    shards: int,
    save_to: str,
) -> Split:
    """Check all problems and samples, and what judging needs, and split them. Raises before anything is judged."""
    check_k(k)
    check_before_judging(sandbox, packages, save_to=save_to)
    path = problem_path(problems)
    loaded = load_samples(local_path(samples), load_problems(path, sandbox=sandbox))
    dealt = deal(loaded, shards or _default_shards(len(loaded)))
    written = write_parts(loaded, dealt, cache_dir() / "shards")
    settings = checked(
        JudgeSettings,
        problems=digest(path.read_bytes()),
        judge=judge,
        packages=packages,
        sandbox=sandbox,
        cpu_s=cpu_s,
        memory_mib=memory_mib,
    )
    settings = settings.model_copy(update={"salt": local_salt(settings, [part for part, _ in written])})
    parts = [part for part, _ in written]
    return Split(parts, [FlyteFile(str(file)) for _, file in written], FlyteFile(str(path)), settings)


@task(
    cache=cached_by_code("evaluation", *JUDGING_CODE, ignored=("samples", "problems")),
    **SANDBOX_POD,
)
@readable_errors
def judge_part(part: Part, samples: FlyteFile, problems: FlyteFile, settings: JudgeSettings) -> JudgedPart:
    """Judge the samples of one part."""
    chosen = load_problems(local_path(problems), only=part.task_ids, sandbox=settings.sandbox)
    key = digest(part, settings)
    judged = judge_samples(
        chosen,
        load_samples(local_path(samples), chosen),
        (1,),
        limits=settings.limits(),
        judge=settings.judge,
        journal=cache_dir() / "journals" / f"{key}.jsonl",
        packages=settings.packages,
        sandbox=settings.sandbox,
    )
    results = judged.to_json_lines(cache_dir() / "results" / f"{key}.jsonl")
    return JudgedPart(results=FlyteFile(str(results)), flaws={flaw.task_id: flaw.reason for flaw in judged.flaws})


@dynamic(**PLANNING_POD)
@readable_errors
def judge_parts(
    *,
    parts: list[Part],
    samples: list[FlyteFile],
    problems: FlyteFile,
    settings: JudgeSettings,
    concurrency: int,
    min_success_ratio: float,
) -> list[JudgedPart | None]:
    """Judge all parts, `concurrency` at a time (0 for all); None for a part that failed, where the ratio allows it."""
    check_ratio(min_success_ratio)
    judge = functools.partial(judge_part, problems=problems, settings=settings)
    mapped = map_task(judge, concurrency=concurrency, min_success_ratio=min(min_success_ratio, _ALL) or _ONE)
    return mapped(part=parts, samples=samples)


@task(enable_deck=True, deck_fields=(), **SANDBOX_POD)
@readable_errors
def gather_evaluation(  # noqa: PLR0913 - the parts, and what the evaluation was started with
    *,
    parts: list[Part],
    judged: list[JudgedPart | None],
    problems: FlyteFile,
    samples: FlyteFile,
    before: FlyteFile | None,
    k: list[int],
    save_to: str,
) -> Evaluated:
    """Gather the results, and write the folder and the Deck."""
    loaded_problems = load_problems(local_path(problems))
    loaded_samples = load_samples(local_path(samples), loaded_problems)
    results = [(part, local_path(done.results) if done else None) for part, done in zip(parts, judged, strict=True)]
    flaws = {task_id: reason for done in judged if done for task_id, reason in done.flaws.items()}
    evaluation = gather(loaded_samples, results, k, problems=loaded_problems, flaws=flaws)
    earlier = read_evaluation(local_path(before), k) if before else None
    folder = write_folder(evaluation, loaded_samples, earlier, save_to)
    Deck("Evaluation", render_summary(evaluation))
    log_scores(evaluation, folder)
    return Evaluated({f"pass@{n}": value for n, value in evaluation.pass_at_k.items()}, upload(folder, save_to))


def check_evaluation_launch(*, k: list[int], save_to: str, min_success_ratio: float, **_: Any) -> None:
    """Check the options as far as the machine that launches knows them. Raises as `check_together`."""
    check_together(
        [
            lambda: check_k(k),
            lambda: check_ratio(min_success_ratio),
            lambda: check_reaches_beyond_pod(save_to),
        ]
    )


@checked_before_launch(check_evaluation_launch)
@launchable
@workflow
@readable_errors
def evaluate(  # noqa: PLR0913 - a command line is flat: one option for each argument
    *,
    problems: str,
    samples: FlyteFile,
    k: list[int] = [1, 10, 100],  # noqa: B006 - never changed
    before: FlyteFile | None = None,
    save_to: str = "",
    shards: int = 0,
    concurrency: int = 0,
    min_success_ratio: float = 1.0,
    judge: Judge = "auto",
    packages: list[str] = [],  # noqa: B006 - the same
    sandbox: SandboxKind = "auto",
    cpu_s: float | None = None,
    memory_mib: int | None = None,
) -> Evaluated:
    """Judge samples by their problems' tests, in isolation, and score them.

    Leaves a folder with results.jsonl, results.parquet and report.html. Started again after a crash, it judges only the
    samples that are missing.

    Args:
        problems: humaneval, or a file of problems; on a cluster its address, such as s3://bucket/problems.jsonl
        samples: JSON Lines of {task_id, completion} or {task_id, solution}
        k: numbers of samples that pass@k is estimated for, a JSON list such as [1, 10]
        before: results.jsonl of an earlier run, to hold this one against in the report
        save_to: where the folder goes; on a cluster an address such as s3://bucket/evaluation
        shards: how many nodes judge, 0 for as many as the samples ask for
        concurrency: how many of them at a time, 0 for all
        min_success_ratio: share of the nodes that must succeed; the samples of the others are not counted
        judge: auto, values or suite
        packages: distributions that the samples may import
        sandbox: auto, bubblewrap, container, or none for code that you trust
        cpu_s: processor time of one sample, extended where the canonical solution takes long
        memory_mib: memory of one sample
    """
    split = split_evaluation(
        problems=problems,
        samples=samples,
        k=k,
        judge=judge,
        packages=packages,
        sandbox=sandbox,
        cpu_s=cpu_s,
        memory_mib=memory_mib,
        shards=shards,
        save_to=save_to,
    )
    judged = judge_parts(
        parts=split.parts,
        samples=split.files,
        problems=split.problems,
        settings=split.settings,
        concurrency=concurrency,
        min_success_ratio=min_success_ratio,
    )
    pass_at_k, folder = gather_evaluation(
        parts=split.parts,
        judged=judged,
        problems=split.problems,
        samples=samples,
        before=before,
        k=k,
        save_to=save_to,
    )
    return Evaluated(pass_at_k, folder)


def _default_shards(samples: int) -> int:
    return 1 if runs_locally() else min(_MAX_SHARDS, math.ceil(samples / _SAMPLES_PER_SHARD))
