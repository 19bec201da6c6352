"""The solution folder: what a run leaves for a person to review, commit and run without any model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flyteplugins_codegen.environment.containers import (
    REQUIREMENTS,
    SHARED_REQUIREMENTS,
    image_name,
    render_containerfile,
    requirement_files,
)
from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.bundle import SolutionBundle
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.rules import TableSchema
from flyteplugins_codegen.models.settings import ImageConfig, Settings
from flyteplugins_codegen.sandbox import launcher, validator
from flyteplugins_codegen.stages.validate import schemas_text
from flyteplugins_codegen.store import digest, write_atomically

RESULT_FILE = "result.json"


class SolutionFolder(Value):
    """The parts of a folder. `bundle` and `task_module` are None for a failed run: there is nothing to run."""

    code: str
    tests: str | None
    result_json: str
    report_html: str
    bundle: SolutionBundle | None = None
    task_module: str | None = None
    image_config: ImageConfig = ImageConfig()


def write_solution_folder(folder: Path, contents: SolutionFolder) -> Path:
    """Write every file whole, `result.json` last: a folder that has one is complete. Returns the folder.

    Files of an earlier save that this one does not have are removed, so that a folder never mixes two solutions.
    """
    files = _files(contents)
    # First of all: with half of its files changed, the folder is neither the old solution nor the new one.
    (folder / RESULT_FILE).unlink(missing_ok=True)
    for name in _NAMES - set(files):
        (folder / name).unlink(missing_ok=True)
    for name, text in files.items():
        write_atomically(folder / name, text.encode())
        (folder / name).chmod(0o644)
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
        files[REQUIREMENTS] = ""  # `task.py` reads it, be it empty
        files |= image_files(contents.bundle, contents.image_config)
    files["report.html"] = contents.report_html
    files[RESULT_FILE] = contents.result_json
    return files


def image_files(bundle: SolutionBundle, config: ImageConfig) -> dict[str, str]:
    """All that the image of a solution is built from, by name; `Containerfile` is the recipe."""
    return {
        "solution.py": bundle.code,
        "launcher.py": Path(launcher.__file__).read_text(),
        **_checking_files(bundle.schemas),
        **requirement_files(bundle.lock),
        "Containerfile": _containerfile(bundle, config),
    }


def _checking_files(schemas: Mapping[str, TableSchema]) -> dict[str, str]:
    """What the launcher needs to hold files against schemas; nothing where there are none."""
    if not schemas:
        return {}
    return {"validator.py": Path(validator.__file__).read_text(), launcher.SCHEMAS_FILE: schemas_text(schemas)}


def image_of(settings: Settings, lock: EnvironmentLock, code: str, schemas: Mapping[str, TableSchema]) -> str:
    """The content-addressed name of a solution's image, by all that is copied into it."""
    copied = "".join([code, Path(launcher.__file__).read_text(), *_checking_files(schemas).values()])
    return image_name(settings.name, lock, copied, settings.image_config or ImageConfig())


def _containerfile(bundle: SolutionBundle, config: ImageConfig) -> str:
    files = tuple(_checking_files(bundle.schemas))
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
    """What the image says of itself. No time: the same solution is the same image, whenever it is built."""
    repository = bundle.image.rpartition(":")[0].rpartition("/")[2]
    content = digest(bundle.code, bundle.lock.digest, bundle.inputs, bundle.outputs, schemas_text(bundle.schemas))
    return {"org.opencontainers.image.title": repository, "io.flyte.codegen.solution": f"sha256:{content}"}


def read_result_json(folder: Path) -> str:
    """The text of a saved result. Raises RequestError for a folder that holds none."""
    path = folder / RESULT_FILE
    try:
        return path.read_text()
    except OSError as error:
        raise RequestError(f"{path}: no saved result ({error.strerror}); pass a folder that save() wrote") from error
