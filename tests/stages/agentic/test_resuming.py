"""An agent's work is stored: after a kill it goes on, a recording is replayed, and no call is made twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from agent_turns import RIGHT, SUBMIT, SUITE, WRONG, turn, write
from model_server import ModelServer, Reply

from flyteplugins_codegen.errors import ReplayMissError
from flyteplugins_codegen.models.run import AgentSession

SCRIPT = (
    turn(("list", {}), write("test_solution.py", SUITE)),
    turn(write("solution.py", WRONG), ("run_tests", {}), ("run_on_sample", {})),
    turn(SUBMIT),
    turn(("edit", {"path": "solution.py", "search": "len(lines) - 0", "replace": "len(lines) - 1"}), ("run_tests", {})),
    turn(SUBMIT),
)
PROGRAM = textwrap.dedent(
    """
    import sys
    from flyteplugins_codegen import AutoCoderAgent

    agent = AutoCoderAgent(model="openai/m", api_base=sys.argv[1], backend="agent")
    agent.generate("Count the rows of the table.", samples={"table": sys.argv[2]}, outputs={"row_count": "int"})
    """
)


@pytest.mark.parametrize("kill_after_calls", [1, 3, 4])
def test_an_agent_killed_in_any_turn_goes_on_with_no_call_repeated(ask, table, kill_after_calls):
    slow = {f"tools after {turn}": [Reply(calls=reply.calls, delay_s=0.2)] for turn, reply in enumerate(SCRIPT)}
    with ModelServer(slow, repeat_last=True) as server:
        command = [sys.executable, "-c", PROGRAM, server.url, str(table)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _wait_for(server, kill_after_calls)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        before = len(server.calls)
        result = ask(server)
    assert result.success, result.output
    in_flight = len(server.calls) - len(SCRIPT)
    assert 0 <= in_flight <= 1, f"{before} calls before, {len(server.calls)} in all"


def _wait_for(server: ModelServer, calls: int) -> None:
    deadline = time.monotonic() + 60
    while len(server.calls) < calls:
        assert time.monotonic() < deadline, f"{len(server.calls)} calls came"
        time.sleep(0.01)
    time.sleep(0.1)


def test_a_finished_work_asks_nothing_the_second_time(ask):
    with ModelServer({"tools": SCRIPT}) as server:
        first, second = ask(server), ask(server)
        assert len(server.calls) == len(SCRIPT)
    assert [call.is_reused for call in second.calls] == [True] * len(SCRIPT)
    assert second.conversation_history == first.conversation_history
    assert second.total_input_tokens == first.total_input_tokens


def test_a_recorded_work_is_replayed_without_a_model(ask, tmp_path, monkeypatch):
    record = tmp_path / "agent.jsonl"
    with ModelServer({"tools": SCRIPT}) as server:
        first = ask(server, record=str(record), cache="disable")
        replayed = ask(server, model=f"replay:{record}", cache="disable")
        assert len(server.calls) == len(SCRIPT)
        with pytest.raises(ReplayMissError, match="agent"):
            ask(server, model=f"replay:{record}", cache="disable", examples=[EXAMPLE])
    assert replayed.success
    assert replayed.solution == first.solution
    assert replayed.conversation_history == first.conversation_history


EXAMPLE: dict[str, Any] = {"inputs": {"table": "a\n1\n"}, "outputs": {"row_count": 1}}


def test_a_session_travels_as_json_and_stays_small(work):
    session = AgentSession.model_validate_json(_session_of(work).model_dump_json())
    assert session.files["solution.py"] == RIGHT
    assert len(session.model_dump_json()) < 100_000


def _session_of(work: Any) -> AgentSession:
    result, _ = work(turn(write("solution.py", RIGHT), write("test_solution.py", SUITE), SUBMIT))
    messages = tuple(
        {"role": message["role"], "content": message["content"]} for message in result.conversation_history
    )
    return AgentSession.model_validate({"messages": messages, "files": {"solution.py": result.solution.code}})


def test_what_tools_answer_names_no_folder_of_this_machine(work, tmp_path: Path):
    failing = RIGHT.replace("    lines =", "    raise ValueError(object())\n    lines =")
    result, _ = work(
        turn(write("solution.py", failing), write("test_solution.py", SUITE), ("run_tests", {}), ("run_on_sample", {})),
        turn(("run_tests", {}), ("run_on_sample", {})),
        turn(write("solution.py", RIGHT), SUBMIT),
    )
    said = "\n".join(message["content"] for message in result.conversation_history)
    assert "ValueError" in said
    assert str(tmp_path) not in said
    assert os.environ["FLYTE_CODEGEN_CACHE"] not in said
