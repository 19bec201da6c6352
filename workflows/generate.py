"""Generate tested code from a prompt and sample data, with `pyflyte run`.

    pyflyte run workflows/generate.py generate --prompt "..." --samples '{"weather": "weather.csv"}' \
        --outputs '{"rainy_days": "int", "monthly": "file"}' --model replay:workflows/weather.replay.jsonl

`pyflyte run workflows/generate.py generate --help` explains every option. Each stage runs alone, too, from the state
that the one before it printed:

    pyflyte run workflows/generate.py prepare --agent '{"model": "openai/NAME"}' --prompt "..." \
        --samples '{"weather": "weather.csv"}' --outputs '{"rainy_days": "int"}' | tail -n 1 > state.json
    pyflyte run workflows/generate.py extract_context --state state.json --samples '{"weather": "weather.csv"}'
"""

from __future__ import annotations

import os
import warnings

from flyteplugins_codegen.flyte.loop import advance
from flyteplugins_codegen.flyte.map_tasks import draft_anew, measure_strength, strengthen_tests
from flyteplugins_codegen.flyte.tasks import (
    build_environment,
    build_image,
    extract_context,
    finish,
    infer_schemas,
    register_solution,
    repair,
    run_tests,
    work_as_agent,
    write_solution,
    write_tests,
)
from flyteplugins_codegen.flyte.workflow import generate, generate_with, prepare
from flyteplugins_codegen.telemetry import install_progress

__all__ = [
    "advance",
    "build_environment",
    "build_image",
    "draft_anew",
    "extract_context",
    "finish",
    "generate",
    "generate_with",
    "infer_schemas",
    "measure_strength",
    "prepare",
    "register_solution",
    "repair",
    "run_tests",
    "strengthen_tests",
    "work_as_agent",
    "write_solution",
    "write_tests",
]

# click's remark on the two spellings that flytekit gives to every flag, `--no_x` and `--no-x`.
warnings.filterwarnings("ignore", "The parameter --.* is used more than once", UserWarning)

# Pods log plain lines of their own; this is for whoever watches a local run.
if "FLYTE_INTERNAL_EXECUTION_ID" not in os.environ:
    install_progress()
