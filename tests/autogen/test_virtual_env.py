"""Virtual environments, made and described as AutoGen does."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from flyteplugins_codegen import create_virtual_env, run_code
from flyteplugins_codegen.errors import ArgumentTypeError, IndexUnavailableError, PackageError, RequestError


def python_of(environment, code: str) -> str:
    done = subprocess.run([environment.env_exe, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_an_environment_is_told_as_the_context_of_venv(tmp_path: Path) -> None:
    environment = create_virtual_env(tmp_path / "env")
    prefix, base, site = python_of(
        environment, "import sys, sysconfig; print(sys.prefix, sys.base_prefix, sysconfig.get_path('purelib'))"
    ).split()
    assert (environment.env_dir, environment.lib_path) == (prefix, site)
    assert Path(environment.executable).is_relative_to(base)
    assert (environment.env_name, environment.prompt, environment.bin_name) == ("env", "(env) ", "bin")
    assert Path(environment.bin_path, "activate").is_file()
    assert python_of(environment, "import pip; print('pip')") == "pip\n"
    assert Path(environment.python_dir, environment.python_exe) == Path(environment.executable)


def test_packages_are_installed_and_serve_the_sandbox_too(tmp_path: Path) -> None:
    environment = create_virtual_env(tmp_path / "env", packages=["six==1.17.0"], with_pip=False)
    code = "import six; print(six.__version__)"
    assert python_of(environment, code) == "1.17.0\n"
    assert run_code(code, environment=environment.installed()).logs == "1.17.0\n"


async def test_two_are_made_at_once_without_blocking(tmp_path: Path) -> None:
    made = await asyncio.gather(*(create_virtual_env.aio(tmp_path / name) for name in "ab"))
    assert [environment.env_name for environment in made] == ["a", "b"]


def test_the_options_of_venv_hold(tmp_path: Path) -> None:
    options = {"with_pip": True, "system_site_packages": True, "prompt": "mine", "symlinks": True}
    environment = create_virtual_env(tmp_path, **options)
    assert environment.prompt == "(mine) "
    assert python_of(environment, "import pip; print(1)") == "1\n"
    settings = (tmp_path / "pyvenv.cfg").read_text()
    assert "include-system-site-packages = true" in settings
    (tmp_path / "mine").write_text("")
    create_virtual_env(tmp_path)
    assert (tmp_path / "mine").exists()
    create_virtual_env(tmp_path, clear=True)
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"dir_path": 5}, ArgumentTypeError, "dir_path is int"),
        ({"dir_path": ""}, RequestError, "is no path"),
        ({"dir_path": "a\0b"}, RequestError, "is no path"),
        ({"dir_path": __file__}, RequestError, "is a file"),
        ({"packages": "six"}, ArgumentTypeError, "packages is 'six'; pass a list"),
        ({"packages": None}, ArgumentTypeError, "packages is None; pass a list"),
        ({"packages": [5]}, ArgumentTypeError, r"packages is \[5\]"),
        ({"packages": ["https://192.0.2.1/x.whl"]}, PackageError, "is refused"),
        ({"clear": "yes"}, ArgumentTypeError, "clear is 'yes'; pass a bool"),
        ({"prompt": 5}, ArgumentTypeError, "prompt is 5; pass a str"),
        ({"upgrade_deps": True}, RequestError, "no option 'upgrade_deps'; it has clear, prompt, symlinks"),
    ],
)
def test_what_cannot_be_is_told_and_makes_nothing(tmp_path: Path, arguments, error, told: str) -> None:
    with pytest.raises(error, match=told):
        create_virtual_env(**{"dir_path": tmp_path / "env", **arguments})
    assert list(tmp_path.iterdir()) == []


def test_packages_that_cannot_be_had_leave_no_environment(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=r"package six==0\.0\.1: no release"):
        create_virtual_env(tmp_path / "env", packages=["six==0.0.1"])
    assert not (tmp_path / "env").exists()


def test_a_folder_that_cannot_be_written_to_is_the_machines_fault() -> None:
    with pytest.raises(IndexUnavailableError, match="making a virtual environment in /proc/env failed"):
        create_virtual_env("/proc/env")
