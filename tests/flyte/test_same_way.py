"""The agent's own call and the workflow decide alike, and so go the same way, in as many sandboxes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import row_count_job as job
from model_server import ModelServer

from flyteplugins_codegen import AutoCoderAgent, CodeGenEvalResult
from flyteplugins_codegen.flyte.workflow import generate
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.stages import sandboxes

PROMPT = "count the rows, by whichever way"
REPAIRS = [job.repair(0, 2), {**job.repair(2, 3), "packages": ["humanize"]}]
FRESH = [job.solution(1)] * 3
SCRIPT = {"SolutionReply": [job.solution(0), *FRESH], "TestsReply": [job.TESTS], "RepairReply": REPAIRS}
UNUSABLE = ["no JSON"] * 2
IN_VAIN = SCRIPT | {
    "SolutionReply": [job.solution(0), *UNUSABLE * 3, *FRESH],
    "RepairReply": [*UNUSABLE, *REPAIRS],
}
DRAFTS, VAIN_DRAFTS = [("fresh_draft", None)] * 3, [("fresh_draft", 3)] * 3


def way_of(result: CodeGenEvalResult) -> list[tuple[object, ...]]:
    return [
        (
            attempt.number,
            attempt.action,
            attempt.parent,
            attempt.round_number,
            attempt.blame,
            attempt.blame_reason,
            attempt.unusable,
            attempt.cause and attempt.cause.summary,
            attempt.strength and attempt.strength.share,
            attempt.candidate,
        )
        for attempt in result.attempt_history
    ]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The environments of all sandboxes that candidates are judged in, in the order in which they are opened."""
    environments: list[Any] = []
    opening = sandboxes.open_sandbox

    def open_and_note(*args: Any, **kwargs: Any) -> Any:
        environments.append(kwargs["environment"])
        return opening(*args, **kwargs)

    monkeypatch.setattr(sandboxes, "open_sandbox", open_and_note)
    return environments


@pytest.fixture
def foreseen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The prompts of the runs for whose first candidate sandboxes are made ready, a line for each call."""
    prompts: list[str] = []
    original = sandboxes.RunSandboxes.open_ahead

    def open_ahead_and_note(self: sandboxes.RunSandboxes, run: Run) -> None:
        prompts.append(run.request.prompt)
        original(self, run)

    monkeypatch.setattr(sandboxes.RunSandboxes, "open_ahead", open_ahead_and_note)
    return prompts


@pytest.mark.parametrize(
    ("script", "made"),
    [
        (SCRIPT, [("first_draft", None), ("repair", 1), ("repair", 2), *DRAFTS]),
        (IN_VAIN, [("first_draft", None), ("repair", 1), ("repair", 2), *VAIN_DRAFTS, *DRAFTS]),
    ],
)
def test_both_drivers_go_the_same_way_through_repairs_to_fresh_candidates(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    opened: list[Any],
    foreseen: list[str],
    script: dict[str, list[Any]],
    made: list[tuple[str, int | None]],
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # flytekit's cache lies in the home folder
    table = job.write_table(tmp_path / "table.csv", rows=3)
    with ModelServer(script) as server:
        agent = AutoCoderAgent(model="openai/any", api_base=server.url, cache="disable")
        direct = agent.generate(PROMPT, samples={"table": table}, outputs=job.OUTPUTS)
        calls, sandboxes = len(server.calls), len(opened)
    with ModelServer(script) as server:
        result, _ = generate(
            prompt=PROMPT,
            model="openai/any",
            api_base=server.url,
            samples={"table": str(table)},
            outputs=job.OUTPUTS,
            cache="disable",
            save_to=str(tmp_path / "kept"),
        )
        assert len(server.calls) == calls
    assert direct.success, direct.error
    assert [(attempt.action, attempt.parent) for attempt in direct.attempt_history] == made
    assert way_of(direct) == way_of(result)
    assert len(opened) == 2 * sandboxes
    assert foreseen[:1] == foreseen[-1:] == [PROMPT]
    assert len(foreseen) > calls  # by both
