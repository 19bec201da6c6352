"""The document is correct: its example runs, and every field, language and outcome is in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flyteplugins_codegen.evaluation.problems.load import OwnProblem
from flyteplugins_codegen.evaluation.programs.languages import LANGUAGES_OF_PROGRAMS
from flyteplugins_codegen.evaluation.values import OUTCOMES

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs/evaluation.md").read_text()


def test_the_example_runs_and_prints_what_it_says(tmp_path: Path) -> None:
    files = re.findall(r"^```jsonl (\S+)\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    for name, text in files:
        (tmp_path / name).write_text(text)
    (program,) = re.findall(r"^```python\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    said = re.findall(r"print\(.*\)  # (.+)$", program, re.MULTILINE)
    finished = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert said
    assert finished.stdout.splitlines()[-len(said) :] == said


@pytest.mark.parametrize("name", [*OwnProblem.model_fields, *LANGUAGES_OF_PROGRAMS, *OUTCOMES])
def test_every_field_of_ones_own_problem_every_language_and_every_outcome_is_in_it(name: str) -> None:
    assert f"`{name}`" in DOCUMENT
