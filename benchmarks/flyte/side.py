"""What runs inside a measured process: one job, timed with all libraries imported. Prints its seconds as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flytekit.types.file import FlyteFile

from benchmarks.flyte.job import OUTPUTS, PROMPT, RECORDING, SEATTLE
from benchmarks.measure import ROOT
from flyteplugins_codegen import AutoCoderAgent
from flyteplugins_codegen.flyte.refresh import refresh
from flyteplugins_codegen.flyte.workflow import generate

_JOB: dict[str, Any] = {"prompt": PROMPT, "samples": {"weather": SEATTLE}, "outputs": OUTPUTS}
_SETTINGS: dict[str, Any] = {"model": f"replay:{RECORDING}", "name": "rainy-days", "cache": "override"}


def by_stages(folder: Path) -> None:
    """The whole run, saved, by the stages called directly."""
    result = AutoCoderAgent(**_SETTINGS).generate(**_JOB)
    assert result.success, result.error
    result.save(folder)


def by_flyte(folder: Path) -> None:
    """The same by the workflow in local execution."""
    assert generate(**_JOB, **_SETTINGS, save_to=str(folder)).result.success


def by_refreshing(folder: Path) -> None:
    """The saved solution held against the same rows in another order, which no cache has."""
    fresh = folder.with_name(f"{os.getpid()}.csv")
    header, *rows = Path(SEATTLE).read_text().splitlines()
    turn = os.getpid() % len(rows)
    fresh.write_text("\n".join([header, *rows[turn:], *rows[:turn], ""]))
    outcome = refresh(solution=str(folder), data={"weather": FlyteFile(str(fresh))})
    assert (outcome.decision, outcome.model_calls, outcome.tokens) == ("kept", 0, 0), outcome


JOBS: dict[str, Callable[[Path], None]] = {"stages": by_stages, "flyte": by_flyte, "refresh": by_refreshing}


def main() -> None:
    """Take the job and the folder of the solution from the command line."""
    os.chdir(ROOT)
    job, folder = JOBS[sys.argv[1]], Path(sys.argv[2])
    began = time.perf_counter()
    job(folder)
    print(json.dumps({"wall_s": time.perf_counter() - began}))


if __name__ == "__main__":
    main()
