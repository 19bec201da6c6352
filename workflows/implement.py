"""Implement a function from its definition by models from cheap to strong, with `pyflyte run`.

    pyflyte run workflows/implement.py implement_task --definition "$(cat definition.py)" \
        --configs '[{"model": "openai/gpt-6-luna"}, {"model": "openai/gpt-6.1-sol"}]'

`pyflyte run workflows/implement.py implement_task --help` explains every option.
"""

from __future__ import annotations

from flyteplugins_codegen.flyte.implement import implement_task

__all__ = ["implement_task"]
