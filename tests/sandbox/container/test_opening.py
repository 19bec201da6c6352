"""Which engine, runtime and image a sandbox of containers is made of, and what is said where none will do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from base_image import base_archive, podman

from flyteplugins_codegen.errors import RequestError, SandboxError, SandboxUnavailableError
from flyteplugins_codegen.judging.suites.run import SuiteJob, run_suite
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.sandbox import ALL, Execution, Job, Limits, Sandbox, open_sandbox
from flyteplugins_codegen.sandbox.container.backend import Container
from flyteplugins_codegen.sandbox.container.engine import find_engines, find_image, image_name
from flyteplugins_codegen.sandbox.container.probe import ProbedImage, probe_image
from flyteplugins_codegen.sandbox.python_files import find_interpreter
from flyteplugins_codegen.solution.script import ScriptJob, run_script

NOWHERE = "localhost:1/none"  # nothing listens there, and that is known at once
SHARE = "import sys; open('/var/outputs/x', 'w').write(open('/var/inputs/a').read() + str(sys.version_info[:2]))"


def share(sandbox: Sandbox) -> Execution:
    return sandbox.run(Job(command=("python", "-c", SHARE), inputs={"a": b"1"}, outputs=ALL))


# --- the image --------------------------------------------------------------------------------------------------------


def test_the_image_is_the_requested_one_else_the_configured_one_else_python_s_own(monkeypatch):
    monkeypatch.delenv("FLYTE_CODEGEN_IMAGE", raising=False)
    assert image_name(None, "3.12") == "python:3.12-slim"
    monkeypatch.setenv("FLYTE_CODEGEN_IMAGE", "configured")
    assert image_name(None, "3.12") == "configured"
    assert image_name("asked-for", "3.12") == "asked-for"


def test_an_option_is_no_image():
    with pytest.raises(RequestError, match="--privileged"), open_sandbox("container", image="--privileged"):
        pass


def test_the_configured_image_is_used(container_image, monkeypatch):
    monkeypatch.setenv("FLYTE_CODEGEN_IMAGE", container_image)
    with open_sandbox("container") as sandbox:
        assert share(sandbox).exit_code == 0


def test_an_image_that_cannot_be_had_is_named_with_the_remedy(container_image):
    with (
        pytest.raises(SandboxUnavailableError, match=f"podman cannot fetch image '{NOWHERE}'.*run `podman pull"),
        open_sandbox("container", image=NOWHERE),
    ):
        pass


@pytest.fixture(scope="module")
def image_without_python(container_image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    archive = tmp_path_factory.mktemp("empty") / "root.tar"
    with tarfile.open(archive, "w") as file:
        file.add("/etc/hostname", "etc/hostname")
    identity = podman("import", "--quiet", str(archive))
    yield identity
    podman("rmi", "--force", identity)


def test_an_image_without_python_is_refused(image_without_python):
    with (
        pytest.raises(SandboxUnavailableError, match="has no python3 that works"),
        open_sandbox("container", image=image_without_python),
    ):
        pass


def test_an_image_of_another_python_than_the_environment_s_is_refused(container_image, tmp_path):
    """The packages are for that version, machine and C library."""
    other = tmp_path / "python3.9"
    other.write_text("#!/bin/sh\necho 3.9 .cpython-39-x86_64-linux-musl.so\n")
    other.chmod(0o755)
    environment = InstalledEnvironment(python=str(other), site_packages=(), digest="d")
    with (
        pytest.raises(SandboxUnavailableError, match=r"for 3\.9 \(\.cpython-39-.*-musl\.so\).*FLYTE_CODEGEN_IMAGE"),
        open_sandbox("container", image=container_image, environment=environment),
    ):
        pass


def test_open_sandboxes_keep_their_image_when_its_name_moves_on(container_image, image_without_python):
    podman("tag", container_image, "localhost/codegen-test-moving:1")
    try:
        with open_sandbox("container", image="localhost/codegen-test-moving:1") as sandbox:
            podman("tag", image_without_python, "localhost/codegen-test-moving:1")
            assert share(sandbox).exit_code == 0
    finally:
        podman("untag", "localhost/codegen-test-moving:1")


def test_a_removed_image_is_a_failure_of_the_sandbox_with_the_engine_s_message(container_image):
    engine = next(find_engines())
    probed = probe_image(engine, find_image(engine, container_image, may_pull=False))
    gone = replace(probed, image=replace(probed.image, identity="0" * 64))
    with closing(Container(gone, ())) as sandbox:
        execution = share(sandbox)
    assert (execution.status, execution.exit_code, execution.stderr) == ("sandbox_error", None, b"")
    assert "image not known" in execution.message


# --- the environment --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pytest, and a package that is compiled."""
    from uv import find_uv_bin

    folder = tmp_path_factory.mktemp("environment") / "packages"
    command = [find_uv_bin(), "pip", "install", "--quiet", "--target", str(folder), "--python", sys.executable]
    subprocess.run([*command, "pytest", "markupsafe"], check=True)
    return folder


@pytest.fixture(scope="module")
def furnished(container_image: str, packages: Path, working: ProbedImage) -> Iterator[Sandbox]:
    if working.suffix != EXTENSION_SUFFIXES[0]:
        pytest.skip(f"the image has Python {working.version}: run the tests with that one")
    python = os.path.realpath(sys.executable)
    environment = InstalledEnvironment(python=python, site_packages=(str(packages),), digest="d")
    with open_sandbox("container", image=container_image, environment=environment) as opened:
        yield opened


def test_packages_installed_here_are_used_there_by_a_suite(furnished):
    tests = "import markupsafe._speedups, solution\ndef test_double(): assert solution.double(2) == 4\n"
    solution = "def double(x): return 2 * x\n"
    job = SuiteJob(solution=solution, tests=tests, expected=("test_double",), origin="generated")
    report = run_suite(furnished, job)
    assert report.cause is None
    assert [test.name for test in report.tests] == ["test_double"]


def test_packages_installed_here_are_used_there_by_a_script(furnished):
    solution = """
import sys
from markupsafe._speedups import _escape_inner
text = open(sys.argv[sys.argv.index("--text") + 1]).read()
open("/var/outputs/escaped", "w").write(_escape_inner(text))
"""
    job = ScriptJob(
        solution=solution, inputs={"text": "file"}, outputs={"escaped": "str"}, values={"text": b"<a href='b'>"}
    )
    done, outputs = run_script(furnished, job)
    assert done.cause is None, done
    assert outputs["escaped"].read_bytes(99) == b"&lt;a href=&#39;b&#39;&gt;"


def test_packages_that_the_jobs_user_may_not_read_are_named_with_the_remedy(container_image, tmp_path):
    (tmp_path / "packages").mkdir(mode=0o755)
    (tmp_path / "packages" / "package.py").touch(mode=0o600)
    folders = (str(tmp_path / "packages"),)
    environment = InstalledEnvironment(python=str(find_interpreter(None).executable), site_packages=folders, digest="d")
    with (
        pytest.raises(SandboxError, match=r"package\.py.*chmod -R"),
        open_sandbox("container", image=container_image, environment=environment),
    ):
        pass


def test_inputs_with_any_name_and_in_closed_folders_are_shown(container_image, tmp_path):
    closed = tmp_path / "closed, with a comma"
    (closed / "tree").mkdir(parents=True)
    (closed / "tree" / "c").write_text("c")
    (closed / "plain").write_text("p")
    (closed / "plain").chmod(0o644)
    (closed / "link").symlink_to(closed / "private")
    (closed / "private").write_text("s")
    (closed / "private").chmod(0o600)
    closed.chmod(0o700)
    inputs = {"a,b:c": closed / "plain", 'a "quoted" one': closed / "tree", "link": closed / "link"}
    code = "print(*[open('/var/inputs/' + n).read() for n in ('a,b:c', 'a \"quoted\" one/c', 'link')])"
    with open_sandbox("container", image=container_image) as sandbox:
        execution = sandbox.run(Job(command=("python", "-c", code), inputs=inputs))
    assert execution.stdout == b"p c s\n", execution


# --- the engine -------------------------------------------------------------------------------------------------------


def make_program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture(scope="module")
def working(container_image: str) -> ProbedImage:
    """The probe of podman with a runtime that works here."""
    engine = next(find_engines())
    return probe_image(engine, find_image(engine, container_image, may_pull=False))


def test_if_podman_s_own_runtime_does_not_work_another_is_used(container_image, working, tmp_path, monkeypatch):
    runtime = working.image.engine.runtime or podman("info", "--format", "{{.Host.OCIRuntime.Name}}")
    script = f"""
case "$1 $2" in "--runtime {runtime}") ;; run*|--runtime*) echo broken >&2; exit 126;; esac
exec {working.image.engine.program} "$@"
"""
    make_program(tmp_path, "podman", script)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    engine = next(find_engines())
    assert probe_image(engine, find_image(engine, container_image, may_pull=False)).image.engine.runtime == runtime


def test_an_engine_that_runs_nothing_is_named_with_its_message(container_image, working, tmp_path, monkeypatch):
    script = 'for a; do test "$a" != run || { echo no cgroups >&2; exit 125; }; done; exec podman.real "$@"'
    make_program(tmp_path, "podman", script.replace("podman.real", working.image.engine.program))
    monkeypatch.setenv("PATH", f"{tmp_path}:{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin")
    with (
        pytest.raises(SandboxUnavailableError, match=r"podman cannot run a container here.*no cgroups"),
        open_sandbox("container", image=container_image),
    ):
        pass


def test_without_an_engine_one_is_recommended(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailableError, match="neither podman nor docker"), open_sandbox("container"):
        pass


@pytest.fixture
def docker(working: ProbedImage, tmp_path: Path) -> Iterator[Path]:
    """A folder with nothing but a `docker`: its own program where it is installed, talking to podman's service."""
    folder, socket = tmp_path / "bin", f"unix://{tmp_path}/podman.sock"
    command = " ".join(working.image.engine.command)
    program = shutil.which("docker")
    if program is None:
        make_program(folder, "docker", f'exec {command} "$@"')
        yield folder
        return
    make_program(folder, "docker", f'DOCKER_HOST={socket} exec {program} "$@"')
    settings = tmp_path / "containers.conf"
    runtime = working.image.engine.runtime  # None where podman's own works
    settings.write_text(f'[engine]\nruntime = "{runtime}"\n' if runtime else "")
    service = [working.image.engine.program, "system", "service", "--time=0", socket]
    with subprocess.Popen(service, env=os.environ | {"CONTAINERS_CONF": str(settings)}) as process:
        wait_for(tmp_path / "podman.sock")
        yield folder
        process.terminate()


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_docker_runs_jobs_without_podman(docker, container_image, monkeypatch):
    monkeypatch.setenv("PATH", str(docker))
    with open_sandbox("container", image=container_image) as sandbox:
        execution = share(sandbox)
        assert (execution.exit_code, execution.outputs["x"].read_bytes(1)) == (0, b"1"), execution
        assert {"cgroup-memory", "cgroup-processes", "network", "no-capabilities"} <= set(execution.isolation)
        assert sandbox.run(Job(command=("sleep", "60"), limits=Limits(wall_s=0.5))).status == "timed_out"


def test_images_that_bring_volumes_are_refused_with_docker(docker, container_image, monkeypatch, tmp_path):
    """Docker would make a folder of unlimited size on this machine's disk for each."""
    (tmp_path / "Containerfile").write_text(f"FROM {container_image}\nVOLUME /data\n")
    identity = podman("--runtime", "runc", "build", "--quiet", str(tmp_path))
    try:
        monkeypatch.setenv("PATH", str(docker))
        with pytest.raises(SandboxUnavailableError, match="/data"), open_sandbox("container", image=identity):
            pass
    finally:
        monkeypatch.undo()
        podman("rmi", identity)


# --- without root -----------------------------------------------------------------------------------------------------

UID = 61234
SUBORDINATE_UIDS = "1879048192:65536"  # that no system gives to anybody
AS_ORDINARY_USER = """
for file in passwd group subuid subgid; do mount --bind {folder}/$file /etc/$file || exit 1; done
cd / && exec setpriv --reuid {uid} --regid {uid} --clear-groups env --ignore-environment PATH="$PATH" \
  HOME={folder}/user XDG_RUNTIME_DIR={runtime} STORAGE_DRIVER=overlay {podman} "$@"
"""


@pytest.fixture
def ordinary_podman(working: ProbedImage) -> Iterator[Path]:
    """A folder with a `podman` that runs as an ordinary user, with a storage of his own.

    Only root can be another one for a test; the machine's own list of users stays as it is.
    """
    if os.geteuid():
        pytest.skip("an ordinary user's containers are what all the other tests run")
    folder = Path(tempfile.mkdtemp(prefix="codegen-test-", dir="/var/tmp"))
    runtime = Path(tempfile.mkdtemp(prefix="cg-", dir="/tmp"))  # short, as it becomes part of a socket's name
    folder.chmod(0o755)
    (folder / "user").mkdir()
    for owned in (runtime, folder / "user"):
        os.chown(owned, UID, UID)
    (folder / "passwd").write_text(f"{Path('/etc/passwd').read_text()}tester:x:{UID}:{UID}::{folder}/user:/bin/sh\n")
    (folder / "group").write_text(f"{Path('/etc/group').read_text()}tester:x:{UID}:\n")
    for name in ("subuid", "subgid"):
        (folder / name).write_text(f"tester:{SUBORDINATE_UIDS}\n")
    program = working.image.engine.program
    (folder / "as-user").write_text(AS_ORDINARY_USER.format(folder=folder, uid=UID, runtime=runtime, podman=program))
    make_program(folder / "bin", "podman", f'exec unshare --mount sh {folder}/as-user "$@"')
    yield folder / "bin"
    subprocess.run([folder / "bin" / "podman", "system", "reset", "--force"], check=True)
    for made in (folder, runtime):
        shutil.rmtree(made)


def test_jobs_run_in_an_ordinary_user_s_containers(container_image, ordinary_podman, monkeypatch):
    monkeypatch.setenv("PATH", f"{ordinary_podman}:{os.environ['PATH']}")
    archive = ordinary_podman.parent / "base.tar"
    shutil.copyfile(base_archive(), archive)
    podman("import", "--quiet", str(archive), container_image)
    with open_sandbox("container", image=container_image) as sandbox:
        execution = share(sandbox)
        assert (execution.exit_code, execution.outputs["x"].read_bytes(1)) == (0, b"1"), execution
        assert "user" in execution.isolation
        bomb = sandbox.run(Job(command=("python", "-c", "bytearray(400 << 20)"), limits=Limits(memory_mib=100)))
        assert bomb.status == "out_of_memory" or b"MemoryError" in bomb.stderr
