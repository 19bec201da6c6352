"""The whole loop from its serialized specs, node by node, each task a process of its own with a disk of its own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

import large_sales_job as sales
import pytest
import row_count_job as job
from flytekit.types.file import FlyteFile
from model_server import HttpError, ModelServer
from pod_forker import forked_pods
from propeller import NodeFailedError, StartPod, Walk
from walked_job import generated, outputs_of, package_workflows, registered

from flyteplugins_codegen import AutoCoderAgent
from flyteplugins_codegen.flyte.evaluation import evaluate
from flyteplugins_codegen.flyte.sampling import generate_and_evaluate
from flyteplugins_codegen.flyte.workflow import prepare
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.stages.strength import parts_of

BEFORE = ["configure_and_take_stages", "extract_context", "infer_schemas", "write_solution", "write_tests"]
FIRST_DRAFT = [*BEFORE, "build_first_environment", "run_tests_and_advance"]
KEPT = {"extract_context", "infer_schemas", "write_solution", "write_tests", "repair"}
LOST_WHEN_DONE = {"extract_context", "write_solution", "write_tests", "build_first_environment", "finish"}
ENV = {"ONE": "1", "TWO": "2"}
GATEWAYS_ERROR = HttpError(520)
NOTHING_TO_REPAIR = {"cause": "Nothing is wrong.", "error_type": "logic"}
NEEDS_SIX = {**job.solution(0), "code": f"__import__('si' + 'x')\n{job.code(0)}"}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `pyflyte package` makes of the workflows."""
    return package_workflows(tmp_path_factory.mktemp("package") / "package.tgz")


@pytest.fixture(scope="module")
def start_pod(archive: Path) -> Iterator[StartPod]:
    with forked_pods(archive) as start:
        yield start


@pytest.fixture
def walk(archive: Path, start_pod: StartPod, tmp_path: Path) -> Walk:
    return registered(archive, tmp_path / "store", start_pod)


def losing_first_tries(walk: Walk) -> StartPod:
    """Starts pods, and loses the first one of every node that may be tried again.

    Some are lost once they are done, with what they would have told, all others before they begin.
    """
    start, tried = walk.start_pod, set[int]()

    def start_or_lose(command: list[str], variables: Mapping[str, str]) -> tuple[int, str]:
        pod = walk.pods[-1]
        if id(pod.node) in tried or not pod.template.metadata.retries.retries:
            return start(command, variables)
        tried.add(id(pod.node))
        if pod.task in LOST_WHEN_DONE:
            assert start(command, variables)[0] == 0
            for left in walk.folder.glob(f"{len(walk.pods):03}-*/outputs.pb"):
                left.unlink()
        return 137, "killed"

    return start_or_lose


def test_a_first_answer_that_is_right_takes_each_stage_once_and_a_second_execution_finds_their_work_in_the_catalog(
    walk: Walk, tmp_path: Path
) -> None:
    with ModelServer({"SolutionReply": [job.solution()], "TestsReply": [job.TESTS]}) as server:
        result = generated(walk, server, tmp_path, env_vars=ENV, save_to=str(tmp_path / "kept"))
        assert result.success, result.error
        once = [*FIRST_DRAFT, "finish"]
        assert walk.order == once
        assert walk.row == 7
        assert (tmp_path / "kept" / "task.py").exists()
        assert result.original_samples["table"].remote_source is None

        # The same content at another address.
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        again = generated(walk, server, elsewhere, env_vars=ENV, save_to=str(tmp_path / "kept again"))
        assert len(server.calls) == 2
    assert walk.order[len(once) :] == [name for name in once if name not in KEPT]
    assert (again.solution, again.conversation_history) == (result.solution, result.conversation_history)
    assert (tmp_path / "kept again" / "task.py").exists()


def test_a_request_is_the_same_in_whatever_order_a_pod_gets_its_parts(walk: Walk, tmp_path: Path) -> None:
    """As text, because stages are cached by it."""
    samples = {name: FlyteFile(str(job.write_table(tmp_path / f"{name}.csv", rows=3))) for name in ("a", "b")}
    given = {"agent": AutoCoderAgent(model="openai/any", api_key="KEY"), "prompt": "count", "samples": samples}
    given |= {"inputs": {"m": "int", "n": "int"}, "outputs": {"x": "int", "y": "int"}, "tests": job.TESTS["test_code"]}
    first, second = (outputs_of(walk, prepare, given)["o0"] for _ in range(2))
    assert str(second) == str(first)


def test_tests_that_take_long_are_measured_in_parts_by_the_pods_of_a_map_task(walk: Walk, tmp_path: Path) -> None:
    slow = job.TESTS["test_code"].replace("    table =", "    __import__('time').sleep(1.9)\n    table =")
    with ModelServer({"SolutionReply": [job.solution()], "TestsReply": [{"test_code": slow}]}) as server:
        result = generated(walk, server, tmp_path)
    assert result.success, result.error
    (attempt,) = result.attempt_history
    assert attempt.strength is not None
    assert (attempt.strength.total, attempt.strength.killed) == (attempt.strength.made, attempt.strength.made)
    parts = [name for name in walk.order if "measure_part" in name]
    assert len(parts) == parts_of(Run(settings=result.settings, request=result.request, attempts=(attempt,))) > 1


def test_a_package_is_added_without_a_model_a_mistake_repaired_by_one_and_what_a_lost_pod_did_is_done_by_another(
    walk: Walk, tmp_path: Path
) -> None:
    """Of each node that may be tried again the first pod is lost; a gateway fails once. No answer is paid twice."""
    script = {
        "SolutionReply": [NEEDS_SIX],
        "TestsReply": [job.TESTS],
        "RepairReply": [GATEWAYS_ERROR, job.repair(0, 1)],
    }
    walk.start_pod = losing_first_tries(walk)
    with ModelServer(script) as server:
        result = generated(walk, server, tmp_path)
        asked = Counter(call.name for call in server.calls)
    assert result.success, result.error
    assert asked == {"SolutionReply": 1, "TestsReply": 1, "RepairReply": 2}
    order = [*FIRST_DRAFT, "repair", "run_tests_and_advance", "finish"]
    assert [name for name, _ in groupby(walk.order)] == order
    tries = {**dict.fromkeys(order, 2), "repair": 3}
    assert Counter(walk.order) == {name: order.count(name) * tries.get(name, 1) for name in order}
    assert [attempt.action for attempt in result.attempt_history] == ["first_draft", "add_packages", "repair"]
    assert len(result.conversation_history) > 3


def test_a_second_execution_repeats_the_tests_and_finds_the_repair_that_was_paid_for(
    walk: Walk, tmp_path: Path
) -> None:
    """The repair is found though the tests took another time."""
    script = {"SolutionReply": [job.solution(0)], "TestsReply": [job.TESTS], "RepairReply": [job.repair(0, 1)]}
    with ModelServer(script) as server:
        first = generated(walk, server, tmp_path)
        once, once_row = list(walk.order), walk.row
        second = generated(walk, server, tmp_path)
        assert len(server.calls) == 3
        assert once_row == 9
    assert once == [*FIRST_DRAFT, "repair", "run_tests_and_advance", "finish"]
    assert walk.order[len(once) :] == [name for name in once if name not in KEPT]
    passed = [result.attempt_history[1].report for result in (first, second)]
    assert passed[0] != passed[1]
    assert [step.action for step in second.attempt_history] == ["first_draft", "repair"]


def test_tests_that_take_longer_than_their_stage_may_end_the_try_and_not_what_comes_after_them(
    walk: Walk, tmp_path: Path
) -> None:
    endless = job.TESTS["test_code"].replace("    table =", "    __import__('time').sleep(60)\n    table =")
    settings = {"run_tests": {"timeout_s": 2, "retries": 1}}
    with (
        ModelServer({"SolutionReply": [job.solution()], "TestsReply": [{"test_code": endless}]}) as server,
        pytest.raises(NodeFailedError, match="run_tests took longer than its 2 s") as failed,
    ):
        generated(walk, server, tmp_path, stage_settings=settings)
    assert failed.value.is_recoverable
    assert walk.order == [*FIRST_DRAFT, "run_tests_and_advance"]
    assert not walk.pods[-1].node.metadata.HasField("timeout")


def test_candidates_are_drafted_and_judged_side_by_side_by_map_tasks_and_pods_have_what_the_settings_say(
    walk: Walk, tmp_path: Path
) -> None:
    """The run is exhausted by its two candidates, and fails with one message."""
    stage = {"resources": {"cpu": "3", "mem": "4Gi"}, "timeout_s": 90, "retries": 5, "image": "gpu:1"}
    stage["pod_template"] = "gpu-nodes"
    settings = {"run_tests": stage, "write_solution": stage, "write_tests": {"cache": False}}
    script = {"SolutionReply": [job.solution(0), job.solution(2)], "TestsReply": [job.TESTS]}
    with ModelServer(script) as server, pytest.raises(NodeFailedError, match="no success after 2 attempts") as failed:
        generated(walk, server, tmp_path, max_iterations=2, candidates=2, stage_settings=settings)
    assert not failed.value.is_recoverable
    judged = ["build_environment", "build_environment", "run_tests", "run_tests", "advance_with_judged", "finish"]
    assert walk.order == [*BEFORE, "begin", "write_another", "begin_with", *judged]

    started = {pod.task: pod for pod in walk.pods}
    for name in ("write_solution", "write_another", "run_tests"):
        node = started[name].node
        overrides = node.task_node.overrides
        assert [entry.value for entry in overrides.resources.limits] == ["3", "4Gi"], name
        assert overrides.resources.requests == overrides.resources.limits
        assert overrides.container_image == "gpu:1"
        assert (node.metadata.timeout.seconds, node.metadata.retries.retries) == (90, 5)
        assert started[name].template.metadata.pod_template_name == "gpu-nodes", name
        assert started[name].template.HasField("container"), name
    assert [started[name].template.metadata.discoverable for name in ("write_solution", "write_tests")] == [True, False]
    left = started["build_environment"]
    assert not left.node.task_node.overrides.resources.limits
    assert left.template.container.resources.limits
    assert left.template.metadata.retries.retries == 2


def test_an_evaluation_is_dealt_out_to_the_pods_of_a_map_task_and_put_together(walk: Walk, tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    completions = {"HumanEval/53": "    return x + y\n", "HumanEval/23": "    return 0\n"}
    samples.write_text("".join(json.dumps({"task_id": t, "completion": c}) + "\n" for t, c in completions.items()))
    given = {"problems": "humaneval", "samples": FlyteFile(str(samples)), "k": [1], "shards": 2}
    left = outputs_of(walk, evaluate, given | {"save_to": str(tmp_path / "kept")})
    assert left["pass_at_k"] == {"pass@1": 0.5}
    assert walk.order == ["split_evaluation", "judge_parts", "judge_part", "judge_part", "gather_evaluation"]
    assert (tmp_path / "kept" / "report.html").exists()


def test_a_model_is_sampled_and_scored_in_pods_and_a_second_execution_asks_and_judges_nothing(
    walk: Walk, tmp_path: Path
) -> None:
    problems = tmp_path / "problems.jsonl"
    lines = [
        {
            "task_id": f"Own/{n}",
            "prompt": f"Write twice(x), {n}.",
            "entry_point": "twice",
            "asserts": [f"assert twice({n}) == {2 * n}"],
        }
        for n in (1, 2)
    ]
    problems.write_text("".join(json.dumps(line) + "\n" for line in lines))
    replies = [{"code": "def twice(x):\n    return 2 * x\n"}, {"code": "def twice(x):\n    return 3 * x\n"}]
    with ModelServer({"ProgramReply": replies}) as server:
        given = {"problems": str(problems), "model": "openai/any", "api_base": server.url, "chunk_size": 1, "shards": 2}
        left = [outputs_of(walk, generate_and_evaluate, given)["pass_at_k"] for _ in range(2)]
        assert len(server.calls) == 2
    assert left == [{"pass@1": 0.5}] * 2
    planned, joined = ["plan_sampling", "sample_chunks"], ["join_samples", "split_evaluation", "judge_parts"]
    asked, judged = ["sample_chunk", "sample_chunk"], ["judge_part", "judge_part"]
    once = [*planned, *asked, *joined, *judged, "gather_evaluation"]
    assert walk.order == [*once, *(name for name in once if name not in {*asked, *judged})]


def test_a_difference_from_the_reference_is_settled_by_a_repair_and_a_third_draft_in_pods_of_their_own(
    walk: Walk, tmp_path: Path
) -> None:
    wrong = {"test_code": sales.tests(None)["test_code"], "reference": sales.reference()}
    script = {
        "SolutionReply": [sales.solution(sales.code(sales.WRONG)), sales.solution(sales.code("not amount < 10"))],
        "TestsReply": [wrong],
        "RepairReply": [NOTHING_TO_REPAIR, NOTHING_TO_REPAIR],
    }
    samples = {"sales": FlyteFile(str(sales.write_sample(tmp_path / "sales.csv")))}
    with ModelServer(script) as server:
        given = {"prompt": sales.PROMPT, "samples": samples, "outputs": sales.OUTPUTS, "min_test_strength": 0.0}
        result = generated(walk, server, tmp_path, **given)
        assert len(server.calls) == 5
    assert result.success, result.error
    assert [attempt.action for attempt in result.attempt_history] == ["first_draft", "repair", "independent_draft"]
    assert walk.order[len(FIRST_DRAFT) : len(FIRST_DRAFT) + 2] == ["repair", "run_tests_and_advance"]
    assert "draft_anew" in walk.order
