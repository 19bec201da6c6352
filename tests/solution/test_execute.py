"""What is kept of a finished solution's runs, and when it may stand for a new one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flyteplugins_codegen.errors import SolutionFailedError
from flyteplugins_codegen.models.job import SolutionBundle
from flyteplugins_codegen.packages.resolve import resolve
from flyteplugins_codegen.solution.execute import ExecutionOptions, execute_remembered
from flyteplugins_codegen.store import cache_dir

UNISOLATED = ExecutionOptions(sandbox="none")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that no input names: what the script makes of it is not part of any key."""
    path = tmp_path / "outside.txt"
    path.write_text("1")
    return path


def reader_of(path: Path) -> SolutionBundle:
    code = (
        "import os, sys\n"
        f"told = open({str(path)!r}).read() if os.path.exists({str(path)!r}) else '0'\n"
        "if told == 'broken':\n    sys.exit('the script is broken')\n"
        "open(os.environ.get('FLYTE_CODEGEN_OUTPUTS', '/var/outputs') + '/seen', 'w').write(told)\n"
    )
    return SolutionBundle(name="reader", code=code, lock=resolve(()), inputs={}, outputs={"seen": "int"}, image="x:1")


def seen(bundle: SolutionBundle, cache: Any, options: ExecutionOptions = UNISOLATED) -> int:
    return int(execute_remembered(bundle, {}, options, cache)["seen"])


def test_an_override_replaces_what_is_kept_and_leaves_nothing_beside_it(outside: Path) -> None:
    bundle = reader_of(outside)
    assert seen(bundle, "override") == 1
    outside.write_text("2")
    assert seen(bundle, "auto") == 1
    before = sorted((cache_dir() / "outputs").rglob("*"))
    assert seen(bundle, "override") == 2
    assert sorted((cache_dir() / "outputs").rglob("*")) == before
    outside.write_text("3")
    assert seen(bundle, "auto") == 2


def test_an_override_that_fails_leaves_what_is_kept(outside: Path) -> None:
    bundle = reader_of(outside)
    assert seen(bundle, "auto") == 1
    outside.write_text("broken")
    with pytest.raises(SolutionFailedError, match="the script is broken"):
        seen(bundle, "override")
    assert seen(bundle, "auto") == 1


def test_what_a_script_made_outside_of_a_sandbox_is_not_taken_for_what_it_makes_inside(outside: Path) -> None:
    bundle = reader_of(outside)
    assert seen(bundle, "auto") == 1
    assert seen(bundle, "auto", ExecutionOptions(sandbox="bubblewrap")) == 0
