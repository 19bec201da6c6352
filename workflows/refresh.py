r"""Hold a solution against fresh data, and renew it only where it must be, with `pyflyte run`.

    pyflyte run workflows/refresh.py refresh --solution demo/rainy-days \
        --data '{"weather": "workflows/data/seattle-weather.csv"}'

`pyflyte run workflows/refresh.py refresh --help` explains every option; `workflows/schedules.py` has it run by itself.
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

# Pods log plain lines of their own; this is for whoever watches a local run.
if "FLYTE_INTERNAL_EXECUTION_ID" not in os.environ:
    install_progress()
