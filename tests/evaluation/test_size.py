"""Evaluations of any size: samples are read as they are needed, and their texts are not kept."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from evaluated_samples import PROBLEM, SAMPLES

from flyteplugins_codegen.evaluation.run import evaluate
from flyteplugins_codegen.evaluation.values import Sample

SUPPORT = Path(__file__).parents[1] / "support"


def peak_mib(count: int) -> int:
    command = [sys.executable, "-m", "many_samples", str(count)]
    return int(subprocess.run(command, cwd=SUPPORT, check=True, capture_output=True, text=True).stdout)


def test_memory_does_not_grow_with_the_samples() -> None:
    assert peak_mib(340) - peak_mib(40) < 20  # their texts are 60 MB


def test_no_more_samples_are_drawn_than_are_soon_judged(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    ahead = []

    def samples() -> Iterator[Sample]:
        for number, sample in enumerate(SAMPLES):
            ahead.append(number - (journal.read_bytes().count(b"\n") if journal.exists() else 0))
            yield sample

    evaluate([PROBLEM], samples(), (1,), workers=1, journal=journal)
    assert max(ahead) <= 16
