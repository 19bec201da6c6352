"""The recursion of the workflow in flytekit's local execution, as deep as the settings allow."""

from __future__ import annotations

from pathlib import Path

import pytest
import row_count_job as job
from model_server import ModelServer

from flyteplugins_codegen.flyte.workflow import generate

MOST_ITERATIONS = 50


def test_a_run_of_as_many_attempts_as_the_settings_allow_comes_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # flytekit's cache lies in the home folder.
    monkeypatch.setenv("HOME", str(tmp_path))
    broken = [f"def main(: # {number}\n" for number in range(2 * MOST_ITERATIONS)]
    drafts = [{**job.solution(), "code": code} for code in broken[:MOST_ITERATIONS]]
    repairs = [{"cause": "c", "error_type": "logic", "edits": [], "code": code} for code in broken[MOST_ITERATIONS:]]
    with ModelServer({"SolutionReply": drafts, "TestsReply": [job.TESTS], "RepairReply": repairs}) as server:
        result, _ = generate(
            prompt="a long run",
            model="openai/any",
            api_base=server.url,
            samples={"table": str(job.write_table(tmp_path / "table.csv", rows=3))},
            outputs=job.OUTPUTS,
            max_iterations=MOST_ITERATIONS,
            budget={"max_calls": 2 * MOST_ITERATIONS},
            allow_failure=True,
        )
        assert len(server.calls) == MOST_ITERATIONS + 1, result.error
    assert not result.success
    assert result.attempts == MOST_ITERATIONS
    assert {attempt.cause.kind for attempt in result.attempt_history} == {"syntax_error"}
