"""A model sampled in chunks within a budget and scored: started again, it pays for nothing twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer

from flyteplugins_codegen.evaluation.evaluation import read_evaluation
from flyteplugins_codegen.flyte import sampling

ROOT = Path(__file__).parents[2]
RIGHT = {"code": "def twice(x):\n    return 2 * x\n"}
WRONG = {"code": "def twice(x):\n    return 3 * x\n"}


def write_problems(path: Path, *, count: int = 3) -> Path:
    lines = [
        {
            "task_id": f"Own/{number}",
            "prompt": f"Write `twice(x)`, variant {number} of {path.parent.name}.",
            "entry_point": "twice",
            "asserts": [f"assert twice({number + 1}) == {2 * number + 2}"],
        }
        for number in range(count)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_model_is_scored_from_the_command_line(pyflyte: Any, tmp_path: Path) -> None:
    write_problems(tmp_path / "problems.jsonl")
    script = {"ProgramReply": [RIGHT, WRONG, RIGHT, RIGHT, WRONG, WRONG]}
    with ModelServer(script) as server:
        asked = ("--model", "openai/any", "--api_base", server.url, "--n", "2", "--k", "[1, 2]", "--at_once", "1")
        budget = ("--chunk_size", "2", "--max_calls", "10", "--save_to", "out")
        script_path = str(ROOT / "workflows" / "evaluate.py")
        done = pyflyte.run("run", script_path, "generate_and_evaluate", "--problems", "problems.jsonl", *asked, *budget)
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(server.calls) == 6
    found = read_evaluation(tmp_path / "out" / "results.jsonl", (1, 2))
    assert [sample.outcome == "passed" for sample in found.samples] == [True, False, True, True, False, False]
    assert [sample.sample_id for sample in found.samples] == ["0", "1"] * 3
    assert "pass@2 = 0.667" in done.stderr


def test_a_budget_bounds_all_chunks_together_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    problems = write_problems(tmp_path / "problems.jsonl")
    with ModelServer({"ProgramReply": [RIGHT] * 6}) as server:
        given: dict[str, Any] = {
            "problems": str(problems),
            "model": "openai/any",
            "api_base": server.url,
            "n": 2,
            "chunk_size": 1,
            "at_once": 1,
            "save_to": str(tmp_path / "out"),
        }
        with pytest.raises(Exception, match="max_calls=1 is spent"):
            sampling.generate_and_evaluate(**given, max_calls=3)
        assert len(server.calls) == 3
        assert not (tmp_path / "out").exists()
        evaluated = sampling.generate_and_evaluate(**given, max_calls=6)
        assert len(server.calls) == 6
        assert evaluated.pass_at_k == {"pass@1": 1.0}


@pytest.mark.parametrize(
    ("more", "message"), [({"n": 0}, "n=0"), ({"chunk_size": 0}, "chunk_size=0"), ({"max_calls": -1}, "max_calls=-1: ")]
)
def test_bad_input_is_reported_before_a_model_is_called(tmp_path: Path, more: dict[str, Any], message: str) -> None:
    problems = write_problems(tmp_path / "problems.jsonl")
    with ModelServer({}) as server, pytest.raises(Exception, match=message):
        sampling.generate_and_evaluate(problems=str(problems), model="openai/any", api_base=server.url, **more)
    assert not server.calls


def test_problems_that_cannot_be_judged_are_reported_before_a_model_is_called(tmp_path: Path) -> None:
    problems = write_problems(tmp_path / "problems.jsonl")
    problems.write_text(problems.read_text().replace("assert twice(2) == 4", "twice(2) == 4"))
    with ModelServer({}) as server, pytest.raises(Exception, match="'Own/1': there is nothing in its tests that a sam"):
        sampling.generate_and_evaluate(problems=str(problems), model="openai/any", api_base=server.url)
    assert not server.calls
