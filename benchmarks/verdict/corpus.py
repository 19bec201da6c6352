"""The jobs as they are kept in `jobs/`: prompts, data, right and wrong solutions, references, good and weak suites."""

from __future__ import annotations

import json
import runpy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import Any, Literal, cast

from benchmarks.verdict.datasets import sample_text

JOBS = Path(__file__).with_name("jobs")
SuiteKind = Literal["good", "thin", "vacuous"]
SUITE_KINDS: tuple[SuiteKind, ...] = ("good", "thin", "vacuous")
DRAWS = 24
"""How many draws of other data a job's solutions are held against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One solution of a job. `kind` is "right" or the kind of its mistake."""

    name: str
    kind: str
    code: str

    @property
    def is_right(self) -> bool:
        """Whether it gives the outputs that the description asks for, on all data."""
        return self.kind == "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """One test module of a job."""

    name: str
    kind: SuiteKind
    code: str


@dataclass(frozen=True, kw_only=True)
class Job:
    """One folder of `jobs/`."""

    folder: Path
    prompt: str
    outputs: dict[str, str]
    scalars: dict[str, str | int | float | bool]
    samples: dict[str, dict[str, Any]]
    packages: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @cached_property
    def solutions(self) -> tuple[Variant, ...]:
        """The right ones, `solution.py` first."""
        files = [self.folder / "solution.py", *sorted(self.folder.glob("solution_*.py"))]
        return tuple(Variant(name=file.stem, kind="right", code=_read(file)) for file in files)

    @cached_property
    def wrong(self) -> tuple[Variant, ...]:
        """Each edit of `wrong.json` made. Raises ValueError where its text does not occur exactly once."""
        right = self.solutions[0].code
        variants = []
        for number, edit in enumerate(json.loads(_read(self.folder / "wrong.json")), start=1):
            if right.count(edit["search"]) != 1:
                raise ValueError(f"{self.name}: wrong.json {number} ({edit['kind']}): not once: {edit['search']!r}")
            code = right.replace(edit["search"], edit["replace"])
            variants.append(Variant(name=f"wrong_{number}", kind=edit["kind"], code=code))
        return tuple(variants)

    @cached_property
    def suites(self) -> tuple[Suite, ...]:
        """All of them, the good ones first."""
        return tuple(
            Suite(name=file.stem, kind=kind, code=_read(file))
            for kind in SUITE_KINDS
            for file in sorted(self.folder.glob(f"suite_{kind}_*.py"))
        )

    @cached_property
    def reference(self) -> str:
        """The code of the right reference."""
        return _read(self.folder / "reference.py")

    @cached_property
    def wrong_reference(self) -> str | None:
        """The code of a reference with a mistake, where the job has one."""
        file = self.folder / "reference_wrong.py"
        return _read(file) if file.exists() else None

    def write_samples(self, folder: Path) -> dict[str, Path]:
        """Write each sample under its own name into `folder`; gives the files by input."""
        generated = _functions(self.folder)["sample"]() if "sample" in _functions(self.folder) else {}
        files = {}
        for name, source in self.samples.items():
            files[name] = folder / source["file"]
            text = generated[name] if source.get("generated") else sample_text(source)
            files[name].write_text(text, encoding="utf-8")
        return files

    def draw(self, seed: int) -> dict[str, str | int | float]:
        """Other data of the same format: texts of files, and scalars, by input."""
        return cast("dict[str, str | int | float]", _functions(self.folder)["inputs"](Random(seed)))  # noqa: S311 - no secret


def read_jobs(only: frozenset[str] = frozenset()) -> tuple[Job, ...]:
    """All jobs by name, or those that are named. Raises ValueError for a name that no job has."""
    jobs = tuple(_read_job(file.parent) for file in sorted(JOBS.glob("*/job.json")))
    if unknown := only - {job.name for job in jobs}:
        raise ValueError(f"no job {', '.join(sorted(unknown))}; there are {', '.join(job.name for job in jobs)}")
    return tuple(job for job in jobs if not only or job.name in only)


def _read_job(folder: Path) -> Job:
    fields = json.loads(_read(folder / "job.json"))
    return Job(
        folder=folder,
        prompt=fields["prompt"],
        outputs=fields["outputs"],
        scalars=fields.get("inputs", {}),
        samples=fields["samples"],
        packages=tuple(fields.get("packages", ())),
    )


@cache
def _functions(folder: Path) -> Mapping[str, Any]:
    return runpy.run_path(str(folder / "data.py"))


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")
