"""The registered workflows walked with the row-count job: packaged by `pyflyte`, launched as a client launches them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import row_count_job as job
from flyteidl.core.literals_pb2 import LiteralMap as LiteralMapMessage
from flytekit.core.context_manager import FlyteContextManager
from flytekit.core.promise import translate_inputs_to_literals
from flytekit.core.type_engine import TypeEngine
from flytekit.models.literals import LiteralMap
from flytekit.types.file import FlyteFile
from model_server import ModelServer
from propeller import StartPod, Walk

from flyteplugins_codegen import CodeGenEvalResult
from flyteplugins_codegen.flyte.workflow import generate

ROOT = Path(__file__).parents[2]
_KEY = "sk-of-the-cluster"
_SECRET = "openai/OPENAI_API_KEY"


def package_workflows(path: Path) -> Path:
    """What `pyflyte package` makes of the workflows. Raises AssertionError with its output."""
    pyflyte = str(Path(sys.executable).with_name("pyflyte"))
    packaging = (
        *(pyflyte, "--pkgs", "workflows.generate", "--pkgs", "workflows.evaluate"),
        *("package", "--image", "runner:1", "--output", str(path)),
    )
    environment = {**os.environ, "FLYTE_CODEGEN_SECRET": _SECRET, "FLYTE_PLATFORM_URL": "admin:81"}
    done = subprocess.run(packaging, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return path


def registered(archive: Path, folder: Path, start_pod: StartPod) -> Walk:
    """A cluster with the archive's entities and the secret, and `folder` as its store."""
    walk = Walk(folder=folder, start_pod=start_pod, secrets={_SECRET: _KEY})
    walk.register(archive)
    return walk


def generated(walk: Walk, server: ModelServer, folder: Path, **given: Any) -> CodeGenEvalResult:
    """What the registered workflow returns, launched with its defaults and these inputs."""
    usual = {"prompt": "count", "model": "openai/any", "api_base": server.url, "outputs": job.OUTPUTS}
    usual["samples"] = {"table": FlyteFile(str(job.write_table(folder / "table.csv", rows=3)))}
    result: CodeGenEvalResult = outputs_of(walk, generate, {**usual, **given})["result"]
    return result


def outputs_of(walk: Walk, workflow: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The outputs of a registered workflow."""
    defaults = {name: default for name, (_, default) in workflow.python_interface.inputs_with_defaults.items()}
    context = FlyteContextManager.current_context()
    types = workflow.python_interface.inputs
    literals = translate_inputs_to_literals(context, {**defaults, **given}, workflow.interface.inputs, types)
    left = walk.run_workflow(workflow.name, dict(LiteralMap(literals=literals).to_flyte_idl().literals))
    outputs = LiteralMap.from_flyte_idl(LiteralMapMessage(literals=left))
    return TypeEngine.literal_map_to_kwargs(context, outputs, workflow.python_interface.outputs)
