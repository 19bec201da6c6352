"""Writes the results of samples as JSON Lines, and as Parquet with the scores in the file's metadata."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.evaluation.scores import Findings
from flyteplugins_codegen.store import write_file

SCORES_KEY: Final = b"flyteplugins_codegen.scores"


def write_lines(findings: Findings, path: Path) -> Path:
    """Write a JSON object a line for each sample, whole or not at all. Raises OSError.

    The same findings give the same bytes.
    """
    lines = [json.dumps(row).encode() + b"\n" for row in _rows(findings)]
    write_file(path, b"".join(lines))
    return path


def write_parquet(findings: Findings, path: Path) -> Path:
    """Write a row for each sample, whole or not at all. Raises OSError."""
    import pyarrow as pa
    from pyarrow import parquet

    names = pa.dictionary(pa.int32(), pa.string())
    fields = {
        "task_id": names,
        "index": pa.int64(),
        "sample_id": pa.string(),
        "outcome": names,
        "reason": pa.string(),
        "judged_by": names,
        "cpu_s": pa.float64(),
        "wall_s": pa.float64(),
        "attempts": pa.int32(),
        "category": names,
    }
    rows = [{**row, "reason": _storable(row["reason"])} for row in _rows(findings)]
    schema = pa.schema(list(fields.items()), metadata={SCORES_KEY: json.dumps(_scores(findings)).encode()})
    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows, schema=schema), buffer, compression="zstd")
    write_file(path, buffer.getvalue())
    return path


def _rows(findings: Findings) -> Iterator[dict[str, Any]]:
    """The fields of each sample's result, and its problem's category, "" if it has none."""
    for sample in findings.samples:
        yield {**asdict(sample), "category": findings.categories.get(sample.task_id, "")}


def _scores(findings: Findings) -> dict[str, Any]:
    """The scores as JSON; NaN, the score of too few samples, is null."""
    return {
        "pass_at_k": {str(k): _number(value) for k, value in findings.pass_at_k.items()},
        "intervals": {str(k): [_number(end) for end in ends] for k, ends in findings.intervals.items()},
        "pass_hat_k": {str(k): _number(value) for k, value in findings.pass_hat_k.items()},
        "counts": findings.counts,
        "flaws": {flaw.task_id: flaw.reason for flaw in findings.flaws},
        "unanswered": list(findings.unanswered),
        "skipped": list(findings.skipped),
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _storable(text: str) -> str:
    """The text with lone surrogates, which a solution's message may have and Parquet refuses, as escapes."""
    return text.encode(errors="backslashreplace").decode()
