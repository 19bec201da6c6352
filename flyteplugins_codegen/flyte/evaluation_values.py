"""What goes between the tasks of an evaluation: settings, parts, results, and where their files lie."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile
from pydantic import Field

from flyteplugins_codegen.evaluation.judging.ways import Judge
from flyteplugins_codegen.evaluation.problems.loading import problem_file
from flyteplugins_codegen.evaluation.request import DEFAULT_LIMITS
from flyteplugins_codegen.evaluation.sharding import Part
from flyteplugins_codegen.flyte.caching import Salt
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.contract import Limits


class JudgeSettings(Value):
    """How samples are judged. `problems` is the digest of the file of problems; `cpu_s`, `memory_mib` are of one."""

    problems: str
    judge: Judge = "auto"
    packages: tuple[str, ...] = ()
    sandbox: SandboxKind = "auto"
    cpu_s: float | None = None
    memory_mib: int | None = None
    salt: Salt = Salt()

    def limits(self) -> Limits:
        """Those of one sample."""
        given = {"cpu_s": self.cpu_s, "memory_mib": self.memory_mib}
        changed: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        return replace(DEFAULT_LIMITS, **changed)


class JudgedPart(Value):
    """The results of a part, a line for each sample, and the problems of it that are in doubt."""

    results: FlyteFile
    flaws: dict[str, str] = Field(default_factory=dict)


class Split(NamedTuple):
    """An evaluation in parts, and the files that these need."""

    parts: list[Part]
    files: list[FlyteFile]
    problems: FlyteFile
    settings: JudgeSettings


class Evaluated(NamedTuple):
    """The scores by k, and the folder with results.jsonl, results.parquet and report.html."""

    pass_at_k: dict[str, float]
    folder: FlyteDirectory


def problem_path(problems: str) -> Path:
    """A benchmark's file, one's own, or one that is fetched from where a cluster reaches it."""
    return path_of(FlyteFile(problems)) if "://" in problems else problem_file(problems)


def path_of(file: FlyteFile) -> Path:
    """Where the file lies on this machine, fetched if need be."""
    return Path(os.fspath(file)).absolute()
