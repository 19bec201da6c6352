"""The two programs that environments are made with: uv, and the Python interpreter that they are for."""

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

from flyteplugins_codegen.errors import IndexUnavailableError, MissingProgramError, SettingsError
from flyteplugins_codegen.store import cache_dir

TIMEOUT_S = 900.0
_START_S = 30.0
_VERSION = re.compile(r"3\.\d{1,2}(\.\d{1,2})?\Z")

# The settings of uv that the user may make: where the index is, how it is reached, and which releases may be taken
# from it. All others (a link mode, a project, a target) would change the result, and are removed.
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
INSECURE_VARIABLE = "UV_INSECURE_HOST"
"""The environment variable with the hosts of indexes whose certificates uv does not check."""
_HOW = (
    "UV_CACHE_DIR",
    "UV_CREDENTIALS_DIR",
    INSECURE_VARIABLE,
    "UV_KEYRING_PROVIDER",
    "UV_NATIVE_TLS",
    "UV_OFFLINE",
    "UV_REQUEST_TIMEOUT",
    "UV_SYSTEM_CERTS",
)
_HOW_PREFIXES = ("UV_CONCURRENT_", "UV_HTTP_", "UV_INDEX_")
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")


def index_settings(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The settings that decide the result of a resolution; pip's index is used where none is set for uv."""
    environ = os.environ if environ is None else environ
    chosen = {name: environ[name] for name in _WHERE if environ.get(name)}
    if "UV_DEFAULT_INDEX" not in chosen and "UV_INDEX_URL" not in chosen and environ.get("PIP_INDEX_URL"):
        chosen["UV_DEFAULT_INDEX"] = environ["PIP_INDEX_URL"]
    return chosen


def run_uv(arguments: Sequence[str], requirements: str) -> subprocess.CompletedProcess[str]:
    """Run `uv` with the requirements on its standard input and without colours; uv retries network failures itself.

    Raises IndexUnavailableError when uv is missing, cannot be started, or takes longer than 15 minutes.
    """
    command = [uv_binary(), *arguments, "--color=never", "--no-progress", "--no-python-downloads"]
    try:
        # In `/`, because uv reads the settings of a project that it is started in.
        return subprocess.run(
            command,
            input=requirements,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            cwd="/",
            env=_uv_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise IndexUnavailableError(
            f"uv did not end within {TIMEOUT_S:.0f} s; check the network and the disk"
        ) from error
    except OSError as error:
        raise IndexUnavailableError(f"uv could not be started: {error}; reinstall it with `pip install uv`") from error


def uv_binary() -> str:
    """The path of `uv`, from its wheel or else from PATH. Raises MissingProgramError when there is none."""
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError) as error:
        path = shutil.which("uv")
        if path is None:
            raise MissingProgramError("uv is not installed: run `pip install uv`") from error
        return path


def unavailable(act: str, stderr: str) -> IndexUnavailableError:
    """The error for a failure of the machine. It has uv's own output, without credentials, at most 1,500 characters."""
    output = _CREDENTIALS.sub("", stderr.strip())[-1500:]
    return IndexUnavailableError(
        f"{act} failed, and not by fault of the packages: {output}\n"
        "Check that the package index is reachable and that the disk has room."
    )


def _uv_environment() -> dict[str, str]:
    """The environment variables for uv: ours without Python's own and without settings that change the result."""
    kept = {name: value for name, value in os.environ.items() if _is_kept(name)}
    # Unless the user chose a cache folder, one of our own: layers are then hard links on one file system, share no
    # inode with other environments of the user, and can be made read-only without affecting those.
    return {"UV_CACHE_DIR": str(cache_dir() / "uv"), **kept, **index_settings()}


def _is_kept(name: str) -> bool:
    if name.startswith("UV_"):
        return name in _HOW or name.startswith(_HOW_PREFIXES)
    return not name.startswith(("PYTHON", "PYC_")) and name not in {"VIRTUAL_ENV", "CONDA_PREFIX"}


def python_version(wanted: str | None = None) -> str:
    """The wanted version, by default `major.minor` of the running interpreter. Raises SettingsError if it is none."""
    version = wanted or f"{sys.version_info.major}.{sys.version_info.minor}"
    if not _VERSION.match(version):
        raise SettingsError(f"python version {version!r} is not possible; write one such as '3.11'")
    return version


def find_python(version: str) -> str:
    """The absolute path of an interpreter of this version: the base interpreter of our own environment, or one on PATH.

    Raises MissingProgramError when this machine has none, or none that runs.
    """
    if _is_ours(version):
        return running_python()
    path = shutil.which("python" + ".".join(version.split(".")[:2]))
    if path is None or not _runs(path):
        raise MissingProgramError(
            f"this machine has no Python {version}, only {sys.version.split()[0]}: "
            "install it, or leave `python_version` of the image out"
        )
    return str(Path(path).absolute())


@cache
def _runs(path: str) -> bool:
    """Whether the interpreter starts: pyenv puts one on PATH for every version it has, also for those not chosen."""
    try:
        return (
            subprocess.run([path, "-I", "-c", ""], capture_output=True, timeout=_START_S, check=False).returncode == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def running_python() -> str:
    """The absolute path of the base interpreter of our own environment."""
    return str(Path(getattr(sys, "_base_executable", None) or sys.executable).absolute())


def platform_tag() -> str:
    """The platform as `sysconfig` names it, such as `linux-x86_64`."""
    return sysconfig.get_platform()


def build_tags(version: str) -> tuple[str, ...]:
    """What decides which wheels fit, and is part of a layer's name: interpreter, ABI, platform and C library."""
    abi = str(sysconfig.get_config_var("SOABI")) if _is_ours(version) else find_python(version)
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    return (".".join(version.split(".")[:2]), abi, platform_tag(), libc or "")


def _is_ours(version: str) -> bool:
    return version.split(".")[:2] == [str(sys.version_info.major), str(sys.version_info.minor)]
