"""Implement a function from its definition by models from cheap to strong, with `pyflyte run`.

    pyflyte run workflows/implement.py implement --definition "$(cat definition.py)" \
        --configs '[{"model": "openai/gpt-6-luna"}, {"model": "openai/gpt-6.1-sol"}]'

`pyflyte run workflows/implement.py implement --help` explains every option.
"""

from __future__ import annotations

from flyteplugins_codegen.flyte.cli import with_defaults
from flyteplugins_codegen.flyte.implement import implement_task

implement = with_defaults(implement_task, "implement")
implement_task = implement  # the workflow under its earlier name, which can be launched on a cluster as well

__all__ = ["implement", "implement_task"]
