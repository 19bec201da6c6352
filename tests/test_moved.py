"""Module paths of version 0.1.0 that users' files, saved folders and serialised functions hold."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import flyteplugins_codegen
from flyteplugins_codegen.moved import MOVED, install, moved_name

PACKAGE = "flyteplugins_codegen"
A_USERS_FILE = """
import flyteplugins_codegen.models.resources
import flyteplugins_codegen.toolkit.run_code as runner
from flyteplugins_codegen.flyte.sandbox_task import SandboxTask
from flyteplugins_codegen.models.pods import PodSettings
from flyteplugins_codegen.stages.execute import ExecutionOptions

import flyteplugins_codegen

assert flyteplugins_codegen.models.resources.Resources is flyteplugins_codegen.Resources
assert SandboxTask is flyteplugins_codegen.SandboxTask
assert PodSettings is flyteplugins_codegen.PodSettings
assert ExecutionOptions is flyteplugins_codegen.ExecutionOptions
assert runner.run_code is flyteplugins_codegen.run_code
"""


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_is_the_module_under_its_new_name(old: str) -> None:
    new = f"{PACKAGE}.{MOVED[old]}"
    module = importlib.import_module(f"{PACKAGE}.{old}")
    assert module is importlib.import_module(new)
    assert module.__name__ == new
    assert module.__spec__ is not None
    assert module.__spec__.name == new
    assert module.__spec__.loader is module.__loader__


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_is_no_path_of_a_module_of_today(old: str) -> None:
    """One that is would never be looked up among those that moved."""
    root = Path(flyteplugins_codegen.__file__).parent
    path = root.joinpath(*old.split("."))
    assert not path.with_suffix(".py").exists()
    assert not (path / "__init__.py").exists()


@pytest.mark.parametrize("old", ["flyte.sandbox_task", "toolkit.run_code", "evaluation.metric.snippets"])
def test_an_old_path_imports_first_of_all_in_a_fresh_process(old: str) -> None:
    program = f"import sys, {PACKAGE}.{old} as module; print(module.__name__, module is sys.modules[module.__name__])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split() == [f"{PACKAGE}.{MOVED[old]}", "True"], done.stderr


def test_a_users_file_with_old_imports_runs(tmp_path: Path) -> None:
    path = tmp_path / "users.py"
    path.write_text(A_USERS_FILE)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_module_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        importlib.import_module(f"{PACKAGE}.flyte.no_such_module")


def test_other_names_stay_and_installing_twice_adds_nothing() -> None:
    assert moved_name(f"{PACKAGE}.models.run") == f"{PACKAGE}.models.run"
    assert moved_name("another.models.pods") == "another.models.pods"
    finders = list(sys.meta_path)
    install()
    assert sys.meta_path == finders
