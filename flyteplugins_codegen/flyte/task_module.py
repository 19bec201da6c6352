"""The `task.py` of a solution folder: a module that `pyflyte run` and `pyflyte register` take as it is."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping, Sequence

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.bundle import SolutionBundle
from flyteplugins_codegen.models.settings import SecretReference
from flyteplugins_codegen.stages.execute import ExecutionOptions

_TEMPLATE = '''\
"""The solution beside this file as a Flyte task.

    pyflyte run task.py {variable}{options}
    pyflyte register task.py
"""

from pathlib import Path

from flyteplugins_codegen.flyte.sandbox_task import SandboxTask
{imports}
{variable} = SandboxTask.from_folder(
    Path(__file__).parent,
    name={name},
    inputs={inputs},
    outputs={outputs},
    image={image},
    python={python},
{settings})
'''


_MODULES = (
    ("flyteplugins_codegen.models.pods", ("PodSettings",)),
    ("flyteplugins_codegen.models.resources", ("Resources",)),
    ("flyteplugins_codegen.models.settings", ("SecretReference",)),
    ("flyteplugins_codegen.stages.execute", ("ExecutionOptions",)),
)


def render_task_module(
    bundle: SolutionBundle, options: ExecutionOptions, secrets: Sequence[SecretReference] = ()
) -> str:
    """The module's source: the interface in full, the code and its requirements by the files that hold them.

    `options` and `secrets` stand in it as far as they differ from what a task has by itself.
    """
    settings = "".join(
        f"    {name}={_expression(value)},\n"
        for name, value, by_itself in (("options", options, ExecutionOptions()), ("secrets", list(secrets), []))
        if value != by_itself
    )
    return _TEMPLATE.format(
        variable=task_variable(bundle.name),
        options="".join(f" --{name} ..." for name in bundle.inputs),
        imports=_imports(settings),
        name=_expression(bundle.name),
        inputs=_literal(bundle.inputs),
        outputs=_literal(bundle.outputs),
        image=_expression(bundle.image),
        python=_expression(bundle.lock.python),
        settings=settings,
    )


def _imports(source: str) -> str:
    used = ((module, [name for name in names if f"{name}(" in source]) for module, names in _MODULES)
    return "".join(f"from {module} import {', '.join(names)}\n" for module, names in used if names)


def _expression(value: object) -> str:
    """Python source of a value: of texts, numbers, lists, mappings, and models by what differs from their defaults."""
    if isinstance(value, Value):
        changed = value.model_dump(exclude_defaults=True)
        arguments = ", ".join(f"{name}={_expression(getattr(value, name))}" for name in changed)
        return f"{type(value).__name__}({arguments})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_expression(key)}: {_expression(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_expression, value))}]"
    # As `ruff format` has it; ASCII escapes of JSON would split characters beyond 16 bits in two.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def task_variable(name: str) -> str:
    """The name of a task as a Python variable, under which `pyflyte run` finds it: `auto-coder` is `auto_coder`."""
    variable = re.sub(r"\W", "_", name, flags=re.ASCII) or "solution"
    return f"task_{variable}" if keyword.iskeyword(variable) or variable[0].isdigit() else variable


def _literal(declared: Mapping[str, str]) -> str:
    if not declared:
        return "{}"
    lines = "".join(f'        "{name}": "{kind}",\n' for name, kind in declared.items())
    return f"{{\n{lines}    }}"
