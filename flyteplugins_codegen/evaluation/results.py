"""Results as Parquet: one row for each sample, the scores beside them in the file's metadata."""

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

# One row for each sample: what files of results hold.


def result_rows(findings: Findings) -> Iterator[dict[str, Any]]:
    """The fields of each sample's end, and its problem's category, "" where it has none."""
    for sample in findings.samples:
        yield {**asdict(sample), "category": findings.categories.get(sample.task_id, "")}


SCORES_KEY: Final = b"flyteplugins_codegen.scores"


def write_parquet(findings: Findings, path: Path) -> Path:
    """Write the file whole or not at all. Raises OSError."""
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
    rows = [{**row, "reason": _storable(row["reason"])} for row in result_rows(findings)]
    schema = pa.schema(list(fields.items()), metadata={SCORES_KEY: json.dumps(_scores(findings)).encode()})
    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows, schema=schema), buffer, compression="zstd")
    write_file(path, buffer.getvalue())
    return path


def _scores(findings: Findings) -> dict[str, Any]:
    """What JSON has no word for, such as the score of too few samples, is null."""
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
    """A lone surrogate, as a solution may raise one in a message, is no text to Parquet."""
    return text.encode(errors="backslashreplace").decode()


# Results as JSON Lines: one object for each sample.


def write_lines(findings: Findings, path: Path) -> Path:
    """Write the file whole or not at all; the same findings give the same bytes. Raises OSError."""
    lines = [json.dumps(row).encode() + b"\n" for row in result_rows(findings)]
    write_file(path, b"".join(lines))
    return path
