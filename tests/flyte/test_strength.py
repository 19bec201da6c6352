"""`pyflyte run` of a job whose generated tests are weak: measured and strengthened by tasks of their own."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import row_count_job as job
from model_server import ModelServer

ROOT = Path(__file__).parents[2]
WEAK = {"test_code": "from solution import main\n\n\ndef test_main_is_there():\n    assert main is not None\n"}


def test_weak_tests_are_strengthened_in_the_workflow_as_they_are_in_plain_python(pyflyte: Any, tmp_path: Path) -> None:
    table = job.write_table(tmp_path / "table.csv", rows=3)
    script = {"SolutionReply": [job.solution()], "TestsReply": [WEAK], "StrongerTestsReply": [job.TESTS]}
    with ModelServer(script) as server:
        done = pyflyte.run(
            *("run", str(ROOT / "workflows" / "generate.py"), "generate"),
            *("--prompt", "strengthened", "--model", "openai/any", "--api_base", server.url),
            *("--samples", json.dumps({"table": str(table)}), "--outputs", json.dumps(job.OUTPUTS)),
            *("--min_test_strength", "0.9", "--save_to", "kept"),
        )
        asked = Counter(call.name for call in server.calls)
    assert done.returncode == 0, done.stderr
    assert asked == Counter(list(script))
    result = json.loads((tmp_path / "kept" / "result.json").read_text())
    assert result["test_strength"] == 1.0
    assert [attempt["action"] for attempt in result["attempt_history"]] == ["first_draft", "strengthen_tests"]
    assert result["settings"]["min_test_strength"] == 0.9
