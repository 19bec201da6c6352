"""A solution folder that release 0.1.0 saved still imports, runs, loads and saves again.

`saved_by_0_1_0/` is what `AutoCoderAgent.generate()` and `save()` of 0.1.0 wrote for the job of `workflows/demo.py`,
with settings of every kind that its `task.py` imports. The path of the sample was replaced, and what nothing reads back
was left out: `report.html`, `launcher.py` and `validator.py`.
"""

from __future__ import annotations

import csv
import json
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from flytekit.types.file import FlyteFile

from flyteplugins_codegen import CodeGenEvalResult, SandboxTask
from flyteplugins_codegen.flyte.refresh_state import earlier_of, load_result, order_of
from flyteplugins_codegen.packages.resolve import resolve
from flyteplugins_codegen.solution.folder import read_result_json

SAVED = Path(__file__).parent / "saved_by_0_1_0"
SEATTLE = Path(__file__).parents[2] / "workflows" / "data" / "seattle-weather.csv"
RAINY_DAYS = 506


def months_of(monthly: FlyteFile) -> list[dict[str, str]]:
    with Path(monthly).open(newline="") as file:
        return list(csv.DictReader(file))


def with_this_python(task: SandboxTask) -> SandboxTask:
    """The task, its packages locked anew where this is not the Python 3.11 that they were locked for."""
    if sys.version_info[:2] == (3, 11):
        return task
    bundle = task.bundle.model_copy(update={"lock": resolve(("pandas",))})
    return SandboxTask(bundle, options=task.options, cache=task.cache)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAVED, tmp_path / "saved"))


@pytest.fixture
def task(folder: Path) -> SandboxTask:
    return runpy.run_path(str(folder / "task.py"))["rainy_days"]


@pytest.fixture(scope="module")
def result() -> CodeGenEvalResult:
    return CodeGenEvalResult.load(SAVED)


def test_its_task_module_imports_by_the_old_paths(task: SandboxTask) -> None:
    text = (SAVED / "task.py").read_text()
    for module in ("flyte.sandbox_task", "models.pods", "models.resources", "models.settings", "stages.execute"):
        assert f"from flyteplugins_codegen.{module} import " in text
    assert type(task) is SandboxTask
    assert task.options.resources.model_dump(exclude_none=True) == {"cpu": "2", "mem": "2Gi"}
    assert task.options.pod.model_dump() == {
        "runtime_class": "gvisor",
        "labels": {"team": "weather"},
        "tmp_size": "1Gi",
    }
    assert (task.options.timeout_s, task.options.env_vars) == (600.0, {"LANG": "C.UTF-8"})
    assert [(secret.group, secret.key) for secret in task.security_context.secrets] == [("team", "TOKEN")]


def test_its_task_runs(task: SandboxTask) -> None:
    rainy_days, monthly = with_this_python(task)(weather=FlyteFile(str(SEATTLE)))
    assert rainy_days == RAINY_DAYS
    months = months_of(monthly)
    assert len(months) == 48
    assert list(months[0]) == ["month", "mean_temp", "precipitation"]


def test_its_result_loads_and_runs(result: CodeGenEvalResult) -> None:
    assert result.success
    assert result.plan is not None
    assert (len(result.attempt_history), len(result.calls), result.total_input_tokens) == (2, 3, 3075)
    assert result.declared_inputs == {"weather": FlyteFile}
    if sys.version_info[:2] == (3, 11):
        assert result.run(weather=SEATTLE)[0] == RAINY_DAYS


def test_a_refresh_takes_it_as_the_solution_to_hold_data_against(result: CodeGenEvalResult) -> None:
    loaded = load_result(order_of(str(SAVED), "", ""))
    assert loaded.model_dump_json() == result.model_dump_json()
    assert earlier_of(loaded).candidate.tests == result.tests


def test_saved_again_it_says_the_same(result: CodeGenEvalResult, tmp_path: Path) -> None:
    again = result.save(tmp_path / "again")
    left_out = {"report.html", "launcher.py", "validator.py"}
    assert {path.name for path in again.iterdir()} == {path.name for path in SAVED.iterdir()} | left_out
    assert json_of(again) == json_of(SAVED)
    assert list(json_of(again)) == list(json_of(SAVED))
    for name in ("solution.py", "test_solution.py", "requirements.txt", "schemas.json"):
        assert (again / name).read_bytes() == (SAVED / name).read_bytes(), name
    renewed = runpy.run_path(str(again / "task.py"))["rainy_days"]
    kept = runpy.run_path(str(SAVED / "task.py"))["rainy_days"]
    assert renewed.options == kept.options
    assert renewed.bundle == kept.bundle
    assert (
        "from flyteplugins_codegen import ExecutionOptions, PodSettings, Resources" in (again / "task.py").read_text()
    )


def json_of(folder: Path) -> dict[str, Any]:
    return json.loads(read_result_json(folder))
