"""The interpreter that solutions run on, and the tags by which what is built for it is told apart."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

from flyteplugins_codegen.errors import IndexUnavailableError, SettingsError

_START_S = 30.0
_VERSION = re.compile(r"3\.\d{1,2}(\.\d{1,2})?\Z")


def python_version(wanted: str | None = None) -> str:
    """The wanted version, or `major.minor` of the running interpreter. Raises SettingsError for what is no version."""
    version = wanted or f"{sys.version_info.major}.{sys.version_info.minor}"
    if not _VERSION.match(version):
        raise SettingsError(f"python version {version!r} is not possible; write one such as '3.11'")
    return version


def find_python(version: str) -> str:
    """The absolute path of an interpreter of this version: the one below our own environment, else one on PATH.

    Raises IndexUnavailableError when this machine has none, or none that runs.
    """
    if _is_ours(version):
        return running_python()
    found = shutil.which("python" + ".".join(version.split(".")[:2]))
    if found is None or not _runs(found):
        raise IndexUnavailableError(
            f"this machine has no Python {version}, only {sys.version.split()[0]}: "
            "install it, or leave `python_version` of the image out"
        )
    return str(Path(found).absolute())


@cache
def _runs(path: str) -> bool:
    """Whether it is more than a name: pyenv puts one on PATH for every version that it has, chosen or not."""
    try:
        return (
            subprocess.run([path, "-I", "-c", ""], capture_output=True, timeout=_START_S, check=False).returncode == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def running_python() -> str:
    """The absolute path of the interpreter that our own environment is made of."""
    return str(Path(getattr(sys, "_base_executable", None) or sys.executable).absolute())


def platform_tag() -> str:
    """The platform in the words of `sysconfig`, such as `linux-x86_64`."""
    return sysconfig.get_platform()


def build_tags(version: str) -> tuple[str, ...]:
    """What decides which wheels fit, and so names a layer: interpreter, ABI, platform and C library."""
    abi = str(sysconfig.get_config_var("SOABI")) if _is_ours(version) else find_python(version)
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    return (".".join(version.split(".")[:2]), abi, platform_tag(), libc or "")


def _is_ours(version: str) -> bool:
    return version.split(".")[:2] == [str(sys.version_info.major), str(sys.version_info.minor)]
