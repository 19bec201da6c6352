"""Generate tested code from a prompt and sample data, with `pyflyte run`.

    pyflyte run workflows/generate.py generate --prompt "..." --samples '{"weather": "weather.csv"}' \
        --outputs '{"rainy_days": "int", "monthly": "file"}' --model replay:workflows/weather.replay.jsonl

`pyflyte run workflows/generate.py generate --help` explains every option.
"""

from __future__ import annotations

import os
import warnings

from flyteplugins_codegen.flyte.imaging import build_image
from flyteplugins_codegen.flyte.loop import advance, begin, take_stages
from flyteplugins_codegen.flyte.preparing import configure, prepare
from flyteplugins_codegen.flyte.registering import register_solution
from flyteplugins_codegen.flyte.tasks import (
    build_environment,
    extract_context,
    finish,
    infer_schemas,
    repair,
    run_tests,
    write_solution,
    write_tests,
)
from flyteplugins_codegen.flyte.workflow import generate, generate_with
from flyteplugins_codegen.terminal import install_progress

__all__ = [
    "advance",
    "begin",
    "build_environment",
    "build_image",
    "configure",
    "extract_context",
    "finish",
    "generate",
    "generate_with",
    "infer_schemas",
    "prepare",
    "register_solution",
    "repair",
    "run_tests",
    "take_stages",
    "write_solution",
    "write_tests",
]

# click's remark on the two spellings that flytekit gives to every flag, `--no_x` and `--no-x`.
warnings.filterwarnings("ignore", "The parameter --.* is used more than once", UserWarning)

# Pods log plain lines of their own; this is for whoever watches a local run.
if "FLYTE_INTERNAL_EXECUTION_ID" not in os.environ:
    install_progress()
