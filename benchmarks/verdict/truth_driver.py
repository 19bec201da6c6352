"""Runs programs on data, or suites on solutions, as `truth.py` asks on stdin; the answer is JSON on stdout.

One process for all of a job: an interpreter's start would cost more than most programs do.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any


def run_program(code: str, case: dict[str, Any], outputs: Path) -> dict[str, str] | str:
    """The text of each output by its name, or the error."""
    shutil.rmtree(outputs, ignore_errors=True)
    outputs.mkdir(parents=True)
    sys.argv = ["solution.py"]
    for name, value in case.items():
        sys.argv += [f"--{name}", str(value).lower() if isinstance(value, bool) else str(value)]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            exec(  # noqa: S102 - programs of this repository
                compile(code.replace("/var/outputs", str(outputs)), "solution.py", "exec"), {"__name__": "__main__"}
            )
    except SystemExit as error:
        if error.code:
            return f"exit {error.code}"
    except Exception as error:  # noqa: BLE001 - whatever a program raises is its outcome
        return f"{type(error).__name__}: {error}"
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(outputs.iterdir())}


def suite_failure(folder: Path, solution: str, suite: str) -> str:
    """The end of pytest's report, or "" where every test passes. Forks, so that nothing stays of one run."""
    folder.mkdir(parents=True)
    outputs = folder / "outputs"
    empty = (
        "import pathlib, shutil, pytest\n\n\n@pytest.fixture(autouse=True)\ndef empty():\n"
        f"    shutil.rmtree({str(outputs)!r}, ignore_errors=True)\n    pathlib.Path({str(outputs)!r}).mkdir()\n"
    )
    (folder / "conftest.py").write_text(empty, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    for name, code in (("solution.py", solution), ("test_solution.py", suite)):
        (folder / name).write_text(code.replace("/var/outputs", str(outputs)), encoding="utf-8")
    child = os.fork()
    if not child:
        log = os.open(folder / "log", os.O_CREAT | os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        import pytest

        os._exit(pytest.main(["-q", "-x", "--tb=short", "-p", "no:cacheprovider", "test_solution.py"]))
    _, status = os.waitpid(child, 0)
    return (folder / "log").read_text(encoding="utf-8")[-900:] if status else ""


def main() -> None:
    """Do what stdin asks."""
    work = json.load(sys.stdin)
    folder = Path(work["folder"])
    if "programs" in work:
        done = {
            name: [run_program(code, case, folder / "outputs") for case in work["cases"]]
            for name, code in work["programs"].items()
        }
        print(json.dumps(done))
        return
    importlib.import_module("pytest")  # once, for all children
    pairs = [(solution, suite) for solution in work["solutions"] for suite in work["suites"]]
    failures = {
        f"{suite} with {solution}": suite_failure(
            folder / f"{solution}-{suite}", work["solutions"][solution], work["suites"][suite]
        )
        for solution, suite in pairs
    }
    print(json.dumps({pair: report for pair, report in failures.items() if report}))


if __name__ == "__main__":
    main()
