"""Digests of all that a verdict depends on: what they name has been judged, wherever and whenever that was."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Final

from flyteplugins_codegen.evaluation import judging, programs
from flyteplugins_codegen.evaluation.judging.by_values import checks_of
from flyteplugins_codegen.evaluation.values import PairTests, Problem, Tests
from flyteplugins_codegen.sandbox import suites, values
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.sandbox.values.checks import checks_text
from flyteplugins_codegen.store import digest

_KEY_BYTES: Final = 16


def problem_key(problem: Problem, *, judge: str, limits: Limits, packages: tuple[str, ...]) -> bytes:
    """What the verdicts on one problem depend on beside the program; by its canonical solution, how it is judged."""
    texts = [problem.entry_point, problem.context, problem.prompt, problem.canonical_solution, problem.language]
    parts = [problem.task_id, *texts, judge]
    used = asdict(problem.limits or limits)
    told = digest(parts, used, list(packages), _tests_bytes(problem.tests), judge_version())
    return bytes.fromhex(told)


def candidate_key(problem: bytes, program: str) -> bytes:
    """What the verdict on one program depends on."""
    text = program.encode("utf-8", "surrogatepass")
    return hashlib.sha256(problem + text).digest()[:_KEY_BYTES]


@cache
def judge_version() -> str:
    """The digest of the judges' sources, the same in every process: what they are compiled to is not."""
    folders = [Path(room.__file__ or "").parent for room in (values, suites, judging, programs)]
    files = [(folder, path) for folder in folders for path in sorted(folder.rglob("*.py"))]
    names = [path.relative_to(folder).as_posix() for folder, path in files]
    return digest(sys.version_info[:2], names, *(path.read_bytes() for _, path in files))


def _tests_bytes(tests: Tests) -> bytes:
    if isinstance(tests, PairTests):
        return checks_text(checks_of(tests, ""))
    return digest(type(tests).__name__, asdict(tests)).encode()
