"""One row for each sample: what files of results hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from flyteplugins_codegen.evaluation.findings import Findings


def result_rows(findings: Findings) -> Iterator[dict[str, Any]]:
    """The fields of each sample's end, and its problem's category, "" where it has none."""
    for sample in findings.samples:
        yield {**asdict(sample), "category": findings.categories.get(sample.task_id, "")}
