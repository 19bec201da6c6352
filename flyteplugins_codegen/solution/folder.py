"""The solution folder, for review and for running without a model: its files, `task.py` and the image's recipe."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.data import TableSchema
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import SolutionBundle
from flyteplugins_codegen.models.settings import ImageConfig, SecretReference, Settings
from flyteplugins_codegen.packages.images.containerfile import (
    REQUIREMENTS,
    SHARED_REQUIREMENTS,
    image_name,
    render_containerfile,
    requirement_files,
)
from flyteplugins_codegen.portable import launcher, validator
from flyteplugins_codegen.solution.execute import ExecutionOptions
from flyteplugins_codegen.solution.validate import schemas_text
from flyteplugins_codegen.store import digest, write_file

RESULT_FILE = "result.json"


class SolutionFolder(Value):
    """The contents of a folder. `bundle` and `task_module` are None for a failed run, which has nothing to run."""

    code: str
    tests: str | None
    result_json: str
    report_html: str
    bundle: SolutionBundle | None = None
    task_module: str | None = None
    image_config: ImageConfig = ImageConfig()


def write_solution_folder(folder: Path, contents: SolutionFolder) -> Path:
    """Write every file atomically, `result.json` last: a folder with one is complete. Returns the folder.

    Files of an earlier save that this one does not have are removed, so that a folder never mixes two solutions.
    """
    files = _files(contents)
    # Removed first: while files change, the folder is neither the old solution nor the new one.
    (folder / RESULT_FILE).unlink(missing_ok=True)
    for name in _NAMES - set(files):
        (folder / name).unlink(missing_ok=True)
    for name, text in files.items():
        write_file(folder / name, text.encode(), mode=0o644)
    return folder


_NAMES = {
    "solution.py",
    "test_solution.py",
    "task.py",
    "launcher.py",
    "validator.py",
    launcher.SCHEMAS_FILE,
    REQUIREMENTS,
    SHARED_REQUIREMENTS,
    "Containerfile",
    "report.html",
    RESULT_FILE,
}


def _files(contents: SolutionFolder) -> dict[str, str]:
    files = {"solution.py": contents.code}
    if contents.tests:
        files["test_solution.py"] = contents.tests
    if contents.bundle is not None and contents.task_module is not None:
        files["task.py"] = contents.task_module
        files[REQUIREMENTS] = ""  # `task.py` reads it even where it is empty
        files |= image_files(contents.bundle, contents.image_config)
    files["report.html"] = contents.report_html
    files[RESULT_FILE] = contents.result_json
    return files


def image_files(bundle: SolutionBundle, config: ImageConfig) -> dict[str, str]:
    """The files that a solution's image is built from, by name; `Containerfile` is the recipe."""
    return {
        "solution.py": bundle.code,
        "launcher.py": Path(launcher.__file__).read_text(),
        **_validator_files(bundle.schemas),
        **requirement_files(bundle.lock),
        "Containerfile": _containerfile(bundle, config),
    }


def _validator_files(schemas: Mapping[str, TableSchema]) -> dict[str, str]:
    """The files with which the launcher validates data; none without schemas."""
    if not schemas:
        return {}
    return {"validator.py": Path(validator.__file__).read_text(), launcher.SCHEMAS_FILE: schemas_text(schemas)}


def image_of(settings: Settings, lock: EnvironmentLock, code: str, schemas: Mapping[str, TableSchema]) -> str:
    """The name of a solution's image, with the digest of everything that is copied into it."""
    copied = "".join([code, Path(launcher.__file__).read_text(), *_validator_files(schemas).values()])
    return image_name(settings.name, lock, copied, settings.image_config or ImageConfig())


def _containerfile(bundle: SolutionBundle, config: ImageConfig) -> str:
    files = tuple(_validator_files(bundle.schemas))
    validate = "strict" if files else "off"
    _, _, *arguments = launcher.command_line(bundle.inputs, bundle.outputs, validate=validate)
    return render_containerfile(
        bundle.lock,
        config.python_version,
        config.base_image,
        launcher_arguments=tuple(arguments),
        more_files=files,
        labels=_labels(bundle),
    )


def _labels(bundle: SolutionBundle) -> dict[str, str]:
    """The image's labels. No time: the same solution is the same image, whenever it is built."""
    repository = bundle.image.rpartition(":")[0].rpartition("/")[2]
    content = digest(bundle.code, bundle.lock.digest, bundle.inputs, bundle.outputs, schemas_text(bundle.schemas))
    return {"org.opencontainers.image.title": repository, "io.flyte.codegen.solution": f"sha256:{content}"}


def read_result_json(folder: Path) -> str:
    """The text of a saved result. Raises RequestError for a folder without one."""
    path = folder / RESULT_FILE
    try:
        return path.read_text()
    except OSError as error:
        raise RequestError(f"{path}: no saved result ({error.strerror}); pass a folder that save() wrote") from error


# --- task.py ---

_TEMPLATE = '''\
"""The solution beside this file as a Flyte task.

    pyflyte run task.py {variable}{options}
    pyflyte register task.py

On a cluster it runs each time, for Flyte's cache knows a file by its address, whatever it holds. To reuse outputs for
the same content, call `cached_by_content({variable})` of flyteplugins_codegen in a workflow of yours.
"""

from pathlib import Path

from flyteplugins_codegen import {imports}

{variable} = SandboxTask.from_folder(
    Path(__file__).parent,
    name={name},
    inputs={inputs},
    outputs={outputs},
    image={image},
    python={python},
{settings})
'''


_SETTINGS = ("ExecutionOptions", "PodSettings", "Resources", "SecretReference")


def render_task_module(
    bundle: SolutionBundle, options: ExecutionOptions, secrets: Sequence[SecretReference] = ()
) -> str:
    """The source of `task.py`, which `pyflyte run` and `pyflyte register` accept as it is.

    It contains the interface; code and requirements are read from the files beside it. `options` and `secrets` are
    written as far as they differ from the defaults.
    """
    settings = "".join(
        f"    {name}={_expression(value)},\n"
        for name, value, default in (("options", options, ExecutionOptions()), ("secrets", list(secrets), []))
        if value != default
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
    return ", ".join(sorted(["SandboxTask", *(name for name in _SETTINGS if f"{name}(" in source)]))


def _expression(value: object) -> str:
    """Python source of a text, number, list, mapping, or model with the fields that differ from their defaults."""
    if isinstance(value, Value):
        changed = value.model_dump(exclude_defaults=True)
        arguments = ", ".join(f"{name}={_expression(getattr(value, name))}" for name in changed)
        return f"{type(value).__name__}({arguments})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_expression(key)}: {_expression(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_expression, value))}]"
    # In the style of `ruff format`; JSON's ASCII escapes would split characters beyond 16 bits in two.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def task_variable(name: str) -> str:
    """A task's name as the Python variable under which `pyflyte run` finds it: `auto-coder` becomes `auto_coder`."""
    variable = re.sub(r"\W", "_", name, flags=re.ASCII) or "solution"
    return f"task_{variable}" if keyword.iskeyword(variable) or variable[0].isdigit() else variable


def _literal(declared: Mapping[str, str]) -> str:
    if not declared:
        return "{}"
    lines = "".join(f'        "{name}": "{kind}",\n' for name, kind in declared.items())
    return f"{{\n{lines}    }}"
