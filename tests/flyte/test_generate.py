"""`pyflyte run workflows/generate.py generate` against a scripted model, each run a process of its own."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import row_count_job as job
from model_server import ModelServer

ROOT = Path(__file__).parents[2]
STAGES = ["extract context", "write solution", "write tests", "build environment", "run tests", "repair"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return job.write_table(tmp_path / "table.csv", rows=3)


def arguments(server: ModelServer, prompt: str, table: Path, *more: str) -> Sequence[str]:
    """Each test has a prompt of its own, and so finds nothing of the others in any cache."""
    return [
        *("run", str(ROOT / "workflows" / "generate.py"), "generate"),
        *("--prompt", prompt, "--model", "openai/any", "--api_base", server.url),
        *("--samples", json.dumps({"table": str(table)}), "--outputs", json.dumps(job.OUTPUTS)),
        *more,
    ]


def stages_in(text: str) -> list[str]:
    """The stages that a run's progress on stderr tells of, in order."""
    lines = [line for line in text.splitlines() if line[:1] in {"•", "✗"}]
    return [stage for line in lines for stage in STAGES if line[2:].startswith(stage)]


def asked(server: ModelServer) -> dict[str, int]:
    return dict(Counter(call.name for call in server.calls))


def reported_folder(finished: subprocess.CompletedProcess[str]) -> Path:
    (line,) = [line for line in finished.stderr.splitlines() if "solution folder: " in line]
    return Path(line.partition("solution folder: ")[2])


def test_a_first_answer_that_is_right_takes_two_calls_and_leaves_a_folder_that_runs(
    pyflyte: Any, table: Path, tmp_path: Path
) -> None:
    script = {"SolutionReply": [job.solution()], "TestsReply": [job.TESTS]}
    with ModelServer(script) as server:
        done = pyflyte.run(*arguments(server, "right", table, "--name", "row-counter", "--save_to", "kept"))
    assert done.returncode == 0, done.stderr
    assert asked(server) == {"SolutionReply": 1, "TestsReply": 1}
    assert reported_folder(done) == tmp_path / "kept"

    (tmp_path / "elsewhere").mkdir()
    other = job.write_table(tmp_path / "elsewhere" / "other.csv", rows=5)
    again = pyflyte.run(
        "run", str(tmp_path / "kept" / "task.py"), "row_counter", "--table", other.name, cwd=other.parent
    )
    assert again.stdout.splitlines()[-1] == "5", again.stderr


def test_values_of_inputs_are_typed_beside_their_types_and_the_script_runs_on_the_sample_with_them(
    pyflyte: Any, table: Path, tmp_path: Path
) -> None:
    option = 'parser.add_argument("--table")'
    code = job.code().replace(option, f'{option}\n    parser.add_argument("--n")\n    parser.add_argument("--rate")')
    script = {"SolutionReply": [{**job.solution(), "code": code}], "TestsReply": [job.TESTS]}
    inputs = '{"n": 5, "rate": ["float", 2.5]}'
    with ModelServer(script) as server:
        done = pyflyte.run(*arguments(server, "values", table, "--inputs", inputs, "--save_to", "valued"))
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "valued" / "result.json").read_text())
    assert [run["arguments"] for run in result["report"]["runs"]] == [{"n": 5, "rate": 2.5}]
    assert result["declared_inputs"] == {"table": "file", "n": "int", "rate": "float"}


def test_a_killed_run_goes_on_where_it_was_and_an_identical_one_only_looks_up_what_is_there(
    pyflyte: Any, table: Path
) -> None:
    script = {"SolutionReply": [job.solution(0)], "TestsReply": [job.TESTS], "RepairReply": [job.repair(0, 1)]}
    with ModelServer(script) as server:
        command = arguments(server, "killed", table)
        killed = pyflyte.start(*command)
        seen = ""
        for line in killed.stderr:
            seen += line
            # The second build follows the repair: all that was paid for is there, the second test run is not.
            if stages_in(seen).count("build environment") == 2:
                break
        killed.kill()
        assert killed.wait() == -9
        calls = asked(server)
        assert calls == {"SolutionReply": 1, "TestsReply": 1, "RepairReply": 1}

        resumed = pyflyte.run(*command)
        assert resumed.returncode == 0, resumed.stderr
        assert asked(server) == calls
        assert set(stages_in(resumed.stderr)) <= {"build environment", "run tests"}

        repeated = pyflyte.run(*command)
        assert repeated.returncode == 0, repeated.stderr
        assert asked(server) == calls
        assert stages_in(repeated.stderr) == ["build environment", "run tests"] * 2
        assert reported_folder(repeated) == reported_folder(resumed)


def test_a_build_that_failed_is_tried_again_by_the_next_run(pyflyte: Any, table: Path) -> None:
    solution = {**job.solution(), "packages": ["six"]}
    with ModelServer({"SolutionReply": [solution], "TestsReply": [job.TESTS]}) as server:
        command = arguments(server, "built again", table, "--max_iterations", "1")
        pyflyte.environment["UV_EXCLUDE_NEWER"] = "2001-01-01"
        failed = pyflyte.run(*command)
        assert failed.returncode == 1
        assert "no such environment" in failed.stderr
        del pyflyte.environment["UV_EXCLUDE_NEWER"]
        done = pyflyte.run(*command)
        assert done.returncode == 0, done.stdout + done.stderr
        assert asked(server) == {"SolutionReply": 1, "TestsReply": 1}


def test_a_run_without_success_fails_with_one_message_and_leaves_the_last_candidate(pyflyte: Any, table: Path) -> None:
    script = {"SolutionReply": [job.solution(0)], "TestsReply": [job.TESTS], "RepairReply": [job.repair(0, 2)]}
    with ModelServer(script) as server:
        command = arguments(server, "exhausted", table, "--max_iterations", "2")
        failed = pyflyte.run(*command)
        assert failed.returncode == 1
        message = " ".join(failed.stdout.split())
        assert "NotSuccessfulError" in message
        assert "no success after 2 attempts" in message
        assert "Traceback" not in failed.stdout

        allowed = pyflyte.run(*command, "--allow_failure")
        assert allowed.returncode == 0, allowed.stderr
        assert "len(lines) - 2" in (reported_folder(allowed) / "solution.py").read_text()
        assert asked(server) == {"SolutionReply": 1, "TestsReply": 1, "RepairReply": 1}


def test_a_budget_spans_the_stages_and_a_larger_one_goes_on(pyflyte: Any, table: Path) -> None:
    repairs = [job.repair(0, 2), job.repair(2, 1)]
    script = {"SolutionReply": [job.solution(0)], "TestsReply": [job.TESTS], "RepairReply": repairs}
    with ModelServer(script) as server:
        command = [*arguments(server, "bounded", table, "--allow_failure"), "--budget"]
        spent = pyflyte.run(*command, '{"max_calls": 3}')
        assert spent.returncode == 0, spent.stdout + spent.stderr
        assert "max_calls=3 is spent" in (reported_folder(spent) / "result.json").read_text()
        assert len(server.calls) == 3
        done = pyflyte.run(*command, '{"max_calls": 1}')
        assert done.returncode == 0, done.stdout + done.stderr
        assert "len(lines) - 1" in (reported_folder(done) / "solution.py").read_text()
        assert len(server.calls) == 4


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--max_iterations", "0"], "SettingsError.*max_iterations=0"),
        (["--samples", '{"table": "missing.csv"}'], "samples.*missing.csv"),
    ],
)
def test_bad_input_is_reported_before_a_model_is_called(
    pyflyte: Any, table: Path, more: list[str], message: str
) -> None:
    with ModelServer({}) as server:
        refused = pyflyte.run(*arguments(server, "refused", table), *more)
    assert refused.returncode == 1
    assert re.search(message, " ".join(refused.stdout.split()))
    assert not server.calls


def test_what_is_not_cached_is_asked_for_anew_and_an_override_is_what_later_runs_find(
    pyflyte: Any, table: Path
) -> None:
    script = {"SolutionReply": [job.solution()] * 3, "TestsReply": [job.TESTS] * 3}
    with ModelServer(script) as server:
        command = arguments(server, "anew", table)
        for cache, calls in [("disable", 2), ("auto", 4), ("override", 6), ("auto", 6)]:
            done = pyflyte.run(*command, "--cache", cache)
            assert done.returncode == 0, done.stderr
            assert len(server.calls) == calls, cache
