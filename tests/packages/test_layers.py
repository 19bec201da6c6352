from __future__ import annotations

import base64
import csv
import hashlib
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flyteplugins_codegen.errors import EnvironmentBuildError, IndexUnavailableError
from flyteplugins_codegen.models.environment import EnvironmentLock, InstalledEnvironment
from flyteplugins_codegen.packages import install as layers
from flyteplugins_codegen.packages.install import combine, install
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS, read_lock, resolve
from flyteplugins_codegen.packages.uv import run_uv

SMALL = ("python-dateutil==2.9.0.post0", "six==1.17.0")

INSTALL = """
import os, sys
from flyteplugins_codegen.packages.install import install
from flyteplugins_codegen.models.environment import EnvironmentLock

os.umask(0o077)
lock = EnvironmentLock.model_validate_json(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
if "no-process" in sys.argv:
    def refuse(event, arguments):
        if event in {"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}:
            os._exit(9)
    sys.addaudithook(refuse)
print(install(lock).site_packages[0])
"""


@pytest.fixture
def lock(cache: Path) -> EnvironmentLock:
    return resolve(SMALL)


def start(lock: EnvironmentLock, *options: str) -> subprocess.Popen[str]:
    """Start another process that installs."""
    command = [sys.executable, "-c", INSTALL, lock.model_dump_json(), *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def python(environment: InstalledEnvironment, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the environment's interpreter as the sandbox does, with only the environment on its path."""
    return subprocess.run(
        [environment.python, "-s", *arguments],
        env={"PYTHONPATH": os.pathsep.join(environment.site_packages)},
        capture_output=True,
        text=True,
        check=True,
    )


def entries(folder: Path) -> Iterator[Path]:
    yield folder
    yield from folder.rglob("*")


def inodes(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in entries(folder) if path.is_file()}


def assert_whole(folder: Path) -> None:
    """Whether every file in the distribution's RECORD exists with the recorded content."""
    (record,) = folder.glob("*.dist-info/RECORD")
    for name, recorded, _ in csv.reader(record.read_text().splitlines()):
        if recorded and not name.startswith("bin/"):
            found = hashlib.sha256((folder / name).read_bytes()).digest()
            assert recorded == "sha256=" + base64.urlsafe_b64encode(found).rstrip(b"=").decode(), name


def finished_layers(cache: Path) -> list[Path]:
    return [path for path in (cache / "layers").glob("*") if not path.name.startswith(".")]


def test_an_installed_environment_is_importable_and_its_bytecode_is_used(lock):
    environment = install(lock)
    ran = python(environment, "-v", "-c", "import dateutil.parser, importlib.metadata as m; print(m.version('six'))")
    assert ran.stdout == "1.17.0\n"
    (site_packages,) = environment.site_packages
    assert f"code object from '{site_packages}/dateutil/parser/__pycache__/_parser." in ran.stderr
    assert f"wrote '{site_packages}" not in ran.stderr
    assert environment.digest == lock.digest


def test_a_lock_read_from_a_file_is_the_same_environment(lock):
    read = read_lock("# reviewed by a person\n" + lock.requirements)
    assert install(read).site_packages == install(lock).site_packages
    assert read_lock(lock.requirements).digest == lock.digest


def test_the_second_install_starts_no_process_and_is_quick(lock):
    first = install(lock)
    begun = time.perf_counter()
    assert install(lock) == first
    assert time.perf_counter() - begun < 0.05
    process = start(lock, "no-process")
    assert process.communicate("\n")[0].strip() == first.site_packages[0]
    assert process.returncode == 0


def test_threads_that_need_the_same_environment_install_it_once(lock, tmp_path, monkeypatch):
    monkeypatch.setenv("FLYTE_CODEGEN_CACHE", str(tmp_path / "cache"))
    started: list[object] = []
    monkeypatch.setattr(layers, "run_uv", lambda *asked: started.append(asked) or run_uv(*asked))
    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(install, [lock] * 3))
    assert made[0] == made[1] == made[2]
    assert len(started) == len(finished_layers(tmp_path / "cache"))


def test_adding_a_package_makes_one_layer_and_leaves_the_others_as_they_are(lock, cache):
    small = install(lock)
    before = {path: inodes(path) for path in finished_layers(cache)}
    large = install(resolve([*SMALL, "toolz==1.0.0"]))
    new = [path for path in finished_layers(cache) if path not in before]
    assert [path.name.split("-")[:2] for path in new] == [["toolz", "1.0.0"]]
    assert {path: inodes(path) for path in before} == before
    one, other = (Path(environment.site_packages[0], "six.py").stat() for environment in (small, large))
    assert one.st_ino == other.st_ino


def test_nobody_may_write_and_everybody_may_read_whatever_the_umask(lock, cache):
    process = start(lock)
    site_packages = Path(process.communicate("\n")[0].strip())
    for path in entries(site_packages):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == 0o555 if path.is_dir() else mode in {0o444, 0o555}, path
    assert not (site_packages / "bin").exists()


def test_two_processes_at_once_end_up_with_the_same_environment(lock, cache):
    processes = [start(lock), start(lock)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate()[0] for process in processes]
    assert said[0] == said[1]
    assert [process.returncode for process in processes] == [0, 0]
    assert [path.name for path in (cache / "layers").glob(".*")] == []
    for layer in finished_layers(cache):
        assert_whole(layer)


@pytest.mark.parametrize("delay_s", [0.0, 0.03, 0.1, 0.2])
def test_a_process_killed_while_it_installs_leaves_nothing_half_made(lock, cache, delay_s):
    process = start(lock)
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    while not list((cache / "layers").glob(".making-*")):
        assert process.poll() is None
        time.sleep(0.001)
    time.sleep(delay_s)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    for layer in finished_layers(cache):
        assert_whole(layer)
    environment = install(lock)
    assert python(environment, "-c", "import dateutil, six; print('fine')").stdout == "fine\n"
    for layer in finished_layers(cache):
        assert_whole(layer)


def test_what_a_killed_process_left_is_removed_after_a_day(lock, cache):
    left = cache / "layers" / ".making-left"
    (left / "package").mkdir(parents=True)
    yesterday = time.time() - 25 * 3600
    os.utime(left, (yesterday, yesterday))
    fresh = cache / "layers" / ".making-fresh"
    fresh.mkdir()
    install(lock)
    assert not left.exists()
    assert fresh.exists()


def test_no_packages_are_the_standard_library_alone(cache):
    environment = install(resolve([]))
    assert environment.site_packages == ()
    assert python(environment, "-c", "print(1)").stdout == "1\n"
    assert not cache.exists()


def test_combined_environments_find_the_first_ones_packages_first(lock):
    solution, runner = install(lock), install(resolve(RUNNER_REQUIREMENTS))
    both = combine(solution, runner)
    assert both.site_packages == (*solution.site_packages, *runner.site_packages)
    assert both.digest not in {solution.digest, runner.digest, combine(runner, solution).digest}
    code = "import pytest, six; print(pytest.__version__, six.__version__)"
    assert python(both, "-c", code).stdout == "9.2.0 1.17.0\n"
    assert combine(solution, solution).site_packages == solution.site_packages


def test_environments_of_different_interpreters_are_not_combined():
    one = InstalledEnvironment(python="/usr/bin/python3.11", digest="a")
    other = InstalledEnvironment(python="/usr/bin/python3.12", digest="b")
    with pytest.raises(EnvironmentBuildError, match=r"python3\.11.*python3\.12"):
        combine(one, other)


def test_a_lock_whose_hashes_do_not_fit_is_not_installed(lock, cache):
    forged = "six==1.17.0 \\\n    --hash=sha256:" + "0" * 64
    with pytest.raises(IndexUnavailableError, match=r"(?s)six==1\.17\.0.*[Hh]ash"):
        install(lock.model_copy(update={"requirements": forged}))
    assert finished_layers(cache) == []
    assert not list((cache / "layers").glob(".making-*"))


@pytest.mark.parametrize("line", ["six", "six>=1 --hash=sha256:00", "six==1.17.0", "-e .", "--index-url=x"])
def test_a_lock_with_anything_unpinned_is_refused(lock, line):
    with pytest.raises(EnvironmentBuildError, match="not pinned"):
        install(lock.model_copy(update={"requirements": line}))


def test_an_interpreter_that_is_not_here_is_the_machines_fault(lock, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(IndexUnavailableError, match=r"no Python 3\.99"):
        install(lock.model_copy(update={"python": "3.99"}))


def test_a_cache_that_cannot_be_written_is_the_machines_fault(lock, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FLYTE_CODEGEN_CACHE", str(tmp_path / "file"))
    with pytest.raises(IndexUnavailableError, match="installing into"):
        install(lock)
