"""`pyflyte run workflows/evaluate.py evaluate`, a process of its own; and its parts, some of which fail."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from flytekit.configuration import Image, ImageConfig, SerializationSettings
from flytekit.core.context_manager import ExecutionState, FlyteContextManager
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.evaluation.evaluation import read_evaluation
from flyteplugins_codegen.evaluation.problems.load import load_problems
from flyteplugins_codegen.evaluation.sharding import Part
from flyteplugins_codegen.flyte import evaluation

ROOT = Path(__file__).parents[2]
SCRIPT = str(ROOT / "workflows" / "evaluate.py")
WRONG = "    return None\n"


def write_samples(path: Path, *, tasks: int = 3) -> Path:
    """Of each problem a right completion and a wrong one."""
    chosen = load_problems("humaneval")[:tasks]
    right = [(problem.canonical_solution or "").removeprefix(problem.prompt) for problem in chosen]
    lines = [
        {"task_id": problem.task_id, "completion": completion}
        for problem, solution in zip(chosen, right, strict=True)
        for completion in (solution, WRONG)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_samples_are_scored_from_the_command_line_and_not_judged_again(pyflyte: Any, tmp_path: Path) -> None:
    write_samples(tmp_path / "samples.jsonl")
    command = ("--problems", "humaneval", "--samples", "samples.jsonl", "--k", "[1, 10]")
    done = pyflyte.run("run", SCRIPT, "evaluate", *command, "--save_to", "first", "--shards", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pass@1 = 0.500 (95 % interval 0.500 to 0.500)" in done.stderr
    assert "3 passed, 3 wrong_answer" in done.stderr
    found = read_evaluation(tmp_path / "first" / "results.jsonl", (1,))
    assert [sample.outcome for sample in found.samples] == ["passed", "wrong_answer"] * 3
    assert {path.name for path in (tmp_path / "first").iterdir()} == {
        "report.html",
        "results.jsonl",
        "results.parquet",
    }

    more = ("--save_to", "second", "--shards", "2", "--before", "first/results.jsonl")
    again = pyflyte.run("run", SCRIPT, "evaluate", *command, *more)
    assert again.returncode == 0, again.stdout + again.stderr
    # Times and all: a sample that was judged anew would have others.
    assert (tmp_path / "second" / "results.jsonl").read_bytes() == (tmp_path / "first" / "results.jsonl").read_bytes()
    assert "Against the earlier run" in (tmp_path / "second" / "report.html").read_text()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"k": [0]}, "k=0"),
        ({"shards": -1}, "shards=-1"),
        ({"problems": "no-such"}, "'no-such'.*neither a file nor a name"),
        ({"min_success_ratio": 2.0}, "min_success_ratio=2"),
        ({"judge": "guess"}, "judge='guess': Input should be 'auto', 'values' or 'suite'$"),
    ],
)
def test_bad_input_is_one_message(tmp_path: Path, more: dict[str, Any], message: str) -> None:
    samples = write_samples(tmp_path / "samples.jsonl", tasks=1)
    given = {"problems": "humaneval", "samples": FlyteFile(str(samples)), "save_to": str(tmp_path), **more}
    with pytest.raises(Exception, match=message):
        evaluation.evaluate(**given)
    assert [path.name for path in tmp_path.iterdir()] == ["samples.jsonl"]


def test_a_part_that_fails_is_not_counted_where_the_ratio_allows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = evaluation.judge_samples

    def failing_once(problems: Any, *arguments: Any, **options: Any) -> Any:
        if problems[0].task_id == "HumanEval/1":
            raise SandboxError("no sandbox on this node")
        return judge(problems, *arguments, **options)

    monkeypatch.setattr(evaluation, "judge_samples", failing_once)
    given = {
        "problems": "humaneval",
        "samples": FlyteFile(str(write_samples(tmp_path / "samples.jsonl"))),
        "k": [1],
        "shards": 3,
        "save_to": str(tmp_path / "out"),
    }
    evaluated = evaluation.evaluate(**given, min_success_ratio=0.5)
    found = read_evaluation(tmp_path / "out" / "results.jsonl", (1,))
    assert evaluated.pass_at_k.keys() == {"pass@1"}
    assert [sample.outcome for sample in found.samples][2:4] == ["infrastructure"] * 2
    assert found.counts["passed"] == 2
    with pytest.raises(Exception, match="no sandbox on this node"):
        evaluation.evaluate(**{**given, "shards": 2})


def test_a_cluster_gets_a_map_task_with_the_concurrency_and_the_ratio(tmp_path: Path) -> None:
    image = ImageConfig(Image("default", "runner", "1"))
    settings = SerializationSettings(project="p", domain="d", version="1", image_config=image)
    context = FlyteContextManager.current_context()
    context = context.with_serialization_settings(settings).build()
    on_cluster = context.execution_state.with_params(mode=ExecutionState.Mode.TASK_EXECUTION)
    file = FlyteFile(str(write_samples(tmp_path / "samples.jsonl", tasks=1)))
    with FlyteContextManager.with_context(context.with_execution_state(on_cluster)) as compiling:
        spec = evaluation.judge_parts.compile_into_workflow(
            compiling,
            evaluation.judge_parts._task_function,
            parts=[Part(task_ids=(name,), content=name) for name in "abc"],
            samples=[file] * 3,
            problems=file,
            settings=evaluation.JudgeSettings(problems="content"),
            concurrency=2,
            min_success_ratio=0.5,
        )
    (node,) = spec.nodes
    made = node.to_flyte_idl().array_node
    assert (made.parallelism, made.min_success_ratio, len(node.inputs)) == (2, 0.5, 4)


def test_a_killed_run_goes_on_with_the_samples_that_are_missing(
    pyflyte: Any, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pyflyte.environment["FLYTE_CODEGEN_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    problem = {"task_id": "slow", "entry_point": "f", "prompt": "def f(x):\n", "asserts": ["assert f(1) == 2"]}
    (tmp_path / "problems.jsonl").write_text(json.dumps(problem))
    slow = "    import time\n    time.sleep(0.4)\n    return x + 1  # {}\n"
    lines = [json.dumps({"task_id": "slow", "completion": slow.format(number)}) + "\n" for number in range(8)]
    (tmp_path / "samples.jsonl").write_text("".join(lines))

    command = ("run", SCRIPT, "evaluate", "--problems", "problems.jsonl", "--samples", "samples.jsonl", "--k", "[1]")
    killed = pyflyte.start(*command)
    journals = Path(pyflyte.environment["FLYTE_CODEGEN_CACHE"], "journals")
    while killed.poll() is None and len(judged_in(journals)) < 3:
        time.sleep(0.02)
    killed.kill()
    assert killed.wait() == -9
    before = judged_in(journals)

    done = pyflyte.run(*command, "--save_to", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 passed" in done.stderr
    after = judged_in(journals)
    assert after[: len(before)] == before
    assert 3 <= len(before) < len(after) == len(set(after)) == 8


def judged_in(journals: Path) -> list[str]:
    """The keys of all that was judged, in the order in which it was."""
    texts = [path.read_text() for path in journals.glob("*.jsonl")]
    return [json.loads(line)["key"] for text in texts for line in text.splitlines() if line.endswith("}")]
