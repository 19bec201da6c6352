"""Finding the interpreter of a Python version: it must be on this machine and start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flyteplugins_codegen.errors import IndexUnavailableError
from flyteplugins_codegen.packages.uv import find_python


@pytest.mark.parametrize(("script", "runs"), [("exit 0", True), ("echo not chosen; exit 127", False)])
def test_an_interpreter_on_the_path_is_one_that_runs(
    *, script: str, runs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = f"3.{sys.version_info.minor + 1}"
    python = tmp_path / f"python{version}"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    if runs:
        assert find_python(version) == str(python)
    else:
        with pytest.raises(IndexUnavailableError, match=f"this machine has no Python {version}"):
            find_python(version)
