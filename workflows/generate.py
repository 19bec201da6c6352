"""Generate tested code from a prompt and sample data, with `pyflyte run`.

    pyflyte run workflows/generate.py generate --prompt "..." --samples '{"weather": "weather.csv"}' \
        --outputs '{"rainy_days": "int", "monthly": "file"}' --model replay:workflows/weather.replay.jsonl

`pyflyte run workflows/generate.py generate --help` explains every option. Each stage can be run on its own, from the
state that the previous stage printed:

    pyflyte run workflows/generate.py prepare --agent '{"model": "openai/NAME"}' --prompt "..." \
        --samples '{"weather": "weather.csv"}' --outputs '{"rainy_days": "int"}' | tail -n 1 > state.json
    pyflyte run workflows/generate.py extract_context --state state.json --samples '{"weather": "weather.csv"}'
"""

from __future__ import annotations

import os
import warnings

from flyteplugins_codegen.flyte import map_tasks, tasks, workflow
from flyteplugins_codegen.flyte.cli import with_defaults
from flyteplugins_codegen.flyte.loop import run_tests_and_advance
from flyteplugins_codegen.flyte.map_tasks import measure_strength
from flyteplugins_codegen.flyte.tasks import (
    build_environment,
    build_first_environment,
    extract_context,
    infer_schemas,
    run_tests,
    write_solution,
    write_tests,
)
from flyteplugins_codegen.flyte.workflow import generate, generate_with
from flyteplugins_codegen.telemetry import install_progress

# With optional inputs: as workflows, which a cluster launches with their defaults.
build_image = with_defaults(tasks.build_image)
draft_anew = with_defaults(map_tasks.draft_anew)
finish = with_defaults(tasks.finish)
prepare = with_defaults(workflow.prepare)
register_solution = with_defaults(tasks.register_solution)
repair = with_defaults(tasks.repair)
strengthen_tests = with_defaults(map_tasks.strengthen_tests)
work_as_agent = with_defaults(tasks.work_as_agent)

__all__ = [
    "build_environment",
    "build_first_environment",
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
    "run_tests_and_advance",
    "strengthen_tests",
    "work_as_agent",
    "write_solution",
    "write_tests",
]

# click warns because flytekit gives every flag two spellings, `--no_x` and `--no-x`.
warnings.filterwarnings("ignore", "The parameter --.* is used more than once", UserWarning)

# Only for local runs: pods log plain lines.
if "FLYTE_INTERNAL_EXECUTION_ID" not in os.environ:
    install_progress()
