"""Calling uv: the binary, its surroundings, and what a failure of it means when the candidate is not to blame."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from flyteplugins_codegen.errors import IndexUnavailableError, SettingsError
from flyteplugins_codegen.store import cache_dir

TIMEOUT_S = 900.0

# What the user may say to uv: where the index is, how it is reached, and which releases may be taken from it.
# All other settings (a link mode, a project, a target) would change what we ask for, and are left out.
_WHERE = (
    "UV_CONFIG_FILE",
    "UV_CONSTRAINT",
    "UV_DEFAULT_INDEX",
    "UV_EXCLUDE_NEWER",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_INDEX",
    "UV_INDEX_STRATEGY",
    "UV_INDEX_URL",
    "UV_OVERRIDE",
    "UV_PRERELEASE",
    "UV_RESOLUTION",
)
_HOW = (
    "UV_CACHE_DIR",
    "UV_CREDENTIALS_DIR",
    "UV_INSECURE_HOST",
    "UV_KEYRING_PROVIDER",
    "UV_NATIVE_TLS",
    "UV_OFFLINE",
    "UV_REQUEST_TIMEOUT",
    "UV_SYSTEM_CERTS",
)
_HOW_PREFIXES = ("UV_CONCURRENT_", "UV_HTTP_", "UV_INDEX_")
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")


def index_settings(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The settings that decide what a resolution finds; pip's index address stands in where uv is given none."""
    given = os.environ if environ is None else environ
    chosen = {name: given[name] for name in _WHERE if given.get(name)}
    if "UV_DEFAULT_INDEX" not in chosen and "UV_INDEX_URL" not in chosen and given.get("PIP_INDEX_URL"):
        chosen["UV_DEFAULT_INDEX"] = given["PIP_INDEX_URL"]
    return chosen


def run_uv(arguments: Sequence[str], requirements: str) -> subprocess.CompletedProcess[str]:
    """Run `uv`, requirements on its standard input; neutral folder, colourless text, retries for network trouble.

    Raises IndexUnavailableError when uv is missing, cannot be started, or takes longer than 15 minutes.
    """
    command = [uv_binary(), *arguments, "--color=never", "--no-progress", "--no-python-downloads"]
    try:
        # A neutral folder: uv would read the settings of a project that it is started in.
        return subprocess.run(
            command,
            input=requirements,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            cwd="/",
            env=_surroundings(),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise IndexUnavailableError(
            f"uv did not end within {TIMEOUT_S:.0f} s; check the network and the disk"
        ) from error
    except OSError as error:
        raise IndexUnavailableError(f"uv could not be started: {error}; reinstall it with `pip install uv`") from error


def uv_binary() -> str:
    """The `uv` of the wheel, else of PATH. Raises IndexUnavailableError when there is none."""
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError) as error:
        found = shutil.which("uv")
        if found is None:
            raise IndexUnavailableError("uv is not installed: run `pip install uv`") from error
        return found


def unavailable(act: str, stderr: str) -> IndexUnavailableError:
    """The error for a failure of the machine; uv's own words, without credentials, at most 1,500 characters."""
    said = _CREDENTIALS.sub("", stderr.strip())[-1500:]
    return IndexUnavailableError(
        f"{act} failed, and not by fault of the packages: {said}\n"
        "Check that the package index is reachable and that the disk has room."
    )


def _surroundings() -> dict[str, str]:
    """The environment of uv: ours without Python's own variables and without settings that change what is asked."""
    kept = {name: value for name, value in os.environ.items() if _is_kept(name)}
    # Without a cache folder of the user's choice: ours, so that layers are hard links on one file system, share no
    # inode with any other environment of the user, and can be made read-only without reaching further.
    return {"UV_CACHE_DIR": str(cache_dir() / "uv"), **kept, **index_settings()}


def _is_kept(name: str) -> bool:
    if name.startswith("UV_"):
        return name in _HOW or name.startswith(_HOW_PREFIXES)
    return not name.startswith(("PYTHON", "PYC_")) and name not in {"VIRTUAL_ENV", "CONDA_PREFIX"}


# The interpreter that solutions run on, and the tags by which what is built for it is told apart.

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
