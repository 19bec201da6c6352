r"""Check a solution against fresh data, and renew it only where needed, with `pyflyte run`.

    pyflyte run workflows/refresh.py refresh --solution demo/rainy-days \
        --data '{"weather": "workflows/data/seattle-weather.csv"}'

`pyflyte run workflows/refresh.py refresh --help` explains every option; `workflows/schedules.py` runs it on a schedule.
"""

from __future__ import annotations

import os

from flyteplugins_codegen.flyte.refresh import (
    conclude,
    describe_change,
    examine_data,
    refresh,
    renew_solution,
    replace_solution,
    settle,
    take_steps,
)
from flyteplugins_codegen.telemetry import install_progress

__all__ = [
    "conclude",
    "describe_change",
    "examine_data",
    "refresh",
    "renew_solution",
    "replace_solution",
    "settle",
    "take_steps",
]

# Only for local runs: pods log plain lines.
if "FLYTE_INTERNAL_EXECUTION_ID" not in os.environ:
    install_progress()
