"""Everything that the documents name for `pyflyte run` can be launched on a cluster, with required inputs alone.

A control plane that launches a task wants a value for every input, and has defaults for launch plans only.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import sys
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import row_count_job as job
from flyte_admin import FlyteAdmin
from flytekit import LaunchPlan
from flytekit.configuration import Image, ImageConfig, SerializationSettings
from flytekit.core.base_task import PythonTask
from flytekit.core.context_manager import FlyteContextManager
from flytekit.core.options import Options
from flytekit.core.workflow import WorkflowBase
from flytekit.tools.translator import get_serializable
from model_server import ModelServer

ROOT = Path(__file__).parents[2]
RUNNER = ("--image", "registry.example/team/runner:1")
NAMED = re.compile(r"pyflyte run\b[^\n]*? workflows/(\w+)\.py (\w+)(?![\w/.])")
# The entry points, from which a reader of the documents takes other names.
KNOWN = {("generate", "generate"), ("implement", "implement"), ("profile", "profile_folder"), ("refresh", "refresh")}


def named_entities() -> list[tuple[str, str]]:
    """File and name of what is given to `pyflyte run` in the README, on the pages and in `workflows/`."""
    texts = [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "workflows").glob("*.*"),
    ]
    joined = [re.sub(r"\\\n\s*", " ", text.read_text()) for text in texts]
    return sorted({(found[1], found[2]) for text in joined for found in NAMED.finditer(text)})


def exported_entities() -> list[tuple[str, str]]:
    """All that the files in `workflows/` offer for `pyflyte run`, named on a page or not."""
    files = sorted((ROOT / "workflows").glob("*.py"))
    lists = {file.stem: re.search(r"__all__ = \[(.*?)\]", file.read_text(), re.DOTALL) for file in files}
    return [(stem, name) for stem, found in lists.items() if found for name in re.findall(r'"(\w+)"', found[1])]


def entity_of(file: str, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"workflows_{file}", ROOT / "workflows" / f"{file}.py")
    assert spec
    assert spec.loader
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    if not hasattr(module, name):
        spec.loader.exec_module(module)
    return getattr(module, name)


def inputs_without_default(function: Any) -> set[str]:
    parameters = inspect.signature(function).parameters.values()
    return {parameter.name for parameter in parameters if parameter.default is inspect.Parameter.empty}


def required_inputs(entity: Any) -> set[str]:
    """What whoever launches the entity on a cluster must give."""
    if isinstance(entity, PythonTask):
        return set(entity.python_interface.inputs)
    plan = LaunchPlan.get_default_launch_plan(FlyteContextManager.current_context(), entity)
    image = ImageConfig(Image(name="default", fqn="registry.example/team/runner", tag="1"))
    settings = SerializationSettings(image, project="flytesnacks", domain="development", version="v1")
    made = get_serializable(OrderedDict(), settings, plan, Options())
    parameters = made.spec.default_inputs.to_flyte_idl().parameters
    return {name for name, parameter in parameters.items() if parameter.required}


def test_the_documents_name_the_entry_points() -> None:
    assert set(named_entities()) >= KNOWN


@pytest.mark.parametrize(("file", "name"), sorted({*named_entities(), *exported_entities()}))
def test_an_input_with_a_default_may_be_left_out_on_a_cluster(file: str, name: str) -> None:
    entity = entity_of(file, name)
    assert isinstance(entity, PythonTask | WorkflowBase)
    function = entity.task_function if isinstance(entity, PythonTask) else entity.function
    assert required_inputs(entity) == inputs_without_default(function)


@pytest.fixture
def admin(pyflyte: Any) -> Iterator[FlyteAdmin]:
    with FlyteAdmin() as started:
        started.write_config(Path(pyflyte.environment["HOME"]))
        yield started


def test_implement_runs_on_a_cluster_from_its_definition_alone(pyflyte: Any, admin: FlyteAdmin) -> None:
    file = str(ROOT / "workflows" / "implement.py")
    done = pyflyte.run("run", "--remote", *RUNNER, file, "implement", "--definition", "def f(x):\n    ...")
    assert done.returncode == 0, done.stdout + done.stderr
    (execution,) = admin.executions
    inputs = admin.inputs(execution.id.name)
    assert inputs["timeout"].scalar.primitive.float_value == 3
    assert inputs["max_cost_usd"].scalar.HasField("none_type")


def test_a_registered_workflow_is_started_by_its_name_without_copying_code(pyflyte: Any, admin: FlyteAdmin) -> None:
    registering = ("register", *RUNNER, "--copy", "none", "--version", "v1", "workflows/generate.py")
    registered = pyflyte.run(*registering, cwd=ROOT)
    assert registered.returncode == 0, registered.stdout + registered.stderr
    prompt = ("--prompt", "sum", "--model", "openai/gpt-4.1", "--budget", '{"max_calls": 5}')
    data = ("--samples", '{"sales": "s3://bucket/sales.csv"}', "--outputs", '{"total": "float"}')
    name = "flyteplugins_codegen.flyte.workflow.generate:v1"
    done = pyflyte.run("run", "remote-launchplan", name, *prompt, *data)
    assert done.returncode == 0, done.stdout + done.stderr
    (execution,) = admin.executions
    inputs = admin.inputs(execution.id.name)
    assert inputs["samples"].map.literals["sales"].scalar.blob.uri == "s3://bucket/sales.csv"
    assert inputs["max_iterations"].scalar.primitive.integer == 10
    assert admin.objects == {}


def test_a_workflow_of_one_task_gives_what_the_task_gives(tmp_path: Path) -> None:
    profile = entity_of("profile", "profile_sample")
    assert profile(sample=str(job.write_table(tmp_path / "table.csv", rows=3))).row_count == 3
    with ModelServer({"FunctionReply": [{"code": "def f(x):\n    return x + 1\n"}]}) as server:
        configs = [{"model": "openai/any", "api_base": server.url}]
        made = entity_of("implement", "implement")(definition="def f(x):\n    ...", configs=configs)
    assert (json.dumps(made.code.split()[-3:]), made.config_index) == ('["x", "+", "1"]', 0)
