"""Causes of a failure that are certain: what is missing is named by the failure itself, and no model is asked."""

from __future__ import annotations

import re

from packaging.utils import canonicalize_name

from flyteplugins_codegen.environment.packages import distribution_for, is_shared_name
from flyteplugins_codegen.environment.system_needs import system_packages_for
from flyteplugins_codegen.models.run import Attempt

# pandas and others ask for an engine in these words, by an ImportError that names no module.
_OPTIONAL_DEPENDENCY = re.compile(r"Missing optional dependency '([A-Za-z0-9_.\-]+)'")
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==", re.MULTILINE)


def missing_packages(attempt: Attempt) -> tuple[str, ...]:
    """The distributions whose absence explains a failure, where they are not installed already."""
    causes = attempt.report.causes if attempt.report else ()
    modules = [cause.subject for cause in causes if cause.kind == "missing_module" and cause.is_certain]
    for cause in causes:
        modules += _OPTIONAL_DEPENDENCY.findall(cause.message)
    wanted = {distribution_for(module) for module in modules if _is_told(module)}
    return tuple(sorted(wanted - _installed(attempt)))


def _is_told(module: str) -> bool:
    """Of `google.protobuf` Python says at first that `google` is missing, which is somebody else's distribution."""
    return bool(module) and module != "solution" and not is_shared_name(module)


def needed_system_packages(attempt: Attempt) -> tuple[str, ...]:
    """The Debian packages of the libraries and commands that were missing when the attempt ran."""
    causes = attempt.report.causes if attempt.report else ()
    return tuple(sorted({package for cause in causes for package in system_packages_for(cause.message)}))


def _installed(attempt: Attempt) -> set[str]:
    """The names of all distributions that the attempt ran with, those that came with others included."""
    if attempt.environment is None:
        return set()
    return {canonicalize_name(name) for name in _PINNED.findall(attempt.environment.requirements)}
