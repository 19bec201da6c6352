"""The `task.py` of a solution folder: a module that `pyflyte run` and `pyflyte register` take as it is."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping

from flyteplugins_codegen.models.bundle import SolutionBundle

_TEMPLATE = '''\
"""The solution beside this file as a Flyte task.

    pyflyte run task.py {variable}{options}
    pyflyte register task.py
"""

from pathlib import Path

from flyteplugins_codegen.flyte.sandbox_task import SandboxTask

{variable} = SandboxTask.from_folder(
    Path(__file__).parent,
    name={name},
    inputs={inputs},
    outputs={outputs},
    image={image},
    python={python},
)
'''


def render_task_module(bundle: SolutionBundle) -> str:
    """The module's source: the interface in full, the code and its requirements by the files that hold them."""
    return _TEMPLATE.format(
        variable=task_variable(bundle.name),
        options="".join(f" --{name} ..." for name in bundle.inputs),
        name=json.dumps(bundle.name),
        inputs=_literal(bundle.inputs),
        outputs=_literal(bundle.outputs),
        image=json.dumps(bundle.image),
        python=json.dumps(bundle.lock.python),
    )


def task_variable(name: str) -> str:
    """The name of a task as a Python variable, under which `pyflyte run` finds it: `auto-coder` is `auto_coder`."""
    variable = re.sub(r"\W", "_", name, flags=re.ASCII) or "solution"
    return f"task_{variable}" if keyword.iskeyword(variable) or variable[0].isdigit() else variable


def _literal(declared: Mapping[str, str]) -> str:
    if not declared:
        return "{}"
    lines = "".join(f'        "{name}": "{kind}",\n' for name, kind in declared.items())
    return f"{{\n{lines}    }}"
