"""`create_virtual_env` of AutoGen 0.2, made with uv in a tenth of the time that `venv` takes, with packages."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.autogen.arguments import read_folder, require_texts
from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.packages.names import requirements_of
from flyteplugins_codegen.packages.resolve import explain_failure
from flyteplugins_codegen.packages.uv import python_version, run_uv, running_python, unavailable
from flyteplugins_codegen.store import digest
from flyteplugins_codegen.sync import Threaded

_OPTIONS: Final = {"system_site_packages": "--system-site-packages", "clear": "--clear", "with_pip": "--seed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualEnvironment:
    """A virtual environment, with the attributes of `venv.EnvBuilder`'s context: `env_exe` is its interpreter."""

    env_dir: str
    env_name: str
    prompt: str
    executable: str
    python_dir: str
    python_exe: str
    inc_path: str
    lib_path: str
    bin_path: str
    bin_name: str
    env_exe: str
    env_exec_cmd: str

    def installed(self) -> InstalledEnvironment:
        """The environment as the `environment` argument of `run_code` and `CommandLineExecutor`."""
        return InstalledEnvironment(
            python=self.executable, site_packages=(self.lib_path,), digest=digest(self.env_dir, self.executable)
        )


@Threaded
def create_virtual_env(dir_path: str | Path, *, packages: Sequence[str] = (), **env_args: Any) -> VirtualEnvironment:
    """Make a virtual environment in `dir_path`, with these packages; `.aio` awaits it. An existing one is used again.

    `env_args` are those of `venv.EnvBuilder`: `system_site_packages`, `clear`, `with_pip` (True if there are no others,
    as in AutoGen) and `prompt`; `symlinks` has no effect, because uv always links. Packages are checked by the policy,
    and installed from wheels only, so that none of their code runs. If they cannot be installed, a folder that did not
    exist before is removed.

    Raises:
        ArgumentTypeError: `dir_path` is no path, `packages` no list of requirements, or an option no bool.
        RequestError: an option is unknown, or `dir_path` is a file.
        PackageError: a package is refused, unknown, has no wheel, or conflicts.
        IndexUnavailableError: the index, the disk or uv failed.
    """
    folder = read_folder(dir_path, "dir_path")
    listed = require_texts("packages", packages, "pass a list of requirements, such as ['pandas>=2.2']")
    requirements = requirements_of((), listed)
    options = _read_options(env_args or {"with_pip": True})
    was_there = folder.exists()
    try:
        _make(folder, options)
        if requirements:
            _install(folder, requirements)
    except BaseException:
        if not was_there:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return _describe(folder, str(env_args.get("prompt") or folder.name))


def _read_options(env_args: dict[str, Any]) -> list[str]:
    known = {**_OPTIONS, "prompt": "--prompt", "symlinks": ""}
    unknown = sorted(set(env_args) - set(known))
    if unknown:
        raise RequestError(f"create_virtual_env has no option {unknown[0]!r}; it has {', '.join(sorted(known))}")
    for name, value in env_args.items():
        types = (str, type(None)) if name == "prompt" else (bool,)
        if not isinstance(value, types):
            raise ArgumentTypeError(f"create_virtual_env: {name} is {value!r:.100}; pass a {types[0].__name__}")
    prompt = env_args.get("prompt")
    options = [option for name, option in _OPTIONS.items() if env_args.get(name)]
    return [*options, *([f"--prompt={prompt}"] if prompt else [])]


def _make(folder: Path, options: Sequence[str]) -> None:
    existing = [] if "--clear" in options else ["--allow-existing"]
    done = run_uv(["venv", *existing, *options, f"--python={running_python()}", "--no-project", str(folder)], "")
    if done.returncode != 0:
        raise unavailable(f"making a virtual environment in {folder}", done.stderr)


def _install(folder: Path, requirements: Sequence[str]) -> None:
    target = f"--python={folder / 'bin' / 'python'}"
    done = run_uv(["pip", "install", "--only-binary=:all:", target, "--requirements=-"], "\n".join(requirements) + "\n")
    if done.returncode != 0:
        raise explain_failure(done.stderr, requirements)


def _describe(folder: Path, prompt: str) -> VirtualEnvironment:
    python = Path(running_python())
    version = ".".join(python_version().split(".")[:2])
    return VirtualEnvironment(
        env_dir=str(folder),
        env_name=folder.name,
        prompt=f"({prompt}) ",
        executable=str(python),
        python_dir=str(python.parent),
        python_exe=python.name,
        inc_path=str(folder / "include" / f"python{version}"),
        lib_path=str(folder / "lib" / f"python{version}" / "site-packages"),
        bin_path=str(folder / "bin"),
        bin_name="bin",
        env_exe=str(folder / "bin" / "python"),
        env_exec_cmd=str(folder / "bin" / "python"),
    )
