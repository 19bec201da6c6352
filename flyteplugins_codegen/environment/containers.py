"""The container image of a solution, as text: its Containerfile and its name. Nothing is built in here."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from flyteplugins_codegen.environment.interpreter import python_version as checked_version
from flyteplugins_codegen.environment.packages import check_system_name
from flyteplugins_codegen.errors import SettingsError
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.settings import ImageConfig
from flyteplugins_codegen.store import digest

TAG_LENGTH = 16

# Part of every image's name: raise it when the Containerfile changes, so that no older image is taken for a new one.
_RECIPE = 2
_MAX_NAME_LENGTH = 100

# The grammar of image references, github.com/distribution/reference: a path is lower case, a host may have a port.
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9])(?:\.[A-Za-z0-9-]*[A-Za-z0-9])*(?::[0-9]{1,5})?"
_REGISTRY = re.compile(rf"(?:{_HOST}|{_COMPONENT})(?:/{_COMPONENT})*\Z")
_IMAGE = re.compile(
    rf"(?:{_HOST}/)?{_COMPONENT}(?:/{_COMPONENT})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?\Z"
)


def render_containerfile(
    lock: EnvironmentLock,
    python_version: str | None = None,
    base_image: str | None = None,
    launcher_arguments: Sequence[str] = (),
    more_files: Sequence[str] = (),
) -> str:
    """The Containerfile of a solution; beside it lie `requirements.txt` (the lock's), `launcher.py`, `solution.py`.

    `more_files` are names of further files beside it that the launcher needs.

    What changes least comes first, so that a changed solution rebuilds one small layer.
    The base image, `python:<version>-slim` unless one is given, needs `python` with pip, and apt for system
    packages; a distribution's own Python will do.
    Raises SettingsError for a base image or version that cannot be one, PackageError for a system package.
    """
    base = base_image or f"python:{checked_version(python_version or lock.python)}-slim"
    if not _IMAGE.match(base):
        raise SettingsError(f"base image {base!r} is no image reference; write one such as 'python:3.11-slim'")
    system = sorted({check_system_name(name) for name in lock.system_packages})
    steps = [
        f"FROM {base}",
        _system_step(system),
        _packages_step(lock),
        *_solution_steps(launcher_arguments, more_files),
    ]
    return "\n".join(step for step in steps if step) + "\n"


def image_name(name: str, lock: EnvironmentLock, code: str, config: ImageConfig) -> str:
    """`[registry/]name:tag`, valid for any agent name; the tag is a digest of everything that goes into the image.

    `code` is the text of every file that is copied in. Raises SettingsError for a registry that cannot be one.
    """
    parts = (_RECIPE, lock.digest, code, config.base_image, config.python_version, config.platform)
    repository = f"{_registry_prefix(config.registry)}{_path_component(name)}"
    return f"{repository}:{digest(*parts)[:TAG_LENGTH]}"


def _system_step(packages: Sequence[str]) -> str:
    if not packages:
        return ""
    return (
        "RUN apt-get update \\\n"
        f" && apt-get install --yes --no-install-recommends {' '.join(packages)} \\\n"
        " && rm -rf /var/lib/apt/lists/*"
    )


def _packages_step(lock: EnvironmentLock) -> str:
    if not lock.requirements.strip():
        return ""
    return (
        "COPY requirements.txt /app/requirements.txt\n"
        # A distribution's own Python refuses pip (PEP 668); nothing but the solution lives in this image.
        "RUN PIP_BREAK_SYSTEM_PACKAGES=1 \\\n"
        "    python -m pip install --no-cache-dir --disable-pip-version-check --root-user-action=ignore \\\n"
        "    --require-hashes --no-deps --only-binary :all: --requirement /app/requirements.txt"
    )


def _solution_steps(launcher_arguments: Sequence[str], more_files: Sequence[str]) -> list[str]:
    command = ["python", "/app/launcher.py", *launcher_arguments]
    return [
        "RUN mkdir -p /var/inputs /var/outputs && chown 1000:1000 /var/outputs",
        "ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp",
        "WORKDIR /app",
        f"COPY {' '.join(['launcher.py', *more_files, 'solution.py'])} /app/",
        "USER 1000:1000",
        f"ENTRYPOINT {json.dumps(command)}",
    ]


def _registry_prefix(registry: str | None) -> str:
    if not registry:
        return ""
    trimmed = registry.rstrip("/")
    if not _REGISTRY.match(trimmed):
        raise SettingsError(
            f"registry {registry!r} is not possible; write a host and a lower-case path, such as 'localhost:5000/team'"
        )
    return trimmed + "/"


def _path_component(name: str) -> str:
    """The agent's name in lower-case letters, digits and single hyphens; `solution` where nothing is left of it."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:_MAX_NAME_LENGTH].strip("-") or "solution"
