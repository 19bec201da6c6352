"""The Containerfile and the image name of a solution, as text. Nothing is built here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from packaging.utils import canonicalize_name

from flyteplugins_codegen.errors import SettingsError
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.settings import ImageConfig
from flyteplugins_codegen.packages.system import check_system_name
from flyteplugins_codegen.packages.uv import python_version as checked_version
from flyteplugins_codegen.store import digest

TAG_LENGTH = 16

# Part of every image's name: increment it when the Containerfile changes, so that older images are not reused.
_RECIPE = 3

REQUIREMENTS: Final = "requirements.txt"
SHARED_REQUIREMENTS: Final = "requirements-shared.txt"

# Most solutions need pandas and its dependencies. These get a layer of their own, the first one, so that adding another
# package does not fetch, store and push them again.
_FOUNDATION = "pandas"
_SHARED = frozenset({_FOUNDATION, "numpy", "python-dateutil", "pytz", "six", "tzdata"})
_PIN = re.compile(r"^(?=[A-Za-z0-9])", re.MULTILINE)
_PINNED_NAME = re.compile(r"[A-Za-z0-9._-]+")
_MAX_NAME_LENGTH = 100

# The grammar of image references, github.com/distribution/reference: a path is lower case, a host may have a port.
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9])(?:\.[A-Za-z0-9-]*[A-Za-z0-9])*(?::[0-9]{1,5})?"
_REGISTRY = re.compile(rf"(?:{_HOST}|{_COMPONENT})(?:/{_COMPONENT})*\Z")
_IMAGE = re.compile(
    rf"(?:{_HOST}/)?{_COMPONENT}(?:/{_COMPONENT})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?\Z"
)


def requirement_files(lock: EnvironmentLock) -> dict[str, str]:
    """The texts of the requirement files that a Containerfile copies, by name: all pins, and those of the shared layer.

    Every pin is installed without its dependencies, so dividing them between files does not change what is installed.
    """
    if not lock.requirements.strip():
        return {}
    pins = {_pinned_name(pin): pin for pin in _PIN.split(lock.requirements)}
    shared = "".join(pin for name, pin in pins.items() if name in _SHARED) if _FOUNDATION in pins else ""
    return {REQUIREMENTS: lock.requirements, **({SHARED_REQUIREMENTS: shared} if shared else {})}


def render_containerfile(
    lock: EnvironmentLock,
    python_version: str | None = None,
    base_image: str | None = None,
    launcher_arguments: Sequence[str] = (),
    more_files: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
) -> str:
    """The Containerfile of a solution. Its context has `requirement_files`, `launcher.py` and `solution.py`.

    `more_files` are the names of other files in the context that the launcher needs. What changes least comes first, so
    that a changed solution rebuilds one small layer. The base image, by default `python:<version>-slim`, needs `python`
    with pip, and apt for system packages; a Linux distribution's own Python is enough.

    Raises SettingsError for a base image or version that cannot be one, PackageError for a system package.
    """
    environment = render_environment(lock, python_version, base_image)
    return environment + "\n".join(_solution_steps(launcher_arguments, more_files, labels or {})) + "\n"


def render_environment(lock: EnvironmentLock, python_version: str | None = None, base_image: str | None = None) -> str:
    """The Containerfile without the solution: every layer but the last. Raises as `render_containerfile` does."""
    base = base_image or f"python:{checked_version(python_version or lock.python)}-slim"
    if not _IMAGE.match(base):
        raise SettingsError(f"base image {base!r} is no image reference; write one such as 'python:3.11-slim'")
    system = sorted({check_system_name(name) for name in lock.system_packages})
    steps = [
        f"FROM {base}",
        "ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp",
        "RUN mkdir -p /var/inputs /var/outputs && chown 1000:1000 /var/outputs",
        "WORKDIR /app",
        _system_step(system),
        *_packages_steps(requirement_files(lock)),
    ]
    return "\n".join(step for step in steps if step) + "\n"


def image_name(name: str, lock: EnvironmentLock, code: str, config: ImageConfig) -> str:
    """`[registry/]name:tag`, valid for any agent name. The tag is a digest of everything that goes into the image.

    `code` is the text of all files that are copied in. Raises SettingsError for a registry that cannot be one.
    """
    parts = (_RECIPE, lock.digest, code, config.base_image, config.python_version, config.platform)
    repository = f"{_registry_prefix(config.registry)}{_path_component(name)}"
    return f"{repository}:{digest(*parts)[:TAG_LENGTH]}"


def _system_step(packages: Sequence[str]) -> str:
    if not packages:
        return ""
    return (
        # By default apt only warns of an index that it cannot reach, and then reports every package as unknown.
        "RUN apt-get --option APT::Update::Error-Mode=any update \\\n"
        f" && apt-get install --yes --no-install-recommends {' '.join(packages)} \\\n"
        " && apt-get clean && rm -rf /var/lib/apt/lists/*"
    )


def _packages_steps(files: Mapping[str, str]) -> list[str]:
    """One layer for the shared packages, and one for the others."""
    named = [SHARED_REQUIREMENTS] if SHARED_REQUIREMENTS in files else []
    if files.get(REQUIREMENTS) != files.get(SHARED_REQUIREMENTS):
        named.append(REQUIREMENTS)
    return [_packages_step(name) for name in named]


def _packages_step(file: str) -> str:
    return (
        f"COPY {file} /app/\n"
        # Both are mounted for this step only: the index and its credentials stay out of the image, out of its
        # history, and off every command line.
        "RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=ca,target=/run/secrets/ca \\\n"
        # The Python of a Linux distribution refuses pip (PEP 668); this image contains nothing but the solution.
        "    PIP_BREAK_SYSTEM_PACKAGES=1 \\\n"
        # Bytecode of what `import pandas` loads would make the layer an eighth larger, and save a pod 0.8 s.
        "    python -m pip install --no-cache-dir --no-compile --disable-pip-version-check \\\n"
        "    --root-user-action=ignore \\\n"
        f"    --require-hashes --no-deps --only-binary :all: --requirement /app/{file}"
    )


def _pinned_name(pin: str) -> str:
    name = _PINNED_NAME.match(pin)
    return canonicalize_name(name[0]) if name else ""


def _solution_steps(
    launcher_arguments: Sequence[str], more_files: Sequence[str], labels: Mapping[str, str]
) -> list[str]:
    command = ["python", "/app/launcher.py", *launcher_arguments]
    return [
        *(f"LABEL {name}={json.dumps(value)}" for name, value in labels.items()),
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
    """The agent's name in lower-case letters, digits and single hyphens; `solution` if it has none of these."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:_MAX_NAME_LENGTH].strip("-") or "solution"
