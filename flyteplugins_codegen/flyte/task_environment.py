"""The settings that tasks take along from the place where they are registered, as variables of their templates.

A node of a dynamic workflow is compiled in a pod, which has no variable of the machine that registered. It has those of
its own template, and so its nodes get the same ones, at any depth.

What travels: the secret with the key, the pod template, the image of containers, the providers' addresses, the address
of buildkitd, the settings that decide how packages are resolved, and the control plane's address. What stays: the cache
folder and paths of this machine, and every key, password and certificate.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Mapping
from typing import Final

from flytekit.configuration.file import get_config_file
from flytekit.configuration.internal import Platform

from flyteplugins_codegen.errors import SettingsError
from flyteplugins_codegen.llm.registry import address_variables
from flyteplugins_codegen.packages.images.engines import ADDRESS_VARIABLE as BUILDKIT_VARIABLE
from flyteplugins_codegen.packages.uv import INSECURE_VARIABLE, index_settings
from flyteplugins_codegen.sandbox.container.engine import IMAGE_VARIABLE
from flyteplugins_codegen.solution.flytekit import logger

SECRET_VARIABLE: Final = "FLYTE_CODEGEN_SECRET"  # noqa: S105 - the name of a variable
TEMPLATE_VARIABLE: Final = "FLYTE_CODEGEN_POD_TEMPLATE"

# The values of these name a package index, a file of settings or a socket; they may do so by a path of this machine.
_PLACES: Final = frozenset(
    {
        "UV_CONFIG_FILE",
        "UV_CONSTRAINT",
        "UV_DEFAULT_INDEX",
        "UV_EXTRA_INDEX_URL",
        "UV_FIND_LINKS",
        "UV_INDEX",
        "UV_INDEX_URL",
        "UV_OVERRIDE",
        BUILDKIT_VARIABLE,
    }
)
_LOCAL = re.compile(r"(?:[\w-]+=)?(?:(?:file|unix|docker-container|podman-container)://|(?!\S*://))")
_CREDENTIALS = re.compile(r"://[^/\s@]+@")
_POD_VARIABLE: Final = "FLYTE_INTERNAL_EXECUTION_ID"
_PLATFORM: Final = (Platform.URL, Platform.INSECURE, Platform.INSECURE_SKIP_VERIFY, Platform.CONSOLE_ENDPOINT)


def task_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables for a task's template, read from `environ`, by default this process's own.

    Raises SettingsError for a value that holds a user or a password, because a template can be read by everybody who
    can read the task. In a pod such a value is left out: it came from the cluster, which gives it to every pod.
    """
    environ = os.environ if environ is None else environ
    found = dict(_settings(environ))
    exposed = sorted(name for name, value in found.items() if _CREDENTIALS.search(value))
    if exposed and _POD_VARIABLE not in environ:
        raise SettingsError(
            f"{', '.join(exposed)}: the address holds a user or a password, and would be readable in the registered "
            "task. Register with the address alone, and give the login to the pods: in the runner image (a netrc file) "
            f"or by {TEMPLATE_VARIABLE}=NAME of a PodTemplate with a variable from a Kubernetes secret"
        )
    local = sorted(name for name, value in found.items() if name in _PLACES and _is_local(value))
    if local and _POD_VARIABLE not in environ:
        _warn_of_local(tuple(local))
    return {name: value for name, value in found.items() if name not in {*exposed, *local}}


def _settings(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    names = (SECRET_VARIABLE, TEMPLATE_VARIABLE, IMAGE_VARIABLE, BUILDKIT_VARIABLE, INSECURE_VARIABLE)
    for name in (*names, *address_variables()):
        if environ.get(name):
            yield name, environ[name]
    yield from index_settings(environ).items()
    file = get_config_file(None)  # of `pyflyte --config`, FLYTECTL_CONFIG or the home folder
    for entry in _PLATFORM:
        value = entry.read(file)
        if value:
            yield entry.legacy.get_env_name(), str(value)


def _is_local(value: str) -> bool:
    """Whether one of the places is a path or a socket of this machine."""
    return any(_LOCAL.match(place) for place in re.split(r"[\s,]+", value.strip()))


@functools.cache  # once in a process: each task is asked for its variables
def _warn_of_local(names: tuple[str, ...]) -> None:
    logger.warning(
        "%s: a path of this machine, which pods do not have; put the file into the runner image, and set the variable "
        "there",
        ", ".join(names),
    )
