"""What an evaluation leaves, and what is said of it to whoever started it."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path

import flytekit

from flyteplugins_codegen.evaluation.evaluation import Evaluation
from flyteplugins_codegen.evaluation.samples.loading import Samples
from flyteplugins_codegen.flyte.caching import runs_locally
from flyteplugins_codegen.flyte.readable import logger
from flyteplugins_codegen.store import cache_dir, digest


def write_folder(found: Evaluation, samples: Samples, before: Evaluation | None, save_to: str) -> Path:
    """Write results.jsonl, results.parquet and report.html, and say where.

    That is as asked; else, on this machine, a lasting place named by what is in it. Raises OSError.
    """
    if not runs_locally():
        folder = Path(flytekit.current_context().working_directory) / "evaluation"
    elif save_to:
        folder = Path(save_to).absolute()
    else:
        folder = cache_dir() / "evaluations" / digest([asdict(end) for end in found.samples])[:12]
    found.to_json_lines(folder / "results.jsonl")
    found.to_parquet(folder / "results.parquet")
    found.report(folder / "report.html", samples=samples, before=before, title=samples.path.name)
    return folder


def tell_scores(found: Evaluation, folder: Path) -> None:
    """Say the scores, how samples ended, and where the folder is."""
    for k, value in found.pass_at_k.items():
        if math.isnan(value):
            logger.info("pass@%d: a problem has fewer than %d counted samples", k, k)
        else:
            logger.info("pass@%d = %.3f (95 %% interval %.3f to %.3f)", k, value, *found.intervals[k])
    logger.info("%s", ", ".join(f"{count} {outcome}" for outcome, count in found.counts.items() if count))
    logger.info("evaluation folder: %s", folder)
