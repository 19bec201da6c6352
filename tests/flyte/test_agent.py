"""`pyflyte run ... generate --backend agent`: the model works by tools in a task of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import row_count_job as job
from agent_turns import RIGHT, SUBMIT, SUITE, WRONG, turn, write
from model_server import ModelServer

ROOT = Path(__file__).parents[2]
SCRIPT = [
    turn(write("solution.py", WRONG), write("test_solution.py", SUITE), SUBMIT),
    turn(("list", {}), write("solution.py", RIGHT), ("run_tests", {})),
    turn(SUBMIT),
]


def test_an_agents_work_goes_on_after_a_failure_in_the_next_task_and_is_kept(pyflyte: Any, tmp_path: Path) -> None:
    table = job.write_table(tmp_path / "table.csv", rows=3)
    with ModelServer({"tools": SCRIPT}) as server:
        arguments = [
            *("run", str(ROOT / "workflows" / "generate.py"), "generate", "--backend", "agent", "--max_turns", "3"),
            *("--prompt", "Count, as an agent.", "--model", "openai/any", "--api_base", server.url),
            *("--samples", json.dumps({"table": str(table)}), "--outputs", json.dumps(job.OUTPUTS)),
            *("--save_to", "kept"),
        ]
        done = pyflyte.run(*arguments)
        assert done.returncode == 0, done.stderr
        assert [call.name for call in server.calls] == ["tools"] * 3
        saved = json.loads((tmp_path / "kept" / "result.json").read_text())
        again = pyflyte.run(*arguments)
        assert again.returncode == 0, again.stderr
        assert len(server.calls) == 3
    assert [attempt["action"] for attempt in saved["attempt_history"]] == ["agent", "agent"]
    assert saved["solution"]["code"] == RIGHT
    assert len(saved["calls"]) == 3
    messages = [message["content"] for message in saved["conversation_history"]]
    assert sum("It was judged, and failed." in content for content in messages) == 1
