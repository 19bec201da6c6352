"""The truth of the corpus: right solutions agree, wrong ones differ somewhere, every suite passes with the right ones.

Each program runs as a plain process of this machine, on the sample and on draws of other data, with the folder of its
outputs in place of /var/outputs. Nothing of the product takes part.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.verdict.corpus import DRAWS, Job

DRIVER = Path(__file__).with_name("truth_driver.py")
TOLERANCE = 1e-6
_TIMEOUT_S = 300.0
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?(e[+-]?[0-9]+)?")  # 0049 is a telephone's, and no number
_Outputs = dict[str, str] | str
"""The text of each output, or the error that a program ended with."""


@dataclass(frozen=True, slots=True)
class Truth:
    """`problems` is what is not as the corpus says, a sentence each.

    `right_by_chance` has for each wrong solution the share of draws on which its outputs are the right ones.
    """

    problems: list[str]
    right_by_chance: dict[str, float]


def check_job(job: Job) -> Truth:
    """Run everything of a job that can be run without the product."""
    with tempfile.TemporaryDirectory(prefix="codegen-verdict-") as folder:
        outputs = _run_programs(job, _programs(job), Path(folder))
    problems = [f"{job.name}: {problem}" for problem in [*_check_programs(job, outputs), *_check_suites(job)]]
    expected = outputs[job.solutions[0].name][1:]
    same = {
        variant.name: [_same(*pair) for pair in zip(expected, outputs[variant.name][1:], strict=True)]
        for variant in job.wrong
    }
    return Truth(problems, {name: sum(flags) / len(flags) for name, flags in same.items()})


def _programs(job: Job) -> dict[str, str]:
    programs = {variant.name: variant.code for variant in (*job.solutions, *job.wrong)} | {"reference": job.reference}
    if job.wrong_reference:
        programs["reference_wrong"] = job.wrong_reference
    return programs


def _check_programs(job: Job, outputs: Mapping[str, list[_Outputs]]) -> Iterator[str]:
    expected = outputs[job.solutions[0].name]
    for number, outcome in enumerate(expected):
        if isinstance(outcome, str):
            yield f"solution ends with an error on data {number} (0 is the sample): {outcome}"
        elif outcome.keys() != job.outputs.keys():
            yield f"solution writes {sorted(outcome)} on data {number}, not {sorted(job.outputs)}"
    rights = {*(variant.name for variant in job.solutions), "reference"}
    for name, outcomes in outputs.items():
        differing = [number for number, pair in enumerate(zip(expected, outcomes, strict=True)) if not _same(*pair)]
        if name in rights and differing:
            number = differing[0]
            yield f"{name} differs on data {differing}: {_brief(outcomes[number])} for {_brief(expected[number])}"
        elif name not in rights and not differing:
            yield f"{name} gives what the solution gives, on everything"


def _run_programs(job: Job, programs: dict[str, str], folder: Path) -> dict[str, list[_Outputs]]:
    samples = folder / "samples"
    samples.mkdir()
    cases = [{**{name: str(file) for name, file in job.write_samples(samples).items()}, **job.scalars}]
    cases += [_write_case(job, job.draw(seed), folder / f"draw-{seed}") for seed in range(DRAWS)]
    return _drive({"programs": programs, "cases": cases, "folder": str(folder)})


def _write_case(job: Job, drawn: dict[str, str | int | float], folder: Path) -> dict[str, Any]:
    folder.mkdir()
    case: dict[str, Any] = dict(drawn)
    for name in job.samples:
        (folder / name).write_text(str(drawn[name]), encoding="utf-8")
        case[name] = str(folder / name)
    return case


def _check_suites(job: Job) -> Iterator[str]:
    programs = {variant.name: variant.code for variant in job.solutions}
    suites = {suite.name: suite.code for suite in job.suites}
    with tempfile.TemporaryDirectory(prefix="codegen-verdict-") as folder:
        failed = _drive({"solutions": programs, "suites": suites, "folder": folder})
    for pair, report in failed.items():
        yield f"{pair} fails: {report}"


def _drive(work: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-I", str(DRIVER)]
    done = subprocess.run(
        command, input=json.dumps(work), capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    assert done.returncode == 0, f"the driver failed:\n{done.stderr}"
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _same(left: _Outputs, right: _Outputs) -> bool:
    if isinstance(left, str) or isinstance(right, str):
        return isinstance(left, str) and isinstance(right, str)
    return left.keys() == right.keys() and all(_same_text(left[name], right[name]) for name in left)


def _same_text(left: str, right: str) -> bool:
    return left == right or _same_value(_parse(left), _parse(right))


def _parse(text: str) -> Any:
    text = text.strip()
    if text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except ValueError:
            pass
        try:
            return [json.loads(line) for line in text.splitlines()]
        except ValueError:
            pass
    return [_parse_cells(row) for row in csv.reader(io.StringIO(text))]


def _parse_cells(row: list[str]) -> list[Any]:
    return [_number(cell) for cell in row]


def _number(cell: str) -> Any:
    return float(cell) if _NUMBER.fullmatch(cell) else cell


def _same_value(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=1e-9)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_same_value(*pair) for pair in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same_value(left[key], right[key]) for key in left)
    return bool(left == right)


def _brief(outcome: _Outputs) -> str:
    return repr(outcome)[:600]
