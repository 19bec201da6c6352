"""The page for users of eval-framework is correct: its example runs, and its names exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from flyteplugins_codegen import evaluation

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs/from-eval-framework.md").read_text()


def test_the_examples_run_and_print_what_they_say(tmp_path: Path) -> None:
    program = "\n".join(re.findall(r"^```python\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL))
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
    assert finished.stdout.splitlines() == said


def test_every_name_of_the_metric_exists_and_is_documented() -> None:
    for name in evaluation.__all__:
        assert getattr(evaluation, name)
        assert name in dir(evaluation)
    metric = {name for name, module in evaluation._MODULES.items() if module.startswith("metric.")}
    # The base of contexts is nobody's to use but a context's.
    assert not {name for name in metric - {"BaseMetricContext"} if name not in DOCUMENT}
    assert not hasattr(evaluation, "NoSuchName")
