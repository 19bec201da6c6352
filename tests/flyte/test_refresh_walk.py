"""A refresh from its serialized specs, node by node, each task a process of its own with a disk of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import row_count_job as job
from flyteidl.core.literals_pb2 import LiteralMap as LiteralMapMessage
from flytekit.core.context_manager import FlyteContextManager
from flytekit.core.promise import translate_inputs_to_literals
from flytekit.core.type_engine import TypeEngine
from flytekit.models.literals import LiteralMap
from flytekit.types.file import FlyteFile
from model_server import ModelServer
from pod_forker import forked_pods
from propeller import Walk

from flyteplugins_codegen import AutoCoderAgent, CodeGenEvalResult
from flyteplugins_codegen.flyte.refresh import refresh
from flyteplugins_codegen.models.refresh import RefreshOutcome

ROOT = Path(__file__).parents[2]


def refreshed(walk: Walk, **given: object) -> RefreshOutcome:
    defaults = {name: default for name, (_, default) in refresh.python_interface.inputs_with_defaults.items()}
    context = FlyteContextManager.current_context()
    types = refresh.python_interface.inputs
    literals = translate_inputs_to_literals(context, {**defaults, **given}, refresh.interface.inputs, types)
    left = walk.run_workflow(refresh.name, dict(LiteralMap(literals=literals).to_flyte_idl().literals))
    outputs = LiteralMap.from_flyte_idl(LiteralMapMessage(literals=left))
    return TypeEngine.literal_map_to_kwargs(context, outputs, refresh.python_interface.outputs)["o0"]


def test_a_cluster_renews_a_solution_in_a_store_and_then_finds_nothing_changed(tmp_path: Path) -> None:
    archive = tmp_path / "package.tgz"
    pyflyte = str(Path(sys.executable).with_name("pyflyte"))
    packaging = (pyflyte, "--pkgs", "workflows.refresh", "package", "--image", "runner:1", "--output", str(archive))
    subprocess.run(packaging, cwd=ROOT, capture_output=True, check=True)
    table = job.write_table(tmp_path / "table.csv", rows=3)
    fresh = tmp_path / "fresh.csv"
    fresh.write_text("a,c\n" + "".join(f"n{number},x\n" for number in range(30)))
    rewritten = job.code().replace("len(lines)", "len(list(lines))")
    replies = [job.solution(), {**job.solution(), "code": rewritten}]
    with (
        ModelServer({"SolutionReply": replies, "TestsReply": [job.TESTS, job.TESTS]}) as server,
        forked_pods(archive) as start,
    ):
        agent = AutoCoderAgent(model="openai/any", api_base=server.url, min_test_strength=0)
        result = agent.generate("count in pods", samples={"table": table}, outputs=job.OUTPUTS)
        folder = result.save(tmp_path / "counter")
        walk = Walk(folder=tmp_path / "store", start_pod=start)
        walk.register(archive)
        given = {
            "solution": f"file://{folder}",
            "data": {"table": FlyteFile(str(fresh))},
            "approval": "never",
            "api_base": server.url,
        }
        outcome = refreshed(walk, **given)
        assert (outcome.decision, outcome.model_calls) == ("replaced", 2)
        assert CodeGenEvalResult.load(folder).solution.code == rewritten
        assert refreshed(walk, **given).reason == "nothing changed"
        assert len(server.calls) == 4
    renewing = ["examine_data", "take_steps", "renew_solution", "settle", "replace_solution"]
    assert walk.order == [*renewing, "examine_data", "take_steps", "conclude"]
