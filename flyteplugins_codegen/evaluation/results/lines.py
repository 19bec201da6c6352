"""Results as JSON Lines: one object for each sample."""

from __future__ import annotations

import json
from pathlib import Path

from flyteplugins_codegen.evaluation.findings import Findings
from flyteplugins_codegen.evaluation.results.rows import result_rows
from flyteplugins_codegen.store import write_atomically


def write_lines(findings: Findings, path: Path) -> Path:
    """Write the file whole or not at all; the same findings give the same bytes. Raises OSError."""
    lines = [json.dumps(row).encode() + b"\n" for row in result_rows(findings)]
    write_atomically(path, b"".join(lines))
    return path
